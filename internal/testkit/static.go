package testkit

// With cgo, which go test uses where a C compiler is installed, a test binary would
// be linked dynamically. As judged-init it runs where there is no loader.

// #cgo LDFLAGS: -static
import "C"
