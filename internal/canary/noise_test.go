package canary

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/stage"
)

// TestNoise: all long kernels on metal, and on a virtual machine those that
// have the core to themselves.
func TestNoise(t *testing.T) {
	own := []string{stage.KernelALU, stage.KernelSort, stage.KernelL2, stage.KernelPageFault, stage.KernelSyscall}
	if diff := cmp.Diff(map[bool][]string{false: stage.Kernels(), true: own}, map[bool][]string{false: Noise(false), true: Noise(true)}); diff != "" {
		t.Errorf("by virtual (-want +got):\n%s", diff)
	}
}
