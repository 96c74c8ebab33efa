package cgroup

import (
	"testing"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/testkit"
)

// TestTreeCPUOn: CPU time of a slot is counted, also after its groups are removed, unless it was on other CPUs
// or is a load.
func TestTreeCPUOn(t *testing.T) {
	s, last := lastSlot(t)
	here, elsewhere := cpuset.New(last.ID), cpuset.New(8191)
	on := func(cpus cpuset.Set) time.Duration {
		t.Helper()
		c, err := s.tree.CPUOn(cpus)
		if err != nil {
			t.Fatal(err)
		}
		if c.User != nil && *c.User > c.Total {
			t.Errorf("%s of %s in user mode", *c.User, c.Total)
		}
		return c.Total
	}
	const work = 20 * time.Millisecond
	for range 2 {
		before := on(here)
		g, err := s.NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		m := join(t, g, "spin")
		m.in.Close()
		testkit.WaitFor(t, time.Minute, "the member to work", func() bool {
			used, err := g.CPUTime()
			return err == nil && used > work
		})
		m.kill(t, g)
		remove(t, g)
		if grown := on(here) - before; grown < work {
			t.Errorf("the slot's groups ran for %s, want more than %s", grown, work)
		}
	}
	if d := on(elsewhere); d != 0 {
		t.Errorf("%s on a CPU that no slot has", d)
	}
	s.CountAsOthers()
	if d := on(here); d != 0 {
		t.Errorf("%s of a load", d)
	}
}
