//go:build cgo

package linux

// withC: the C library has registered a word of its thread's memory with the
// kernel (rseq), without which a forked child does not live.
const withC = true
