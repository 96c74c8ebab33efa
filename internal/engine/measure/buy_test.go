package measure

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
)

// deed holds the events on a host with a slot on CPU 1 and a neighbour on CPU 0 while a program that is too slow runs,
// as fractions of its wall time.
type deed struct {
	ticks, ran, own float64 // on the neighbour: user mode by ticks, total, and judged's part of it
	foreign         float64 // time of others in user mode on the slot's CPU
	siblings        float64 // time that threads or instances of the program waited for each other
	waited          float64 // time that the program waited for others
}

// outcome returns a run of the program with the evidence of the host. Two instances share the time of a manager's
// program.
func (d deed) outcome(t *testing.T, slow sandbox.Result, count int, l api.Limits) outcome {
	t.Helper()
	root := t.TempDir()
	part := func(p float64) time.Duration { return time.Duration(p * float64(slow.WallTime)) }
	var own time.Duration
	write := func(ticks, ran, busy, user time.Duration) {
		const tick = 10 * time.Millisecond
		stat := fmt.Sprintf("cpu 0\ncpu0 %d 0 0 0 0 0 0 0 0 0\ncpu1 %d 0 0 0 0 0 0 0 0 0\n", ticks/tick, user/tick)
		schedstat := fmt.Sprintf("cpu0 0 0 0 0 0 0 %d 0 0\ncpu1 0 0 0 0 0 0 %d 0 0\n", ran, busy)
		for name, text := range map[string]string{"stat": stat, "schedstat": schedstat} {
			if err := os.WriteFile(filepath.Join(root, "proc", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(0, 0, 0, 0)
	reader, err := evidence.NewReader(hostfs.New(root), cpuset.New(1), cpuset.New(0),
		func() (total, user time.Duration, err error) { return own, own, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	w := &Worker{slot: sandbox.Resources{CPUs: cpuset.New(1)}}
	w.SetThresholds(evidence.DefaultThresholds(false))
	before := reader.Snapshot()
	own = part(d.own)
	write(part(d.ticks), part(d.ran), slow.CPUTime+part(d.foreign), slow.CPUTime+part(d.foreign))
	slow.Waited = new(part(d.waited))
	r := slow
	if count > 1 {
		one := slow
		one.CPUTime /= time.Duration(count)
		one.UserTime, one.SystemTime = new(one.CPUTime), new(time.Duration(0))
		one.Waited = new(part(d.waited)) // without what siblings wait for each other: TestWaitsOfAll
		all := &instances{results: []sandbox.Result{one, one}}
		all.results[1].Stop = sandbox.StopNone
		r = all.joined()
		r.WallTime = slow.WallTime
	}
	// The pressure of kind some, and the delay of the first thread, include the time that siblings wait for each other.
	r.Pressure.CPU, r.RunDelay = new(part(d.waited)+part(d.siblings)), new(part(d.waited)+part(d.siblings))
	o := outcome{result: r, wall: slow.WallTime, verdict: verdictOf(r, l)}
	o.run = w.describe(r, before, reader.SnapshotAfter(before))
	return o
}

// TestNoFormBuysARepeat is like TestNobodyBuysARepeat for what the forms of problems let a program cause on the host:
// work of judged on its behalf, and waiting of its threads and instances for each other. Next to other busy programs,
// this must not explain more.
func TestNoFormBuysARepeat(t *testing.T) {
	const p = 0.3
	l := api.Limits{CPUTimeMS: 1000, WallTimeMS: 3000, Memory: 1, Output: 1}
	tooMuchCPU := func(ms int) sandbox.Result {
		d := time.Duration(ms) * time.Millisecond
		return sandbox.Result{CPUTime: d, UserTime: new(d), SystemTime: new(time.Duration(0)), WallTime: d}
	}
	blocked := func(int) sandbox.Result {
		d := 30 * time.Millisecond
		return sandbox.Result{CPUTime: d, UserTime: new(d), SystemTime: new(time.Duration(0)),
			WallTime: 3010 * time.Millisecond, Stop: sandbox.StopWall}
	}
	for _, tt := range []struct {
		name  string
		count int
		slow  func(ms int) sandbox.Result
		deed  deed
		buys  bool
	}{
		{"batch: quiet", 1, tooMuchCPU, deed{}, false},
		{"batch: threads wait for each other", 1, blocked, deed{siblings: 0.9}, false},
		{"batch: threads wait for each other while others work", 1, blocked, deed{siblings: 0.9, foreign: 0.9}, false},
		{"batch: others have the CPU", 1, blocked, deed{foreign: 0.9, waited: 0.9}, true},
		{"batch: the checker of the test before", 1, tooMuchCPU, deed{ticks: 0.9, ran: 0.9, own: 0.9}, false},
		{"batch: a compiler of another job", 1, tooMuchCPU, deed{ticks: 1, ran: 1, own: 1}, false},
		{"batch: others are neighbours", 1, tooMuchCPU, deed{ticks: 1, ran: 1}, true},
		{"interactive: fed to keep its interactor busy", 1, tooMuchCPU, deed{ticks: 0.95, ran: 1, own: 0.95}, false},
		{"interactive: fed at each tick of the clock", 1, tooMuchCPU, deed{ticks: 0.9, ran: 0.1, own: 0.08}, false},
		{"interactive: the kernel works for both", 1, tooMuchCPU, deed{ticks: 0.4, ran: 0.95, own: 0.4}, false},
		{"interactive: others are neighbours of it", 1, tooMuchCPU, deed{ticks: 1, ran: 1, own: 0.1}, true},
		{"manager: fed to keep it busy", 2, tooMuchCPU, deed{ticks: 0.95, ran: 1, own: 0.95}, false},
		{"manager: its instances wait for each other", 2, blocked, deed{siblings: 0.005, foreign: 0.9}, false},
		{"manager: others have the CPU of its instances", 2, blocked, deed{foreign: 0.9, waited: 0.9}, true},
		{"multi-pass: the validator of the pass before", 1, tooMuchCPU, deed{ticks: 0.9, ran: 0.9, own: 0.9}, false},
		{"multi-pass: others are neighbours", 1, tooMuchCPU, deed{ticks: 0.9, ran: 0.9}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, policy := range []api.Policy{api.Confirm, api.Single, api.Minimum} {
				var plain, with []outcome
				for _, ms := range []int{1050, 1140} {
					plain = append(plain, deed{}.outcome(t, tt.slow(ms), tt.count, l))
					with = append(with, tt.deed.outcome(t, tt.slow(ms), tt.count, l))
				}
				want, got := accepted(t, policy, p, plain...), accepted(t, policy, p, with...)
				if bought := got > want+1e-9; bought != tt.buys || math.Abs(got-want) > 1e-9 && !tt.buys {
					t.Errorf("%s: accepted with probability %.3f, %.3f without that", policy, got, want)
				}
			}
		})
	}
}
