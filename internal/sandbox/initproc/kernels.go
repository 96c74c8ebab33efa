package initproc

import "errors"

// The reference kernels, by what they lean on.
const (
	KernelALU       = "alu"       // a chain of dependent operations: the core's frequency and nothing else
	KernelSort      = "sort"      // sorting in the first level cache: branch prediction
	KernelL2        = "l2"        // random steps through the second level cache
	KernelL3        = "l3"        // random steps through the last level cache: neighbours in it
	KernelDRAM      = "dram"      // random steps through memory: its latency, a remote node
	KernelTriad     = "triad"     // two arrays in a row: its bandwidth
	KernelPageFault = "pagefault" // first touches of pages: the kernel, zeroing, the hypervisor
	KernelSyscall   = "syscall"   // the cheapest system call: entry and its mitigations
	KernelPingPong  = "pingpong"  // two threads in turns: wake-up; for slots of two CPUs and more
	KernelALUShort  = "alu-short" // a fifteenth of alu
	KernelL3Short   = "l3-short"  // a tenth of l3
)

// Kernels are those for every slot, in the order in which they are to be run.
func Kernels() []string {
	return []string{KernelALU, KernelSort, KernelL2, KernelL3, KernelDRAM, KernelTriad, KernelPageFault, KernelSyscall}
}

// ShortKernels take some milliseconds: for before and after a run. They see what
// evidence does not, the frequency of the core and neighbours in its cache.
func ShortKernels() []string { return []string{KernelALUShort, KernelL3Short} }

// kernel is a reference kernel that has what it needs. Only work is measured.
type kernel struct {
	work func()
	ok   func() bool // whether work has come to what it must
}

// prepare makes the kernel of that name ready on so many bytes. Those of
// registers, of the first level cache and of system calls have no size.
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

var errUnknownKernel = errors.New("run kernel: unknown")
