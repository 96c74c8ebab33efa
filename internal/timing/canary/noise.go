package canary

import (
	"slices"

	"judged/internal/sandbox/initproc"
)

// Own lists the kernels that use only what a core has to itself: no neighbour changes their times, and equal hosts need
// the same time for them.
func Own() []string {
	return []string{initproc.KernelALU, initproc.KernelSort, initproc.KernelL2, initproc.KernelSyscall}
}

// Shared lists the kernels whose times depend on what neighbours do in the caches and the memory that they share with a
// slot.
func Shared() []string { return []string{initproc.KernelL3, initproc.KernelDRAM, initproc.KernelTriad} }

// Noise lists the kernels that show how much the CPU time of a solution varies on a healthy slot. On a virtual machine
// the Shared ones are not among them: neighbours come and go there, and judged looks for them with each run near the
// limit.
func Noise(virtual bool) []string {
	kernels := initproc.Kernels()
	if virtual {
		kernels = slices.DeleteFunc(kernels, func(k string) bool { return slices.Contains(Shared(), k) })
	}
	return kernels
}
