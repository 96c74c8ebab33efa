package web

import (
	"cmp"
	"fmt"
	"slices"

	"judged/internal/base/units"
	"judged/internal/host/machine"
)

// hostView is the machine as a picture: what contains what, down to its CPUs.
type hostView struct {
	Model   string
	Kernel  string
	Sockets []socketView
	Kinds   []cpuKind // that occur, for the legend
}

type socketView struct {
	Name  string
	Nodes []nodeView
}

type nodeView struct {
	Name   string
	Caches []cacheView
}

type cacheView struct {
	Name  string
	Cores []coreView
}

type coreView struct{ CPUs []cpuView }

// cpuView is one CPU. Slot is "" unless it belongs to one.
type cpuView struct {
	ID   int
	Kind cpuKind
	Slot string
	Text string // what it does, in words
}

// cpuKind is the use of a CPU.
type cpuKind string

const (
	housekeeping cpuKind = "housekeeping"
	resting      cpuKind = "resting" // sibling of a slot's CPU: it stays idle while the slot judges
	offline      cpuKind = "offline"
)

var cpuKinds = []cpuKind{"busy", "idle", "draining", "drained", "quarantined", resting, housekeeping, offline}

// viewHost places the CPUs of a machine. Its lists are in the order of their IDs.
func viewHost(t machine.Topology, slots []slotView) hostView {
	view := hostView{Model: t.Model, Kernel: t.Kernel}
	seen := map[cpuKind]bool{}
	for _, c := range t.CPUs {
		cpu := viewCPU(c, slots)
		seen[cpu.Kind] = true
		socket := child(&view.Sockets, func(s socketView) string { return s.Name }, socketView{Name: socketName(c.Package)})
		node := child(&socket.Nodes, func(n nodeView) string { return n.Name }, nodeView{Name: nodeName(t, c.Node)})
		cache := child(&node.Caches, func(c cacheView) string { return c.Name }, cacheView{Name: cacheName(c)})
		same := func(o coreView) bool { return c.Siblings.Contains(o.CPUs[0].ID) }
		if i := slices.IndexFunc(cache.Cores, same); i >= 0 {
			cache.Cores[i].CPUs = append(cache.Cores[i].CPUs, cpu)
		} else {
			cache.Cores = append(cache.Cores, coreView{[]cpuView{cpu}})
		}
	}
	for _, id := range t.Offline.Intersect(t.Present) {
		seen[offline] = true
		socket := child(&view.Sockets, func(s socketView) string { return s.Name }, socketView{Name: "Offline"})
		node := child(&socket.Nodes, func(n nodeView) string { return n.Name }, nodeView{})
		cache := child(&node.Caches, func(c cacheView) string { return c.Name }, cacheView{})
		cache.Cores = append(cache.Cores, coreView{[]cpuView{{ID: id, Kind: offline, Text: "offline"}}})
	}
	for _, k := range cpuKinds {
		if seen[k] {
			view.Kinds = append(view.Kinds, k)
		}
	}
	return view
}

// child returns the element of a list with the name of one, which it adds if it is missing.
func child[T any](list *[]T, name func(T) string, one T) *T {
	i := slices.IndexFunc(*list, func(o T) bool { return name(o) == name(one) })
	if i < 0 {
		i = len(*list)
		*list = append(*list, one)
	}
	return &(*list)[i]
}

func viewCPU(c machine.CPU, slots []slotView) cpuView {
	cpu := cpuView{ID: c.ID, Kind: housekeeping, Text: "housekeeping"}
	for _, s := range slots {
		cpus := parseCPUs(s.CPUs)
		switch {
		case cpus.Contains(c.ID):
			cpu.Kind, cpu.Slot, cpu.Text = cpuKind(s.State), s.CPUs, fmt.Sprintf("slot %s, %s", s.CPUs, s.State)
			if s.Job != "" {
				cpu.Text += ", judges " + s.Job
			}
			if s.Reason != "" {
				cpu.Text += ": " + s.Reason
			}
			return cpu
		case cpus.Overlaps(c.Siblings):
			cpu.Kind, cpu.Text = resting, "sibling of slot "+s.CPUs
		}
	}
	return cpu
}

func socketName(id int) string {
	if id < 0 {
		return "Socket unknown"
	}
	return fmt.Sprintf("Socket %d", id)
}

func nodeName(t machine.Topology, id int) string {
	name := fmt.Sprintf("NUMA node %d", id)
	if n, ok := t.Node(id); ok && n.MemTotal > 0 {
		name += ", " + units.Round(n.MemTotal)
	}
	return name
}

func cacheName(c machine.CPU) string {
	size := "size unknown"
	if c.L3Size > 0 {
		size = units.Round(c.L3Size)
	}
	return fmt.Sprintf("L3 cache of %s, %s", cmp.Or(c.L3.String(), "unknown CPUs"), size)
}
