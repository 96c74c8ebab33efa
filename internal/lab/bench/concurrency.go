package bench

import (
	"fmt"
	"strconv"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// widths are the slot widths to try. The publication used 1, 2 and 10 CPUs.
var widths = []int{1, 2, 4, 10}

// kinds and ways are combined into the programs: 18 as published.
var (
	kinds = []string{"io", "cpu", "mixed"}
	ways  = []string{"sequential", "threads", "processes", "thread-pool", "process-pool", "async"}
)

// publishedWalls are the published times of the programs.
var publishedWalls = map[string]struct{ one, ten string }{
	"io sequential":    {"", "14.34 s, 8 %"},
	"io thread-pool":   {"", "2.02 s"},
	"io async":         {"", "1.82 s"},
	"cpu sequential":   {"9.42 s to 10.29 s", "11.38 s"},
	"cpu threads":      {"the same", "13.65 s"},
	"cpu processes":    {"the same", "2.62 s, 500 %"},
	"cpu thread-pool":  {"the same", ""},
	"cpu process-pool": {"the same", ""},
}

func concurrency(l *lab) error {
	if reason := missing("python3"); reason != "" {
		l.leave("concurrency", reason)
		return nil
	}
	// All CPUs, and each width.
	each := len(kinds) * len(ways) * l.N
	done, total := 0, each*(len(widths)+1)
	for _, width := range widths {
		name := fmt.Sprintf("slot of %d", width)
		err := l.settle(width)
		if reason, ok := tooWide(width, err); ok {
			l.leave(name, reason)
			total -= each
			continue
		}
		if err != nil {
			return err
		}
		places := []string{Slot}
		if width == 1 {
			places = append(places, Free)
			if err := l.tellHost(); err != nil {
				return err
			}
		}
		for _, place := range places {
			if err := l.concurrencyIn(place, name, done, total); err != nil {
				return err
			}
			done += each
		}
	}
	l.note("Answers come through pipes from a process that waits %.2f s, not over a network: the sandbox has none. cpu "+
		"async is the blocked event loop.", 0.3*min(10*l.Scale, 1))
	l.result.chart = l.result.ChartOf("wall time", wall)
	return nil
}

// concurrencyIn measures all programs in one placement.
func (l *lab) concurrencyIn(place, name string, done, total int) error {
	p, ok := l.site.Placement(place)
	if !ok {
		return nil
	}
	if place == Free {
		name = "all " + strconv.Itoa(countCPUs(p)) + " CPUs, no slot"
	}
	var cases []Case
	for _, kind := range kinds {
		for _, way := range ways {
			task, err := l.script("concurrency.py", kind, way, strconv.FormatFloat(l.Scale, 'g', -1, 64))
			if err != nil {
				return err
			}
			cases = append(cases, Case{Name: kind + " " + way + ", " + name, Placement: p, Task: task})
		}
	}
	outcomes, err := l.measure(cases, done, total)
	if err != nil {
		return err
	}
	t := Table{Title: name, Columns: []string{"PROGRAM", "USER", "KERNEL", "WALL", "CPU %", "MEMORY", "1 CPU THEN",
		"10 CPUS THEN"}}
	i := 0
	for _, kind := range kinds {
		for _, way := range ways {
			o, then := outcomes[i], publishedWalls[kind+" "+way]
			i++
			t.Rows = append(t.Rows, []string{kind + " " + way, medianText(o.UserTime), medianText(o.SystemTime),
				medianText(o.WallTime), percent(o.CPUTime.Median, o.WallTime.Median), peak(o.Runs), then.one, then.ten})
		}
	}
	l.table(t)
	return nil
}

func percent(cpu, wall time.Duration) string {
	return strconv.Itoa(int(100*float64(cpu)/float64(max(wall, 1)) + 0.5))
}

// peak returns the largest memory of any run.
func peak(runs []Run) string {
	var most units.Bytes
	for _, r := range runs {
		if r.MemoryPeak != nil {
			most = max(most, *r.MemoryPeak)
		}
	}
	return units.Round(most)
}

func countCPUs(p Placement) int {
	cpus, err := cpuset.Parse(p.CPUs)
	if err != nil {
		return 0
	}
	return len(cpus)
}
