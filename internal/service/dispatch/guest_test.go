package dispatch

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
	"judged/internal/testkit/guest"
	"judged/internal/timing/evidence"
)

// markedProgram is the path of the program of attack 170 in the guest.
const markedProgram = "/mark"

// TestMarkedRunsInGuest runs TestMarkedRuns with two slots, one of which could go out of use.
func TestMarkedRunsInGuest(t *testing.T) {
	t.Parallel() // one emulator keeps one CPU busy
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	source := filepath.Join(testkit.RepoRoot(t), "testdata", "attacks", "170-mark-runs.c")
	guest.GoTest(t, guest.Config{Append: "isolcpus=2,3 tsc=reliable", NUMA: true,
		Files: map[string]string{markedProgram: testkit.CompileC(t, source, true)}},
		"judged/internal/service/dispatch", "^TestMarkedRuns$")
}

// tooManyDisturbed is the number of disturbed runs among the last ones on a slot that takes it out of use.
const tooManyDisturbed = 10

// made is a made-up slot without a worker.
var made = slots.Slot{CPUs: cpuset.New(0), Node: 99}

// TestMarkedRuns judges more runs that pretend to be disturbed than may be among the last ones on a slot, and checks
// that the slot stays in use. The thresholds are so high that real noise does not count.
func TestMarkedRuns(t *testing.T) {
	f := newFixture(t)
	program := markedProgram
	if !attacks.InGuest(t) {
		testkit.Need(t, testkit.StaticGCC)
		program = testkit.CompileC(t, filepath.Join(testkit.RepoRoot(t), "testdata", "attacks", "170-mark-runs.c"),
			true)
	}
	f.blob = func(string) (string, error) { return program, nil }
	planned := f.eng.Slots()
	if len(planned) == 1 {
		planned = []slots.Slot{made, planned[0]}
	}
	f.dispatcher(Options{}, planned...)
	if planned[0].Node == made.Node { // kept busy, so that the other slot is not the last in use
		lease, err := f.pool.Lease(t.Context())
		f.must(err)
		defer lease.Release()
		if got := lease.Slot().CPUs.String(); got != made.CPUs.String() {
			t.Fatalf("leased slot %s, want %s", got, made.CPUs)
		}
	}
	th := f.eng.Thresholds()
	th.TickRate, th.NohzTicks = 0, evidence.Count{} // an emulated CPU has few interrupts: any of them marks a run
	th.Foreign.Floor, th.StealTicks = time.Hour, math.MaxInt32
	f.eng.SetThresholds(th)
	f.run()
	marked := map[string]int{}
	for i := range 3 * tooManyDisturbed {
		id := fmt.Sprint("marked-", i)
		f.submit(id, "p", "timers", "60", "0")
		r := f.finish(id)
		if r.Verdict != api.Accepted {
			t.Fatalf("job %s: verdict %s, want AC: %s", id, r.Verdict, r.Message)
		}
		if run := r.Tests[0].Runs[0]; slices.Contains(run.Disturbed, api.CauseTick) {
			marked[run.CPUs]++
		}
	}
	if most := slices.Max(append(slices.Collect(maps.Values(marked)), 0)); most <= tooManyDisturbed {
		t.Errorf("%v runs are marked, want more than %d on one slot", marked, tooManyDisturbed)
	}
	for _, s := range f.pool.Snapshot() {
		if s.State != slots.Idle && s.State != slots.Busy {
			t.Errorf("slot %s is %s: %s", s.CPUs, s.State, s.Reason)
		}
	}
}
