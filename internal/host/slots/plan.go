package slots

import (
	"fmt"
	"slices"

	"judged/internal/base/cpuset"
	"judged/internal/host/machine"
)

// Slot is the CPUs of one run. They are on different physical cores of one NUMA node, whose memory the run
// uses.
type Slot struct {
	CPUs  cpuset.Set
	Node  int
	Cache cpuset.Set // the CPUs that share a last-level cache with one of CPUs; empty if unknown
}

// Interferes reports whether work on one of the slots slows the other down, in
// the last-level cache or in memory. A slot interferes with itself.
func (s Slot) Interferes(o Slot) bool { return s.Node == o.Node || s.Cache.Overlaps(o.CPUs) }

// Plan splits the CPUs in want into disjoint slots of width CPUs each, ordered by their first CPU. If want is
// empty it uses the isolated CPUs. If none of them is usable, it uses the last CPU of the machine, and the CPUs
// below it if width is above 1.
//
// The rules:
//   - Only the lowest CPU of a physical core in the set is used. Its siblings stay idle, because two runs on one
//     core share its execution units.
//   - CPU 0 is not used, because the kernel always runs housekeeping on it, unless it is the only CPU online. If
//     want contains CPU 0, its siblings are not used in its place.
//   - A slot never spans NUMA nodes, and shares one last-level cache if possible.
//
// CPUs that do not fill a slot are not used. Errors name the CPU and the fix.
func Plan(t machine.Topology, want cpuset.Set, width int) ([]Slot, error) {
	if width < 1 {
		return nil, fmt.Errorf("plan slots: width %d is not positive: a slot has at least one CPU", width)
	}
	cpus, err := candidates(t, want, width)
	if err != nil {
		return nil, err
	}
	planned := pack(cpus, width)
	if len(planned) == 0 {
		return nil, tooWide(cpus, width)
	}
	return planned, nil
}

func candidates(t machine.Topology, want cpuset.Set, width int) ([]machine.CPU, error) {
	if len(want) == 0 {
		return automatic(t, width)
	}
	for _, id := range want {
		if err := online(t, id); err != nil {
			return nil, err
		}
	}
	cpus := usable(t, want)
	if len(cpus) == 0 {
		return nil, fmt.Errorf("plan slots on CPUs %s: none is usable, because the kernel keeps CPU 0 and its core:"+
			" name others of the online CPUs %s", want, t.Online)
	}
	return cpus, nil
}

func online(t machine.Topology, id int) error {
	if _, ok := t.CPU(id); ok {
		return nil
	}
	if t.Offline.Contains(id) || t.Present.Contains(id) {
		return fmt.Errorf("plan slots: CPU %d is offline: leave it out, or write 1 to "+
			"/sys/devices/system/cpu/cpu%d/online", id, id)
	}
	return fmt.Errorf("plan slots: CPU %d is not in this machine: choose among its online CPUs %s", id, t.Online)
}

func automatic(t machine.Topology, width int) ([]machine.CPU, error) {
	if len(t.CPUs) == 0 {
		return nil, fmt.Errorf("plan slots: no CPU is known to be online: check that /sys is mounted")
	}
	if cpus := usable(t, t.Isolated); len(cpus) > 0 {
		return cpus, nil
	}
	return last(t, width), nil
}

// usable returns the lowest CPU of each core in set, except CPU 0.
func usable(t machine.Topology, set cpuset.Set) []machine.CPU {
	var cpus []machine.CPU
	cores := map[int]bool{}
	for _, id := range set {
		c, ok := t.CPU(id)
		if !ok || cores[c.Core] {
			continue
		}
		cores[c.Core] = true
		if id != 0 || len(t.CPUs) == 1 {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// last returns the last online CPU and, for a width above 1, the next lower cores of its node. It does not
// exclude any CPU from being the first one, not even CPU 0 or its sibling, so that judged works on every
// machine.
func last(t machine.Topology, width int) []machine.CPU {
	var cpus []machine.CPU
	cores := map[int]bool{0: true}
	for _, c := range slices.Backward(t.CPUs) {
		first := len(cpus) == 0
		if len(cpus) == width || !first && (cores[c.Core] || c.Node != cpus[0].Node) {
			continue
		}
		cores[c.Core] = true
		cpus = append(cpus, c)
	}
	slices.Reverse(cpus)
	return cpus
}

// pack fills slots within a last-level cache first, and then with the remaining CPUs of a node.
func pack(cpus []machine.CPU, width int) []Slot {
	var planned []Slot
	for _, node := range groupBy(cpus, func(c machine.CPU) int { return c.Node }) {
		var left []machine.CPU
		for _, cache := range groupBy(node, func(c machine.CPU) string { return c.L3.String() }) {
			var rest []machine.CPU
			planned, rest = chunk(planned, cache, width)
			left = append(left, rest...)
		}
		planned, _ = chunk(planned, left, width)
	}
	slices.SortFunc(planned, func(a, b Slot) int { return a.CPUs[0] - b.CPUs[0] })
	return planned
}

// groupBy groups cpus by key. The groups are in the order of their first CPU.
func groupBy[K comparable](cpus []machine.CPU, key func(machine.CPU) K) [][]machine.CPU {
	var groups [][]machine.CPU
	place := map[K]int{}
	for _, c := range cpus {
		i, ok := place[key(c)]
		if !ok {
			i = len(groups)
			place[key(c)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// chunk appends full slots to planned and returns the remaining CPUs.
func chunk(planned []Slot, cpus []machine.CPU, width int) ([]Slot, []machine.CPU) {
	for len(cpus) >= width {
		planned = append(planned, Slot{CPUs: ids(cpus[:width]), Node: cpus[0].Node, Cache: cacheOf(cpus[:width])})
		cpus = cpus[width:]
	}
	return planned, cpus
}

func ids(cpus []machine.CPU) cpuset.Set {
	var list []int
	for _, c := range cpus {
		list = append(list, c.ID)
	}
	return cpuset.New(list...)
}

func cacheOf(cpus []machine.CPU) cpuset.Set {
	var all cpuset.Set
	for _, c := range cpus {
		all = all.Union(c.L3)
	}
	return all
}

func tooWide(cpus []machine.CPU, width int) error {
	nodes := groupBy(cpus, func(c machine.CPU) int { return c.Node })
	most := slices.MaxFunc(nodes, func(a, b []machine.CPU) int { return len(a) - len(b) })
	return fmt.Errorf("plan slots %d CPUs wide: no NUMA node offers that many cores, node %d the most with CPUs %s:"+
		" use a width up to %d or name more CPUs", width, most[0].Node, ids(most), len(most))
}

// Reserved returns the CPUs of the slots and all their siblings, because a busy sibling slows its core down.
func Reserved(t machine.Topology, planned []Slot) cpuset.Set {
	var all cpuset.Set
	for _, s := range planned {
		all = all.Union(s.CPUs)
		for _, id := range s.CPUs {
			if c, ok := t.CPU(id); ok {
				all = all.Union(c.Siblings)
			}
		}
	}
	return all
}

// Housekeeping returns the CPUs for everything else, including judged and checkers: the online CPUs that are
// not reserved. If there are none, it returns the siblings of the slots' CPUs, or else all CPUs.
func Housekeeping(t machine.Topology, planned []Slot) cpuset.Set {
	if free := t.Online.Minus(Reserved(t, planned)); len(free) > 0 {
		return free
	}
	free := t.Online
	for _, s := range planned {
		free = free.Minus(s.CPUs)
	}
	if len(free) > 0 {
		return free
	}
	return t.Online
}
