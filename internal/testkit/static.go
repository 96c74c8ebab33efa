package testkit

// With cgo, which go test uses if a C compiler is installed, a test binary would be linked dynamically. As
// judged-init it runs without a dynamic loader.

// #cgo LDFLAGS: -static
import "C"
