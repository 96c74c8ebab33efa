package bench

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"judged/internal/timing/stats"
)

// gilLines is the number of lines that the client sends: about the published amount of work, on a processor that is ten
// years newer.
const gilLines = 10_000

// servers are the published rows: seconds, free and pinned to one
// of eight CPUs.
var servers = []struct{ threads, real, system, user string }{
	{"1", "3.35 / 3.55", "0.54 / 0.52", "2.78 / 3.03"},
	{"2", "7.26 / 4.63", "4.91 / 0.67", "5.10 / 2.95"},
	{"4", "8.28 / 4.90", "6.58 / 0.76", "7.37 / 3.14"},
	{"8", "7.96 / 5.00", "6.49 / 0.84", "7.32 / 3.15"},
	{"16", "9.77 / 5.88", "6.53 / 0.73", "7.01 / 3.15"},
	{"32", "9.73 / 6.84", "6.54 / 0.81", "7.06 / 3.04"},
}

func gil(l *lab) error {
	if reason := missing("python3"); reason != "" {
		l.leave("gil", reason)
		return nil
	}
	if err := l.settle(1); err != nil {
		return err
	}
	cases, err := l.servers()
	if err != nil {
		return err
	}
	outcomes, err := l.measure(cases, 0, len(cases)*l.N)
	if err != nil {
		return err
	}
	t := Table{Title: "Seconds of the server, free / on one CPU: published (mean of 7 runs on an i7-2630QM at 800 MHz), " +
		"and here",
		Columns: []string{"THREADS", "REAL THEN", "REAL", "SYS THEN", "SYS", "USER THEN", "USER", "SWITCHES"}}
	for _, s := range servers {
		free, one := usedBy(find(outcomes, s.threads+" free")), usedBy(find(outcomes, s.threads+" slot"))
		t.Rows = append(t.Rows, []string{s.threads,
			s.real, seconds(free.Real, one.Real), s.system, seconds(free.System, one.System), s.user,
			seconds(free.User, one.User), fmt.Sprintf("%d / %d", free.Switches, one.Switches)})
	}
	l.table(t)
	l.note("Connections are socket pairs inside one sandbox, which has no network. Client and server share the " +
		"placement: theirs shared the machine.")
	l.note("Median of %d runs. SWITCHES are the server's; the published ones fell 40-fold.", l.N)
	l.result.chart = gilChart(l.result.Result)
	return l.tellHost()
}

func (l *lab) servers() ([]Case, error) {
	var cases []Case
	for _, s := range servers {
		task, err := l.script("gil.py", s.threads, strconv.Itoa(l.sized(gilLines)))
		if err != nil {
			return nil, err
		}
		task.Head = 1 << 10
		for _, id := range []string{Free, Slot} {
			if p, ok := l.site.Placement(id); ok {
				cases = append(cases, Case{Name: s.threads + " " + id, Placement: p, Task: task})
			}
		}
	}
	return cases, nil
}

// serverUsed is the output of gil.py.
type serverUsed struct {
	Real     float64 `json:"real_s"`
	User     float64 `json:"user_s"`
	System   float64 `json:"system_s"`
	Switches int64   `json:"switches"`
}

// usedBy returns the median of each figure.
func usedBy(o *Outcome) serverUsed {
	var reals, users, systems []float64
	var switches []int64
	for _, u := range said(o) {
		reals, users, systems = append(reals, u.Real), append(users, u.User), append(systems, u.System)
		switches = append(switches, u.Switches)
	}
	return serverUsed{stats.Quantile(reals, 0.5), stats.Quantile(users, 0.5), stats.Quantile(systems, 0.5),
		stats.Quantile(switches, 0.5)}
}

// said returns the output of each accepted run.
func said(o *Outcome) []serverUsed {
	if o == nil {
		return nil
	}
	var all []serverUsed
	for _, r := range o.Runs {
		var u serverUsed
		if err := json.Unmarshal([]byte(textOf(r.Stdout)), &u); err == nil {
			all = append(all, u)
		}
	}
	return all
}

func seconds(a, b float64) string { return fmt.Sprintf("%.2f / %.2f", a, b) }

// gilChart returns a chart of the time that the server reports.
func gilChart(r Result) Chart {
	c := Chart{Title: r.Title, Subtitle: fmt.Sprintf("threads and placement, %d runs of each, in turns", r.N),
		Axis: "real time of the server, s"}
	for i := range r.Cases {
		o := &r.Cases[i]
		lane := Lane{Name: o.Case}
		var all []time.Duration
		for n, u := range said(o) {
			lane.Dots = append(lane.Dots, Dot{Value: u.Real, Hollow: len(o.Runs[n].Disturbed) > 0})
			all = append(all, time.Duration(u.Real*float64(time.Second)))
		}
		lane.Note = "spread " + spreadText(Describe(all))
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}
