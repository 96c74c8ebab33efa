package seccomp

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// Arch is an AUDIT_ARCH_* value, as the kernel reports it in struct seccomp_data.
type Arch uint32

// The architectures with a table of system calls.
const (
	AMD64 Arch = 0xc000003e
	ARM64 Arch = 0xc00000b7
)

// x32Bit marks the x32 calls of amd64. They have the same AUDIT_ARCH value as the native calls, so a filter
// that checks only the architecture would miss the second number of each call.
const x32Bit = 0x40000000

// span is a sequence of consecutive system calls: the number of the first, and the names separated by white space.
type span struct {
	first uint32
	names string
}

// The maps are built on first use: package initproc is linked into the first process of each sandbox, where
// building them would delay the start.
var (
	amd64Numbers = sync.OnceValue(func() map[string]uint32 { return numbers(amd64Calls) })
	arm64Numbers = sync.OnceValue(func() map[string]uint32 { return numbers(arm64Calls) })
)

func numbers(spans []span) map[string]uint32 {
	all := make(map[string]uint32)
	for _, s := range spans {
		for i, name := range strings.Fields(s.names) {
			all[name] = s.first + uint32(i)
		}
	}
	return all
}

// NativeArch returns the architecture that this program was built for, or an error if judged has no table for it.
func NativeArch() (Arch, error) {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64, nil
	case "arm64":
		return ARM64, nil
	}
	return 0, fmt.Errorf("filter system calls on %q: no table for this architecture; run judged on amd64 or arm64",
		runtime.GOARCH)
}

// Number returns the number of the named system call, and false if the architecture does not have it.
func (a Arch) Number(name string) (uint32, bool) {
	nr, ok := a.numbers()[name]
	return nr, ok
}

// String returns Go's name of the architecture.
func (a Arch) String() string {
	switch a {
	case AMD64:
		return "amd64"
	case ARM64:
		return "arm64"
	}
	return fmt.Sprintf("arch 0x%08x", uint32(a))
}

func (a Arch) numbers() map[string]uint32 {
	switch a {
	case AMD64:
		return amd64Numbers()
	case ARM64:
		return arm64Numbers()
	}
	return nil
}
