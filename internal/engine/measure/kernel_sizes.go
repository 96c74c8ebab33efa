package measure

import (
	"strconv"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/machine"
	"judged/internal/sandbox/initproc"
)

// The sizes of caches that are used if the host does not report them.
const (
	unknownL2 units.Bytes = 1 << 20
	unknownL3 units.Bytes = 32 << 20
)

const (
	mostL3    units.Bytes = 8 << 20
	leastDRAM units.Bytes = 128 << 20
	// Only caches stacked on the die are larger than a quarter of this. Reading four times its size would take a second, and
	// neighbours use most of it anyway.
	mostDRAM   units.Bytes = 512 << 20
	triadBytes units.Bytes = 128 << 20 // two arrays
)

// kernelSizes returns the working sets of the kernels that have one, for a slot with these CPUs. Each fits into only one
// level of the memory hierarchy. Half of the L2 cache leaves space for page tables. A quarter of the slot's share of
// the last-level cache stays there although others use it, and does not fit into L2. Four times the last-level cache is
// in memory.
func kernelSizes(t machine.Topology, cpus cpuset.Set) map[string]units.Bytes {
	l2, l3, share := caches(t, cpus)
	lastLevel := max(min(share/4, mostL3), 2*l2)
	return map[string]units.Bytes{
		initproc.KernelL2:      l2 / 2,
		initproc.KernelL3:      lastLevel,
		initproc.KernelL3Short: lastLevel,
		initproc.KernelDRAM:    max(min(4*l3, mostDRAM), leastDRAM),
		initproc.KernelTriad:   triadBytes,
	}
}

// caches returns the sizes of the first CPU's caches, and the slot's share of the last-level cache.
func caches(t machine.Topology, cpus cpuset.Set) (l2, l3, share units.Bytes) {
	l2, l3 = unknownL2, unknownL3
	sharers, own := 1, 1
	if len(cpus) > 0 {
		if c, ok := t.CPU(cpus[0]); ok {
			if c.L2Size > 0 {
				l2 = c.L2Size
			}
			if c.L3Size > 0 {
				l3 = c.L3Size
			}
			sharers = max(len(c.L3), 1)
			own = max(len(c.L3.Intersect(cpus)), 1)
		}
	}
	return l2, l3, l3 * units.Bytes(own) / units.Bytes(sharers)
}

// kernelArguments returns the command line of a kernel.
func kernelArguments(kernel string, sizes map[string]units.Bytes) []string {
	args := []string{"./" + initproc.CanaryName, kernel}
	if size, ok := sizes[kernel]; ok {
		args = append(args, strconv.FormatInt(int64(size), 10))
	}
	return args
}

// kernelMemory returns the memory that a kernel needs: its working set, the order of its steps with a word for each
// cache line, and the Go runtime.
func kernelMemory(size units.Bytes) units.Bytes { return size + size/8 + 128<<20 }
