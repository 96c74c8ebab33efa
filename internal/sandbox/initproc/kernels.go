package initproc

import "errors"

// The reference kernels, and what their times depend on.
const (
	KernelALU       = "alu"       // a chain of dependent operations: only the core's frequency
	KernelSort      = "sort"      // sorting in the first level cache: branch prediction
	KernelL2        = "l2"        // random steps through the second level cache
	KernelL3        = "l3"        // random steps through the last level cache: neighbours that share it
	KernelDRAM      = "dram"      // random steps through memory: its latency, also on a remote node
	KernelTriad     = "triad"     // two arrays, read in sequence: memory bandwidth
	KernelPageFault = "pagefault" // first accesses to pages: page faults, zeroing, the hypervisor
	KernelSyscall   = "syscall"   // the cheapest system call: entry and its mitigations
	KernelPingPong  = "pingpong"  // two threads that wake each other; for slots of two or more CPUs
	KernelALUShort  = "alu-short" // a fifteenth of alu
	KernelL3Short   = "l3-short"  // a tenth of l3
)

// Kernels returns the kernels for every slot, in the order in which they run.
func Kernels() []string {
	return []string{KernelALU, KernelSort, KernelL2, KernelL3, KernelDRAM, KernelTriad, KernelPageFault, KernelSyscall}
}

// ShortKernels returns kernels that take a few milliseconds, to be run before and after a run. They measure
// what the evidence does not show: the core's frequency, and neighbours that share its cache.
func ShortKernels() []string { return []string{KernelALUShort, KernelL3Short} }

// kernel is a reference kernel that is ready to run. Only work is measured.
type kernel struct {
	work func()
	ok   func() bool // reports whether the result of work was correct
}

// prepare returns the kernel with the given name for a working set of the given size. Kernels that use only
// registers, the first level cache or system calls ignore the size.
func prepare(name string, bytes int) (kernel, error) {
	switch name {
	case KernelALU:
		return aluKernel(aluSteps, aluResult), nil
	case KernelALUShort:
		return aluKernel(aluShortSteps, aluShortResult), nil
	case KernelSort:
		return sortKernel(), nil
	case KernelL2:
		return chaseKernel(bytes, l2Steps)
	case KernelL3:
		return chaseKernel(bytes, l3Steps)
	case KernelL3Short:
		return chaseKernel(bytes, l3Steps/10)
	case KernelDRAM:
		return chaseKernel(bytes, dramSteps)
	case KernelTriad:
		return triadKernel(bytes)
	case KernelPageFault:
		return pageFaultKernel(), nil
	case KernelSyscall:
		return syscallKernel(), nil
	case KernelPingPong:
		return pingPongKernel()
	}
	return kernel{}, errUnknownKernel
}

var errUnknownKernel = errors.New("unknown kernel")
