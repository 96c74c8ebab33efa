package bench

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/timing/stats"
)

// experimentOptions returns options for a test: the smallest programs, with one run of each.
func experimentOptions(t *testing.T) ExperimentOptions {
	c, claims := config.Default(), t.TempDir()
	return ExperimentOptions{
		N: 1, Scale: 0.001, Seed: 1, Seen: func(int, int, string) {},
		Open: func(width int) (*engine.Engine, error) {
			return engine.Open(engine.Options{ClaimFolder: claims,
				Width: width, Count: 1, Root: sandbox.RootHost, BoxBytes: c.Sandbox.WorkSize,
				BoxInodes: c.Sandbox.WorkInodes, UIDFirst: 1<<20 + os.Getpid()%4096*1000, UIDCount: 1000,
				Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			})
		},
	}
}

// TestExperiments checks that every experiment runs to its end with the published columns, and reports what it omits.
func TestExperiments(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC, testkit.Python)
	tests := []struct {
		name string
		rows int // of the first table
		told string
	}{
		{"consistency", len(stages), "2230 ms"},
		{"gil", len(servers), "9.73 / 6.84"},
		{"concurrency", len(kinds) * len(ways), "9.42 s to 10.29 s"},
		{"affinity", len(crowds), "149.45 / 177.11"},
	}
	var names []string
	for _, tt := range tests {
		names = append(names, tt.name)
		t.Run(tt.name, func(t *testing.T) {
			r, err := RunExperiment(t.Context(), tt.name, experimentOptions(t))
			if err != nil {
				t.Fatal(err)
			}
			if !r.AllAccepted() || len(r.Cases) == 0 {
				t.Errorf("%d cases, and these went wrong: %q", len(r.Cases), r.Notes)
			}
			if len(r.Tables) == 0 || len(r.Tables[0].Rows) != tt.rows {
				t.Fatalf("tables %+v, want %d rows in the first", r.Tables, tt.rows)
			}
			for _, table := range r.Tables {
				for _, row := range table.Rows {
					if len(row) > len(table.Columns) {
						t.Errorf("row %q has more cells than columns %q", row, table.Columns)
					}
				}
			}
			if len(r.Chart().Lanes) != len(r.Cases) {
				t.Errorf("%d lanes in the picture of %d cases", len(r.Chart().Lanes), len(r.Cases))
			}
			text, err := json.Marshal(r)
			if err != nil || !strings.Contains(string(text), tt.told) {
				t.Errorf("%v; the JSON does not tell what was published, %q", err, tt.told)
			}
			if tt.name == "gil" {
				everyServerSaid(t, r)
			}
			if r.Host == nil || r.Host.Kernel == "" {
				t.Errorf("host %+v, want one", r.Host)
			}
		})
	}
	if !slices.Equal(names, ExperimentIDs()) {
		t.Errorf("tested %q, want %q", names, ExperimentIDs())
	}
}

// TestInterruptedExperiments checks that an experiment that is interrupted after its first run returns what it has.
func TestInterruptedExperiments(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC, testkit.Python)
	for _, name := range ExperimentIDs() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := experimentOptions(t)
			o.Seen = func(done, _ int, _ string) {
				if done == 2 {
					cancel()
				}
			}
			r, err := RunExperiment(ctx, name, o)
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			for _, c := range r.Cases {
				runs += len(c.Runs)
			}
			if !r.Partial || runs != 2 || r.Host == nil || len(r.Chart().Lanes) != len(r.Cases) {
				t.Errorf("partial %t, %d runs, host %v, %d lanes; want 2 runs of 2 cases", r.Partial, runs, r.Host,
					len(r.Chart().Lanes))
			}
			if want := "scale 0.001"; !strings.Contains(r.Chart().Source, want) ||
				!strings.Contains(r.Chart().Source, "seed 1, partial") {
				t.Errorf("the picture is from %q, want %q in it", r.Chart().Source, want)
			}
		})
	}
}

func everyServerSaid(t *testing.T, r ExperimentResult) {
	t.Helper()
	for _, s := range servers {
		for _, id := range []string{Free, Slot} {
			if u := usedBy(find(r.Cases, s.threads+" "+id)); u.Real <= 0 || u.User+u.System <= 0 || u.Switches <= 0 {
				t.Errorf("%s threads %s: the server says %+v", s.threads, id, u)
			}
		}
	}
}

