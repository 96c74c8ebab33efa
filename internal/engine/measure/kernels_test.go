package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/sandbox/initproc"
)

// TestNoiseKernels checks for all long kernels on bare metal, and on a virtual machine for those that use only their own
// core.
func TestNoiseKernels(t *testing.T) {
	own := []string{initproc.KernelALU, initproc.KernelSort, initproc.KernelL2, initproc.KernelPageFault,
		initproc.KernelSyscall}
	if diff := cmp.Diff(map[bool][]string{false: initproc.Kernels(), true: own},
		map[bool][]string{false: NoiseKernels(false), true: NoiseKernels(true)}); diff != "" {
		t.Errorf("by virtual (-want +got):\n%s", diff)
	}
}
