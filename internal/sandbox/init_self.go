//go:build !embedinit

package sandbox

import "os"

// InitProgram returns the running program itself, whose main function hands
// over to package initproc: slower to start, which is off the critical path, and
// enough for go test and go run.
func InitProgram() ([]byte, error) { return os.ReadFile("/proc/self/exe") }
