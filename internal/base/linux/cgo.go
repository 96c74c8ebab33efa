//go:build cgo

package linux

// withC: the C library has told the kernel of a word in its thread's memory
// (rseq), without which a forked child does not live.
const withC = true
