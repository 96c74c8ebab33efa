//go:build !embedinit

package sandbox

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
)

// InitProgram returns the running program itself, whose main function calls package initproc. It starts more
// slowly than judged-init, but not on the critical path, and is sufficient for go test and go run. A new
// namespace has no dynamic loader, so the program must be static.
func InitProgram() ([]byte, error) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("read the running program: %w", err)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, errors.New("this judged is dynamically linked and cannot start a sandbox; " +
			"build it with make build, or with CGO_ENABLED=0")
	}
	return program, nil
}
