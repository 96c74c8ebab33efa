// Package units reads and writes quantities for people: bytes with binary prefixes, and times rounded for display. It
// refuses "KB", which means 1000 bytes to some and 1024 to others.
package units

// Bytes is a number of bytes.
type Bytes int64
