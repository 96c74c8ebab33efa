package bench

import (
	"fmt"
	"strconv"
)

// rays is the number of tests in a table of the publication.
const rays = 975_065

// crowds are the published rows: seconds when scheduled freely and when pinned, on four cores. 1+N means N workers for
// which the first thread waits.
var crowds = []struct {
	threads      string
	workers      int
	free, pinned string
}{
	{"1", 0, "149.45", "177.11"},
	{"1+1", 1, "134.86", "138.14"},
	{"1+2", 2, "76.59", "78.66"},
	{"1+4", 4, "42.05", "41.76"},
	{"1+8", 8, "38.24", "41.07"},
	{"1+16", 16, "37.89", "-"},
	{"1+18", 18, "37.44", "-"},
	{"1+24", 24, "38.03", "-"},
}

func affinity(l *lab) error {
	if reason := missing("gcc"); reason != "" {
		l.leave("affinity", reason)
		return nil
	}
	p, err := l.widest(4, 2)
	if err != nil {
		return err
	}
	binary, err := l.compile("mesh.c")
	if err != nil {
		return err
	}
	var cases []Case
	for _, c := range crowds {
		for _, how := range []string{"free", "pinned"} {
			task, err := program(binary, strconv.Itoa(l.sized(rays)), strconv.Itoa(c.workers), how)
			if err != nil {
				return err
			}
			cases = append(cases, Case{Name: c.threads + " " + how, Placement: p, Task: task})
		}
	}
	outcomes, err := l.measure(cases, 0, len(cases)*l.N)
	if err != nil {
		return err
	}
	t := Table{Title: fmt.Sprintf("Wall time by the scheduler / with every thread pinned: published (seconds, four "+
		"cores), and here (CPUs %s)", p.CPUs),
		Columns: []string{"THREADS", "THEN", "SCHEDULER", "PINNED", "PINNED / SCHEDULER"}}
	for _, c := range crowds {
		free, pinned := find(outcomes, c.threads+" free"), find(outcomes, c.threads+" pinned")
		t.Rows = append(t.Rows, []string{c.threads, c.free + " / " + c.pinned, medianText(free.WallTime),
			medianText(pinned.WallTime),
			fmt.Sprintf("%.2f", float64(pinned.WallTime.Median)/float64(free.WallTime.Median))})
	}
	l.table(t)
	l.note("Threads are bound one by one to the CPUs of the placement, in turns. Median of %d runs of %d tests.", l.N,
		l.sized(rays))
	l.result.chart = l.result.ChartOf("wall time", wall)
	return l.tellHost()
}

// widest returns the slot with the most CPUs of the requested widths, or all CPUs of the host without a slot.
func (l *lab) widest(widths ...int) (Placement, error) {
	for _, width := range append(widths, 1) { // 1 is never too wide
		err := l.settle(width)
		if reason, ok := tooWide(width, err); ok {
			l.leave(fmt.Sprintf("slot of %d", width), reason)
			continue
		}
		if err != nil {
			return Placement{}, err
		}
		id := Slot
		if width == 1 {
			l.note("Measured on all CPUs that are not isolated, without a slot: none is wide enough.")
			id = Free
		}
		p, _ := l.site.Placement(id) // every host has both
		return p, nil
	}
	return Placement{}, nil
}
