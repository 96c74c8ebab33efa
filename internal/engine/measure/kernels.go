package measure

import (
	"slices"

	"judged/internal/sandbox/initproc"
)

// OwnKernels returns the kernels that use only the private resources of a core: no neighbour changes their times, and
// equal hosts need the same time for them.
func OwnKernels() []string {
	return []string{initproc.KernelALU, initproc.KernelSort, initproc.KernelL2, initproc.KernelSyscall}
}

// SharedKernels returns the kernels whose times depend on what neighbours do in the caches and the memory that they
// share with a slot.
func SharedKernels() []string {
	return []string{initproc.KernelL3, initproc.KernelDRAM, initproc.KernelTriad}
}

// NoiseKernels returns the kernels that show how much the CPU time of a solution varies on a healthy slot. On a virtual
// machine it excludes SharedKernels: neighbours come and go there, and judged checks for them with each run near the
// limit.
func NoiseKernels(virtual bool) []string {
	kernels := initproc.Kernels()
	if virtual {
		kernels = slices.DeleteFunc(kernels, func(k string) bool { return slices.Contains(SharedKernels(), k) })
	}
	return kernels
}
