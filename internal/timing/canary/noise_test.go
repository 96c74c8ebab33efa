package canary

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/sandbox/initproc"
)

// TestNoise: all long kernels on metal, and on a virtual machine those that
// have the core to themselves.
func TestNoise(t *testing.T) {
	own := []string{initproc.KernelALU, initproc.KernelSort, initproc.KernelL2, initproc.KernelPageFault,
		initproc.KernelSyscall}
	if diff := cmp.Diff(map[bool][]string{false: initproc.Kernels(), true: own},
		map[bool][]string{false: Noise(false), true: Noise(true)}); diff != "" {
		t.Errorf("by virtual (-want +got):\n%s", diff)
	}
}
