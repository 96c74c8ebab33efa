package evidence

import (
	"encoding/binary"
	"errors"
	"os"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
)

// perf keeps counters of the kernel open, one set for the slot's CPUs and not one for each run: opening one patches the
// kernel's code and interrupts every CPU (36 to 65 µs). While one is open, opening others of its kind does not.
//
// A read interrupts the CPU, so there is one read per group, before and after the run.
type perf struct{ groups []perfGroup }

// perfGroup is a group of counters of one CPU that are read together, through the first file.
type perfGroup struct {
	files    []*os.File
	counters []counter // in the order of the files
}

// totals are the counters summed over the slot's CPUs.
type totals [counters]tally

// openPerf opens the events that the kernel permits, on every CPU.
func openPerf(groups [][]event, cpus cpuset.Set) perf {
	var p perf
	for _, cpu := range cpus {
		for _, events := range groups {
			if g := openGroup(events, cpu); len(g.files) > 0 {
				p.groups = append(p.groups, g)
			}
		}
	}
	return p
}

func openGroup(events []event, cpu int) perfGroup {
	var g perfGroup
	for _, e := range events {
		var leader *os.File
		if len(g.files) > 0 {
			leader = g.files[0]
		}
		f, err := linux.OpenPerf(e.perf, cpu, leader)
		if err != nil {
			continue // not permitted, or the unit has too few counters
		}
		g.files, g.counters = append(g.files, f), append(g.counters, e.counter)
	}
	return g
}

// read returns the sums of the counters. It uses buf as scratch space.
func (p perf) read(buf []byte) totals {
	var t totals
	for _, g := range p.groups {
		n, err := g.files[0].Read(buf)
		if err == nil {
			t.add(buf[:n], g.counters)
		}
	}
	return t
}

// add adds one group in the format of read(2): the number of counters, then each of them.
func (t *totals) add(b []byte, names []counter) {
	if len(b) != 8*(1+len(names)) || binary.NativeEndian.Uint64(b) != uint64(len(names)) {
		return
	}
	for i, c := range names {
		t[c].sum += binary.NativeEndian.Uint64(b[8*(i+1):])
		t[c].cpus++
	}
}

// growth returns by how much one counter has grown, or nil.
func (t *totals) growth(after *totals, c counter) *int64 {
	return known(t[c].growth(after[c]))
}

func (p perf) close() error {
	var errs []error
	for _, g := range p.groups {
		for _, f := range g.files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
