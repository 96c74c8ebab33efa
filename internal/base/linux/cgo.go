//go:build cgo

package linux

// withC reports whether the C library is linked. It registers thread memory with the kernel (rseq), and a
// forked child without that memory crashes.
const withC = true
