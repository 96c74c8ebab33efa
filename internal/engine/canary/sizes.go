package canary

import (
	"strconv"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/topology"
	"judged/internal/sandbox/initproc"
)

// What is taken for the caches of a host that does not tell theirs.
const (
	unknownL2 units.Bytes = 1 << 20
	unknownL3 units.Bytes = 32 << 20
)

const (
	mostL3    units.Bytes = 8 << 20
	leastDRAM units.Bytes = 128 << 20
	// A cache of more than this quarter is stacked on the die; to go around it
	// would take a second. Neighbours have most of it anyway.
	mostDRAM   units.Bytes = 512 << 20
	triadBytes units.Bytes = 128 << 20 // two arrays
)

// Sizes are those of the kernels that have one, on a slot of these CPUs. Each must
// be in one place only: half of the second level cache is in it with its tables
// of pages; a quarter of what the slot has of the last level cache is there
// although others share it, and is not in the second level; four times the last
// level cache is in memory.
func Sizes(t topology.Topology, cpus cpuset.Set) map[string]units.Bytes {
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

// caches are those of the first CPU, and the slot's share of the last one.
func caches(t topology.Topology, cpus cpuset.Set) (l2, l3, share units.Bytes) {
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

// arguments are those that the kernel is started with.
func arguments(kernel string, sizes map[string]units.Bytes) []string {
	args := []string{"./" + initproc.CanaryName, kernel}
	if size, ok := sizes[kernel]; ok {
		args = append(args, strconv.FormatInt(int64(size), 10))
	}
	return args
}

// room is the memory that a kernel needs, with the runtime around it and the
// order of its steps, one word for a line.
func room(size units.Bytes) units.Bytes { return size + size/8 + 128<<20 }
