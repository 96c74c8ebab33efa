package api

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// KernelTimes are times of reference kernels that neighbours do not affect, each the median over all slots of a host.
type KernelTimes struct {
	// SHA-256 of the program that ran them; times of different programs are not comparable
	Program string                   `json:"program"`
	CPUTime map[string]time.Duration `json:"cpu_time_ns"` // by kernel, CPU time of its thread
}

// Check returns an error for a time that is not positive. An empty set of kernels is valid.
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

// Equal reports whether two hosts have the same times. nil equals only nil.
func (k *KernelTimes) Equal(other *KernelTimes) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Program == other.Program && maps.Equal(k.CPUTime, other.CPUTime)
}
