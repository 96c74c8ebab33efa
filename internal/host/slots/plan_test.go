package slots

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/host/machine"
)

func set(t testing.TB, list string) cpuset.Set {
	t.Helper()
	s, err := cpuset.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// layout describes a machine by lists of CPUs that share a core, cache or node. A CPU that is in none of the lists of
// cores is a core by itself.
type layout struct {
	nodes    []string
	cores    []string
	caches   []string
	isolated string
	offline  string
}

func (m layout) build(t testing.TB) machine.Topology {
	t.Helper()
	top := machine.Topology{Offline: set(t, m.offline), Isolated: set(t, m.isolated)}
	sharing := func(lists []string, id int) cpuset.Set {
		for _, l := range lists {
			if s := set(t, l); s.Contains(id) {
				return s.Minus(top.Offline)
			}
		}
		return nil
	}
	for n, list := range m.nodes {
		cpus := set(t, list).Minus(top.Offline)
		top.Nodes = append(top.Nodes, machine.Node{ID: n, CPUs: cpus})
		top.Online = top.Online.Union(cpus)
	}
	for _, id := range top.Online {
		siblings := sharing(m.cores, id).Union(cpuset.New(id))
		top.CPUs = append(top.CPUs, machine.CPU{
			ID: id, Core: siblings[0], Node: top.NodesOf(cpuset.New(id))[0],
			Siblings: siblings, L3: sharing(m.caches, id),
		})
	}
	top.Present = top.Online.Union(top.Offline)
	return top
}

var (
	oneCPU  = layout{nodes: []string{"0"}}
	twoCPUs = layout{nodes: []string{"0-1"}}
	oneCore = layout{nodes: []string{"0-1"}, cores: []string{"0-1"}}
	eight   = layout{nodes: []string{"0-7"}}
	smt     = layout{nodes: []string{"0-7"}, cores: []string{"0,4", "1,5", "2,6", "3,7"}}
	numa    = layout{nodes: []string{"0-3", "4-7"}}
	caches  = layout{nodes: []string{"0-9"}, caches: []string{"0-3", "4-6", "7-9"}}
)

func (m layout) isolating(list string) layout { m.isolated = list; return m }
func (m layout) without(list string) layout   { m.offline = list; return m }

func TestPlan(t *testing.T) {
	tests := []struct {
		name    string
		machine layout
		want    string // requested CPUs
		width   int
		slots   string // "cpus@node ..."
		house   string // housekeeping CPUs
		err     string // substring of the message
	}{
		{name: "nothing isolated: the last CPU", machine: eight, width: 1, slots: "7@0", house: "0-6"},
		{name: "nothing isolated, wide: the last CPUs", machine: eight, width: 3, slots: "5-7@0", house: "0-4"},
		{name: "nothing isolated, wide: one node", machine: layout{nodes: []string{"0-5", "6-7"}}, width: 3,
			err: "no NUMA node offers that many cores, node 1 the most with CPUs 6-7: use a width up to 2"},
		{name: "nothing isolated, wide: one node, interleaved", machine: layout{nodes: []string{"0,2,4,6", "1,3,5,7"}},
			width: 2, slots: "5,7@1", house: "0-4,6"},
		{name: "nothing isolated, wide: cores, not threads", machine: smt, width: 3, slots: "5-7@0", house: "0,4"},
		{name: "nothing isolated, wide: not the core of CPU 0", machine: smt, width: 4,
			err: "node 0 the most with CPUs 5-7"},
		{name: "one CPU", machine: oneCPU, width: 1, slots: "0@0", house: "0"},
		{name: "one CPU, named", machine: oneCPU, want: "0", width: 1, slots: "0@0", house: "0"},
		{name: "two CPUs", machine: twoCPUs, width: 1, slots: "1@0", house: "0"},
		{name: "two CPUs, wide", machine: twoCPUs, width: 2, err: "node 0 the most with CPUs 1: use a width up to 1"},
		{name: "one core of two threads", machine: oneCore, width: 1, slots: "1@0", house: "0"},
		{name: "one core of two threads, the sibling of CPU 0 named", machine: oneCore, want: "1", width: 1,
			slots: "1@0", house: "0"},
		{name: "one core of two threads, both named", machine: oneCore, want: "0-1", width: 1,
			err: "plan slots on CPUs 0-1: none is usable, because the kernel keeps CPU 0 and its core: name others of " +
				"the online CPUs 0-1"},

		{name: "isolated", machine: eight.isolating("2-4"), width: 1, slots: "2@0 3@0 4@0", house: "0-1,5-7"},
		{name: "isolated, wide, one left over", machine: eight.isolating("2-6"), width: 2, slots: "2-3@0 4-5@0",
			house: "0-1,6-7"},
		{name: "isolated with siblings", machine: smt.isolating("2-3,6-7"), width: 1, slots: "2@0 3@0",
			house: "0-1,4-5"},
		{name: "isolated without their siblings", machine: smt.isolating("6-7"), width: 1, slots: "6@0 7@0",
			house: "0-1,4-5"},
		{name: "isolated but offline", machine: eight.isolating("6-7").without("6-7"), width: 1, slots: "5@0",
			house: "0-4"},
		{name: "isolated CPU 0 only", machine: eight.isolating("0"), width: 1, slots: "7@0", house: "0-6"},
		{name: "asked for wins over isolated", machine: eight.isolating("2-4"), want: "5", width: 1, slots: "5@0",
			house: "0-4,6-7"},

		{name: "never CPU 0", machine: eight, want: "0-2", width: 1, slots: "1@0 2@0", house: "0,3-7"},
		{name: "only CPU 0 asked for", machine: eight, want: "0", width: 1, err: "name others of the online CPUs 0-7"},
		{name: "siblings", machine: smt, want: "0-7", width: 1, slots: "1@0 2@0 3@0", house: "0,4"},
		{name: "siblings, wide", machine: smt, want: "1-3,5-7", width: 3, slots: "1-3@0", house: "0,4"},
		{name: "siblings do not widen a slot", machine: smt, want: "2-3,6-7", width: 4,
			err: "node 0 the most with CPUs 2-3: use a width up to 2"},
		{name: "a sibling is offline", machine: smt.without("2"), want: "6", width: 1, slots: "6@0",
			house: "0-1,3-5,7"},

		{name: "nodes", machine: numa, want: "1-7", width: 1, slots: "1@0 2@0 3@0 4@1 5@1 6@1 7@1", house: "0"},
		{name: "nodes, wide: none spans", machine: numa, want: "1-7", width: 2, slots: "1-2@0 4-5@1 6-7@1",
			house: "0,3"},
		{name: "nodes, wide: only one offers it", machine: numa, want: "1-7", width: 4, slots: "4-7@1", house: "0-3"},
		{name: "nodes, wide: none offers it", machine: numa, want: "2-5", width: 3,
			err: "node 0 the most with CPUs 2-3: use a width up to 2"},
		{name: "nodes interleaved", machine: layout{nodes: []string{"0,2,4,6", "1,3,5,7"}}, want: "2-7", width: 3,
			slots: "2,4,6@0 3,5,7@1", house: "0-1"},

		{name: "caches", machine: caches, want: "1-9", width: 3, slots: "1-3@0 4-6@0 7-9@0", house: "0"},
		{name: "caches, then what they leave over", machine: caches, want: "1-9", width: 2,
			slots: "1-2@0 3,6@0 4-5@0 7-8@0", house: "0,9"},
		{name: "caches too small", machine: caches, want: "1-9", width: 5, slots: "1-5@0", house: "0,6-9"},

		{name: "outside", machine: twoCPUs, want: "1,9", width: 1,
			err: "CPU 9 is not in this machine: choose among its online CPUs 0-1"},
		{name: "offline", machine: eight.without("5"), want: "4-6", width: 1,
			err: "CPU 5 is offline: leave it out, or write 1 to /sys/devices/system/cpu/cpu5/online"},
		{name: "no width", machine: eight, want: "1", width: 0, err: "width 0 is not positive"},
		{name: "no machine", machine: layout{}, width: 1, err: "no CPU is known to be online"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := tt.machine.build(t)
			got, err := Plan(top, set(t, tt.want), tt.width)
			switch {
			case err == nil && tt.err != "":
				t.Errorf("no error, want one with %q", tt.err)
			case err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %q, want %q in it", err, tt.err)
			}
			want := parseSlots(t, tt.slots)
			for i := range want {
				for _, id := range want[i].CPUs {
					c, _ := top.CPU(id)
					want[i].Cache = want[i].Cache.Union(c.L3)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if house := Housekeeping(top, got); house.String() != tt.house {
				t.Errorf("housekeeping %q, want %q", house, tt.house)
			}
		})
	}
}

// parseSlots parses "1-2@0 3@1".
func parseSlots(t *testing.T, text string) []Slot {
	t.Helper()
	var out []Slot
	for _, f := range strings.Fields(text) {
		cpus, node, _ := strings.Cut(f, "@")
		out = append(out, Slot{CPUs: set(t, cpus), Node: set(t, node)[0]})
	}
	return out
}

func TestReserved(t *testing.T) {
	top := smt.build(t)
	if got := Reserved(top, parseSlots(t, "1@0 6@0")).String(); got != "1-2,5-6" {
		t.Errorf("got %q, want the slots and their siblings, 1-2,5-6", got)
	}
	if got := Reserved(top, nil); got != nil {
		t.Errorf("got %v without slots, want none", got)
	}
}

// TestPlanKeepsTheRules checks plans of random machines against each rule.
func TestPlanKeepsTheRules(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const machines = 400
	planned := 0
	for range machines {
		top, want := randomMachine(r).build(t), cpuset.Set(nil)
		for _, id := range top.Online {
			if r.IntN(2) == 0 {
				want = append(want, id)
			}
		}
		width := 1 + r.IntN(3)
		slots, err := Plan(top, want, width)
		if err != nil {
			continue
		}
		planned++
		var cores cpuset.Set
		for _, s := range slots {
			if len(s.CPUs) != width || (len(want) > 0 && !s.CPUs.IsSubsetOf(want)) || s.CPUs.Contains(0) {
				t.Fatalf("want %v, width %d: slot %v", want, width, s)
			}
			for _, id := range s.CPUs {
				c, _ := top.CPU(id)
				if c.Node != s.Node || cores.Contains(c.Core) {
					t.Fatalf("want %v, width %d: CPU %d of node %d and core %d in slot %v, cores used %v", want, width,
						id, c.Node, c.Core, s, cores)
				}
				cores = cores.Union(cpuset.New(c.Core))
			}
		}
		if house := Housekeeping(top, slots); len(house) == 0 || !house.IsSubsetOf(top.Online) {
			t.Fatalf("housekeeping %v of %v", house, top.Online)
		}
	}
	if planned < machines/2 {
		t.Errorf("only %d of %d machines could be planned: the test proves less than it says", planned, machines)
	}
}

// randomMachine returns a machine with 16 CPUs in up to 2 nodes and 4 caches, with or without SMT in either of
// the kernel's numberings.
func randomMachine(r *rand.Rand) layout {
	m := layout{nodes: []string{"0-7", "8-15"}, caches: []string{"0-3", "4-7", "8-11", "12-15"}}
	if r.IntN(2) == 0 {
		m = layout{nodes: []string{"0-15"}}
	}
	switch r.IntN(3) {
	case 0:
		m.cores = []string{"0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"}
	case 1:
		m.cores = []string{"0,4", "1,5", "2,6", "3,7", "8,12", "9,13", "10,14", "11,15"}
	}
	m.isolated = []string{"", "2-5", "12-15"}[r.IntN(3)]
	m.offline = []string{"", "7", "3,15"}[r.IntN(3)]
	return m
}
