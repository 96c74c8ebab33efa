package bench

import (
	"strconv"

	"judged/internal/base/units"
)

// sieveSize is the number of sieved ints.
const sieveSize = 500_000_000

// stages are the published rows, and the placement that repeats each here. Their figure is user time, slowest minus
// fastest of 20 runs of about 10 s.
var stages = []struct{ what, published, placement string }{
	{"as it comes", "2230 ms", Free},
	{"pinned, no isolation", "-", Pinned},
	{"isolated core, neighbours idle", "375 ms", Slot},
	{"isolated core, neighbours loaded", "1354 ms", CPULoad},
	{"isolated core, neighbours move memory", "-", MemoryLoad},
	{"the same as loaded, turbo off", "252 ms", TurboOff},
	{"turbo off, memory bound to one node", "48 ms (0.5 %)", ""},
	{"memory moved, not bound to one node", "-", AnyNode},
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
			row = append(row, medianText(o.UserTime), spreadText(o.UserTime), medianText(o.CPUTime), spreadText(o.CPUTime),
				spreadText(o.WallTime), cleanOf(o))
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

// medianText and spreadText format table cells.
func medianText(t *Times) string {
	if t == nil {
		return "-"
	}
	return units.Duration(t.Median)
}

func spreadText(t *Times) string {
	if t == nil {
		return "-"
	}
	return t.SpreadText()
}

func cleanOf(o *Outcome) string {
	return strconv.Itoa(o.Clean) + " of " + strconv.Itoa(len(o.Runs))
}
