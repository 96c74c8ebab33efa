// Package units holds the quantities that people type and read: bytes with
// binary prefixes, and times rounded for display. "KB" does not exist here: it
// means 1000 to some and 1024 to others.
package units

// Bytes is a number of bytes.
type Bytes int64
