//go:build !embedinit

package sandbox

import "os"

// initProgram returns the running program itself, whose main function hands
// over to package stage: slower to start, which is off the critical path, and
// enough for go test and go run.
func initProgram() ([]byte, error) { return os.ReadFile("/proc/self/exe") }
