package canary

import (
	"slices"

	"judged/internal/stage"
)

// Shared are the kernels whose times tell of what others do in the caches and
// the memory that they share with a slot.
func Shared() []string { return []string{stage.KernelL3, stage.KernelDRAM, stage.KernelTriad} }

// Noise are the kernels that say how much the CPU time of a solution varies on
// a slot of which nothing is wrong. On a virtual machine those that are shared
// are not among them: neighbours come and go there, and are looked for beside
// each run near the limit.
func Noise(virtual bool) []string {
	kernels := stage.Kernels()
	if virtual {
		kernels = slices.DeleteFunc(kernels, func(k string) bool { return slices.Contains(Shared(), k) })
	}
	return kernels
}
