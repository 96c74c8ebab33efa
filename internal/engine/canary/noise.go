package canary

import (
	"slices"

	"judged/internal/sandbox/initproc"
)

// Shared are the kernels whose times tell of what others do in the caches and
// the memory that they share with a slot.
func Shared() []string { return []string{initproc.KernelL3, initproc.KernelDRAM, initproc.KernelTriad} }

// Noise are the kernels that say how much the CPU time of a solution varies on
// a slot of which nothing is wrong. On a virtual machine those that are shared
// are not among them: neighbours come and go there, and are looked for beside
// each run near the limit.
func Noise(virtual bool) []string {
	kernels := initproc.Kernels()
	if virtual {
		kernels = slices.DeleteFunc(kernels, func(k string) bool { return slices.Contains(Shared(), k) })
	}
	return kernels
}
