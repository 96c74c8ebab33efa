// Package units parses and formats quantities: bytes with binary prefixes, and times rounded for display. It
// rejects "KB", which can mean 1000 or 1024 bytes.
package units

// Bytes is a number of bytes.
type Bytes int64
