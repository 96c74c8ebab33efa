//go:build embedinit

package sandbox

import _ "embed"

// initBinary is cmd/judged-init, which the Makefile builds before judged.
//
//go:embed judged-init
var initBinary []byte

// InitProgram returns the program that becomes pid 1 of every sandbox.
func InitProgram() ([]byte, error) { return initBinary, nil }
