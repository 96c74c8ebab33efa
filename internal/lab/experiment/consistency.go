package experiment

import (
	"strconv"

	"judged/internal/base/units"
	"judged/internal/lab/bench"
)

// sieveSize is the number of sieved ints.
const sieveSize = 500_000_000

// stages are the published rows, and the placement that repeats each here. Their figure is user time, slowest minus
// fastest of 20 runs of about 10 s.
var stages = []struct{ what, published, placement string }{
	{"as it comes", "2230 ms", bench.Free},
	{"pinned, no isolation", "-", bench.Pinned},
	{"isolated core, neighbours idle", "375 ms", bench.Slot},
	{"isolated core, neighbours loaded", "1354 ms", bench.CPULoad},
	{"isolated core, neighbours move memory", "-", bench.MemoryLoad},
	{"the same as loaded, turbo off", "252 ms", bench.TurboOff},
	{"turbo off, memory bound to one node", "48 ms (0.5 %)", ""},
	{"memory moved, not bound to one node", "-", bench.AnyNode},
}

func consistency(l *lab) error {
	if err := l.settle(1); err != nil {
		return err
	}
	if reason := missing("gcc"); reason != "" {
		l.leave("consistency", reason)
		return nil
	}
	binary, err := l.compile("sieve.c")
	if err != nil {
		return err
	}
	sieve, err := program(binary, strconv.Itoa(max(2, l.sized(sieveSize))))
	if err != nil {
		return err
	}
	cases := l.site.EachPlacement(sieve)
	outcomes, err := l.measure(cases, 0, len(cases)*l.N)
	if err != nil {
		return err
	}
	l.result.LeftOut = append(l.result.LeftOut, l.site.LeftOut...)
	t := Table{Title: "Spread of user time, published on an i7-8750H, and here",
		Columns: []string{"STAGE", "PUBLISHED", "PLACEMENT", "USER", "USER SPREAD", "CPU", "CPU SPREAD", "WALL SPREAD",
			"CLEAN"}}
	for _, s := range stages {
		row := []string{s.what, s.published, s.placement}
		if o := find(outcomes, s.placement); o != nil {
			row = append(row, median(o.UserTime), spread(o.UserTime), median(o.CPUTime), spread(o.CPUTime),
				spread(o.WallTime), cleanOf(o))
		}
		t.Rows = append(t.Rows, row)
	}
	l.table(t)
	l.note("Slots are bound to the memory of their node if there are several nodes.")
	if l.Scale != 1 {
		l.note("Scale %g: %s ints instead of %d; a shorter run varies less in ms and more in %%.", l.Scale,
			sieve.Args[1], sieveSize)
	}
	l.result.chart = l.result.Result.Chart()
	return l.tellHost()
}

// median and spread format table cells.
func median(t *bench.Times) string {
	if t == nil {
		return "-"
	}
	return units.Duration(t.Median)
}

func spread(t *bench.Times) string {
	if t == nil {
		return "-"
	}
	return t.SpreadText()
}

func cleanOf(o *bench.Outcome) string {
	return strconv.Itoa(o.Clean) + " of " + strconv.Itoa(len(o.Runs))
}
