//go:build embedinit

package sandbox

import _ "embed"

// initBinary is cmd/judged-init, which the Makefile builds before judged.
//
//go:embed judged-init
var initBinary []byte

// InitProgram returns judged-init.
func InitProgram() ([]byte, error) { return initBinary, nil }
