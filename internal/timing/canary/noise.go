package canary

import (
	"slices"

	"judged/internal/sandbox/initproc"
)

// Own returns the kernels that use only the private resources of a core: no neighbour changes their times, and equal
// hosts need the same time for them.
func Own() []string {
	return []string{initproc.KernelALU, initproc.KernelSort, initproc.KernelL2, initproc.KernelSyscall}
}

// Shared returns the kernels whose times depend on what neighbours do in the caches and the memory that they share with
// a slot.
func Shared() []string { return []string{initproc.KernelL3, initproc.KernelDRAM, initproc.KernelTriad} }

// Noise returns the kernels that show how much the CPU time of a solution varies on a healthy slot. On a virtual
// machine it excludes the Shared ones: neighbours come and go there, and judged checks for them with each run near the
// limit.
func Noise(virtual bool) []string {
	kernels := initproc.Kernels()
	if virtual {
		kernels = slices.DeleteFunc(kernels, func(k string) bool { return slices.Contains(Shared(), k) })
	}
	return kernels
}