// TestNoCPUs checks that unavailable CPUs are a usage error, and that slots that are too wide are omitted.
func TestNoCPUs(t *testing.T) {
	testkit.Need(t, testkit.GCC, testkit.Python)
	o := experimentOptions(t)
	var asked []int
	o.Open = func(width int) (*engine.Engine, error) {
		asked = append(asked, width)
		return nil, &engine.UsageError{Err: errors.New("no CPUs")}
	}
	want := map[string][]int{"consistency": {1}, "gil": {1}, "concurrency": {1}, "affinity": {4, 2, 1}}
	for _, name := range ExperimentIDs() {
		asked = nil
		r, err := RunExperiment(t.Context(), name, o)
		var usage *engine.UsageError
		if !errors.As(err, &usage) || !slices.Equal(asked, want[name]) || len(r.LeftOut) != len(asked)-1 {
			t.Errorf("%s: asked for slots of %v, want %v; left out %v, error %v", name, asked, want[name], r.LeftOut,
				err)
		}
	}
	if _, err := RunExperiment(t.Context(), "unknown", o); err == nil {
		t.Error("an unknown experiment was run")
	}
	if got := missing("sh", "no-such-program"); !strings.Contains(got, "no-such-program") {
		t.Errorf("got %q, want the name of what is missing", got)
	}
}

// TestInterruptedFlips checks that the complete batches are counted.
func TestInterruptedFlips(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := experimentOptions(t)
	o.N = 50
	const each = 4 // methods, if a CPU is left next to the slot
	o.Seen = func(done, total int, _ string) {
		if total > 0 && done > each {
			cancel()
		}
	}
	d := dose{limit: 20 * time.Millisecond, thetas: []float64{0.75}, loads: []string{""}, kinds: []string{"cpu-bound"},
		sets: 1}
	r, err := flips(ctx, o, d)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || len(r.Flips) == 0 || len(r.Flips) > each+1 || len(r.Tables) == 0 || r.Host == nil {
		t.Errorf("partial %t, %d verdicts, %d tables, host %v", r.Partial, len(r.Flips), len(r.Tables), r.Host)
	}
}

// TestMeasured checks that verdicts that do not count are not a result.
func TestMeasured(t *testing.T) {
	tables := []Table{{Title: "t"}}
	counts, not := Flip{}, Flip{Uncalibrated: true}
	for name, tt := range map[string]struct {
		r    ExperimentResult
		want bool
	}{
		"nothing":          {ExperimentResult{}, false},
		"an experiment":    {ExperimentResult{Tables: tables}, true},
		"some verdicts":    {ExperimentResult{Tables: tables, Flips: []Flip{not, counts}}, true},
		"none that counts": {ExperimentResult{Tables: tables, Flips: []Flip{not, {Either: true}}}, false},
		"a run that did not": {ExperimentResult{Tables: tables,
			Result: Result{Cases: []Outcome{{Runs: make([]Run, 1)}}}}, false},
	} {
		if got := tt.r.Measured(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

// TestFlips judges programs clearly on one side of the limit with busy and with idle neighbours, and counts wrong
// verdicts: judged must not judge programs within the limit wrongly more often than a single free run, regardless of
// other work on the machine. Two more are allowed for calibration on a busy machine.
func TestFlips(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC)
	o := experimentOptions(t)
	o.N = 2
	d := dose{limit: 40 * time.Millisecond, thetas: []float64{0.75, 1.25}, loads: []string{"", initproc.LoadCPU},
		kinds: []string{"cpu-bound"}, sets: 1}
	r, err := flips(t.Context(), o, d)
	if err != nil {
		t.Fatal(err)
	}
	of := func(method string, wanted func(Flip) bool) rate {
		return count(r.Flips, func(f Flip) bool { return f.Method == method && wanted(f) })
	}
	within := func(f Flip) bool { return f.Theta < 1 }
	free, judged := of(byFree, within), of(byJudged, within)
	if judged.of != o.N*len(d.loads) || judged.of != free.of {
		t.Fatalf("judged %d times, free %d times, want %d", judged.of, free.of, o.N*len(d.loads))
	}
	if judged.wrong > free.wrong+2 {
		t.Errorf("wrong TLE: judged %s, a single free run %s", judged, free)
	}
	hopeless := of(byJudged, func(f Flip) bool { return f.Theta > 1 })
	if hopeless.wrong > 2 {
		t.Errorf("wrong AC at 1.25 of the limit: judged %s", hopeless)
	}
	for _, f := range r.Flips {
		far := f.CPUTime >= d.limit*130/100 // here one run decides
		if f.Method == byJudged && f.Verdict == api.TimeLimit && f.Runs < 2 && !far {
			t.Errorf("TLE after %d run: %+v; near the limit a time verdict takes two", f.Runs, f)
		}
	}
	// Nothing can be learned from one set, and the result says so.
	if r.Guard == nil || *r.Guard != stats.DefaultGuard() {
		t.Errorf("judged by the guard %+v, want %+v", r.Guard, stats.DefaultGuard())
	}
	t.Logf("wrong TLE: judged %s, free %s; TLE at 1.25 took %s runs", judged, free, hopeless.runsEach())
}
