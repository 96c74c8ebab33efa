package api

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// KernelTimes are times of reference kernels that no neighbour reaches, each the median over all slots of
// a host.
type KernelTimes struct {
	// SHA-256 of what ran them; those of two programs are not compared
	Program string                   `json:"program"`
	CPUTime map[string]time.Duration `json:"cpu_time_ns"` // by kernel, of its thread
}

// Check returns an error for a time that is not positive. No kernels are valid.
func (k *KernelTimes) Check() error {
	if k == nil {
		return nil
	}
	for _, kernel := range slices.Sorted(maps.Keys(k.CPUTime)) {
		if took := k.CPUTime[kernel]; took <= 0 {
			return fmt.Errorf("kernel %q took %d ns", kernel, took)
		}
	}
	return nil
}

// Equal reports whether two hosts have the same times. nil equals nil only.
func (k *KernelTimes) Equal(other *KernelTimes) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Program == other.Program && maps.Equal(k.CPUTime, other.CPUTime)
}
