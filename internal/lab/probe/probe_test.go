package probe

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Exit(testkit.Run(m))
}

// TestHere probes this machine's own slots for a short time, and checks that every probe has a result, and that the
// sandbox is as promised.
func TestHere(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	c := config.Default()
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Root: sandbox.RootPrivate,
		BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: 1<<20 + os.Getpid()%4096*1000, UIDCount: 1000, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := Default()
	// The tracer would keep all CPUs of this machine busy; the tests in guests run it.
	o.IDs = slices.DeleteFunc(o.IDs, func(id string) bool { return id == "probe-osnoise" })
	o.Length, o.Rounds = 50*time.Millisecond, 1
	o.Own, o.Shared = []string{initproc.KernelALUShort}, []string{initproc.KernelL3Short}
	var steps []string
	o.Seen = func(step string) { steps = append(steps, step) }
	outcomes := undisturbed(t, eng, o)
	if len(outcomes) != 4 || len(steps) < 2 {
		t.Fatalf("%d probes, steps %q", len(outcomes), steps)
	}
	if o := outcomes["probe-limits"]; o.Status == api.DoctorFail ||
		!strings.Contains(o.Found, "RLIMIT_CPU unlimited unlimited, seccomp 2") {
		t.Errorf("probe-limits: %+v", o)
	}
	if o := outcomes["probe-gap"]; !strings.Contains(o.Found, " % of ") || !strings.Contains(o.Found, "longest") {
		t.Errorf("probe-gap: %+v", o)
	}
	wanted := len(eng.Slots()) > 1
	for _, id := range []string{"probe-canary", "probe-neighbour"} {
		if o := outcomes[id]; (o.Status != api.DoctorSkip) != wanted || o.Status == api.DoctorUnknown {
			t.Errorf("%s with %d slots: %+v", id, len(eng.Slots()), o)
		}
	}

	// The times of one run are compared with those of the next.
	o.IDs, o.Times = []string{"probe-canary"}, true
	first, err := Run(t.Context(), eng, o)
	if err != nil || len(first) != 1 || first[0].Kernels == nil ||
		first[0].Kernels.CPUTime[initproc.KernelALUShort] <= 0 {
		t.Fatalf("times: %+v, %v", first, err)
	}
	o.Times, o.Pool = false, first[0].Kernels
	second, err := Run(t.Context(), eng, o)
	if err != nil || !strings.Contains(second[0].Outcome.Found, "against the pool alu-short ") {
		t.Errorf("compared with the pool: %+v, %v", second, err)
	}
}

// undisturbed returns the outcomes of probes, which it repeats if other work on the machine has disturbed one.
func undisturbed(t *testing.T, eng *engine.Engine, o Options) map[string]doctor.Outcome {
	t.Helper()
	for attempt := 1; ; attempt++ {
		results, err := Run(t.Context(), eng, o)
		if err != nil {
			t.Fatal(err)
		}
		outcomes, noise := map[string]doctor.Outcome{}, false
		for _, r := range results {
			outcomes[r.ID] = r.Outcome
			t.Logf("%s: %s (%s) %s", r.ID, r.Outcome.Status, r.Outcome.Found, r.Outcome.Reason)
			noise = noise || strings.Contains(r.Outcome.Reason, measure.ErrNoise.Error())
		}
		if !noise || attempt == 4 {
			return outcomes
		}
	}
}

func TestWorst(t *testing.T) {
	var all []doctor.Outcome
	for _, s := range []api.DoctorStatus{api.DoctorPass, api.DoctorFail, api.DoctorSkip, api.DoctorWarn} {
		all = append(all, doctor.Outcome{Status: s, Found: string(s)})
	}
	if diff := cmp.Diff(doctor.Outcome{Status: api.DoctorFail, Found: "the worst of 4: fail"}, summed(all)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(all[2], summed(all[2:3])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
