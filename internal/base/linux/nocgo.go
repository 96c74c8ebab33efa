//go:build !cgo

package linux

const withC = false
