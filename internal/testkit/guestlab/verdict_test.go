package guestlab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/problem"
	"judged/internal/host/slots"
	"judged/internal/testkit"
)

// samples is the folder of the programs of testdata/submissions with a verdict.
const samples = "/data/submissions/"

// TestIsolatedLimit stops a program at its limit on a core without a tick and on one with a tick, and checks that the
// first has none. How late it is stopped says nothing here: the emulator may run one CPU at a time, and take 100 ms and
// more for each interrupt from one to another that computes. TestTimeIsCurrent of the sandbox checks the reading.
func TestIsolatedLimit(t *testing.T) {
	ticks := map[string]int64{}
	for _, cpus := range []string{"1", "2"} {
		r := run(t, api.TimeLimit, "--cpu-list", cpus, "--time-limit", "300ms", "--repeats", "5",
			samples+"sum/TLE-spin")
		if got := r.Tests[0].Runs[0].CPUs; got != cpus {
			t.Errorf("ran on CPU %s, want %s", got, cpus)
		}
		for _, one := range r.Tests[0].Runs {
			t.Logf("CPU %s: %v in %v, %d ticks", cpus, one.CPUTime, one.WallTime, one.Evidence.Interrupts["LOC"])
			ticks[cpus] += one.Evidence.Interrupts["LOC"]
		}
		if least, limit := time.Duration(r.Tests[0].Timing.Min), 300*time.Millisecond; least <= limit {
			t.Errorf("killed after %v on CPU %s, before the limit of %v", least, cpus, limit)
		}
	}
	if ticks["2"]*5 > ticks["1"] {
		t.Errorf("%d ticks on the nohz_full core, %d on the other", ticks["2"], ticks["1"])
	}
}

func TestIsolatedForkBomb(t *testing.T) {
	r := run(t, api.TimeLimit, "--processes", "40", "--time-limit", "10s", "--policy", "single", programs+"bomb", "30")
	// All processes except the first have written one byte, and none has exited.
	if got := *r.Tests[0].Output; got != 39 {
		t.Errorf("%d processes came into being, want 39", got)
	}
}

type sample struct {
	Name, Source, Problem string
	Arch                  string // the only architecture it is for, "" for all
	Static                bool
	CPUs                  int
	Checker               string
	Limits                api.Limits
	Repeats               api.Repeats
	Verdict               api.Verdict
	Exit                  *api.Exit
	MemoryPeak            *struct{ Min, Max units.Bytes } `json:"memory_peak_bytes"`
}

// relax extends time limits that do not determine the verdict, because the guest's CPUs are threads of a busy
// host.
func (s sample) relax() api.Limits {
	l := s.Limits
	switch s.Verdict {
	case api.TimeLimit:
		l.WallTimeMS *= 10
	case api.WallTimeLimit:
		l.CPUTimeMS *= 10
	case api.IdlenessLimit:
		l.WallTimeMS *= 4
	default:
		l.CPUTimeMS *= 10
		l.WallTimeMS *= 10
	}
	return l
}

// outcome is the part of a result that a sample determines.
type outcome struct {
	Verdict  api.Verdict
	Exit     *api.Exit
	PeakKept bool // within its bounds, if it has any
}

// TestQueueVerdicts judges all static samples with a daemon of two slots, all jobs at once.
func TestQueueVerdicts(t *testing.T) {
	before := look(t)
	d := serve(t, "--cpu-list", "2-3", "--data-dir", t.TempDir())
	if diff := cmp.Diff(map[string]int{"2": 1, "3": 1}, d.nodes(t)); diff != "" {
		t.Errorf("slots and their nodes (-want +got):\n%s", diff)
	}
	if got := d.allowed(t); got != "0-1" {
		t.Errorf("the daemon may run on CPUs %s, want 0-1", got)
	}
	d.checkPlacement(t)
	list := readSamples(t)
	want, got, places := map[string]outcome{}, map[string]outcome{}, map[string]int{}
	ids := map[string]string{}
	for _, s := range list {
		r, err := d.Submit(t.Context(), "", s.job(t, d))
		if err != nil {
			t.Fatalf("submit %s: %v", s.Name, err)
		}
		want[s.Name], ids[s.Name] = outcome{s.Verdict, s.Exit, true}, r.ID
	}
	for _, s := range list {
		r, err := d.Wait(t.Context(), ids[s.Name])
		if err != nil {
			t.Fatal(err)
		}
		o := outcome{Verdict: r.Verdict, PeakKept: true}
		if s.Exit != nil {
			o.Exit = deciding(r).Exit
		}
		if s.MemoryPeak != nil {
			o.PeakKept = r.MemoryPeak != nil && *r.MemoryPeak >= s.MemoryPeak.Min && *r.MemoryPeak <= s.MemoryPeak.Max
		}
		got[s.Name] = o
		for _, test := range r.Tests {
			for _, one := range test.Runs {
				places[one.CPUs]++
			}
		}
		if !cmp.Equal(want[s.Name], o) {
			report, err := json.Marshal(r)
			t.Logf("%s: %s %v", s.Name, report, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d samples (-want +got):\n%s", len(list), diff)
	}
	t.Logf("%d samples judged; runs by slot: %v", len(list), places)
	if len(places) != 2 || places["2"] == 0 || places["3"] == 0 {
		t.Errorf("runs by slot: %v, want some on 2 and some on 3", places)
	}
	d.stop(t)
	before.compare(t)
}

// deciding returns the test that determines the verdict of the job.
func deciding(r api.Report) api.TestReport {
	for _, test := range r.Tests {
		if test.Verdict == r.Verdict {
			return test
		}
	}
	return api.TestReport{}
}

// readSamples returns the samples that a guest without libraries can run, on slots with one CPU.
func readSamples(t *testing.T) []sample {
	t.Helper()
	text, err := os.ReadFile("/data/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Samples []sample }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var static []sample
	for _, s := range all.Samples {
		if s.Static && s.CPUs < 2 && (s.Arch == "" || s.Arch == runtime.GOARCH) {
			static = append(static, s)
		}
	}
	if len(static) < 40 {
		t.Fatalf("%d static samples, want most of %d", len(static), len(all.Samples))
	}
	return static
}

func (s sample) job(t *testing.T, d *daemon) api.Job {
	t.Helper()
	put := func(path string) *api.File {
		digest, err := d.PutBlobFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return &api.File{Blob: digest}
	}
	set, err := problem.OpenTests(t.Context(), "/data/"+s.Problem, false)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	j := api.Job{Program: *put("/data/" + strings.TrimSuffix(s.Source, filepath.Ext(s.Source))),
		Checker: &api.Checker{Kind: s.Checker}, Limits: s.relax(), Repeats: s.Repeats, CPUs: 1}
	for _, test := range set.Tests {
		j.Tests = append(j.Tests, api.Test{Name: test.Name, Input: put(test.Input), Answer: put(test.Answer)})
	}
	return j
}

// TestQueueSubmit submits from several processes at once, and drains the daemon while both slots are busy:
// running jobs are finished, waiting jobs are judged by the next daemon, and no job is lost.
func TestQueueSubmit(t *testing.T) {
	before := look(t)
	data := t.TempDir()
	d := serve(t, "--cpu-list", "2-3", "--data-dir", data)
	// They sleep, because CPUs that spin would leave the daemon too little of the single emulating thread.
	sleeping := d.submitAll(t, 2, "--wall-limit", "15s", "--policy", "single", samples+"sum/ILE-pause")
	testkit.WaitFor(t, patience, "both slots to be busy", func() bool {
		list, err := d.Slots(t.Context())
		return err == nil && len(list) == 2 && list[0].State == slots.Busy && list[1].State == slots.Busy
	})
	waiting := d.submitAll(t, 4, "--time-limit", "20s", "--head", "4KiB", programs+"where", "20000")
	d.stop(t)
	before.compare(t)

	d = serve(t, "--cpu-list", "2-3", "--data-dir", data)
	places := map[string]int{}
	for _, id := range sleeping {
		r, err := d.Job(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != api.Done || r.Verdict != api.IdlenessLimit || r.Attempt != 1 {
			t.Errorf("a job that ran when the daemon was drained: %s %s, attempt %d; want it done, ILE, attempt 1",
				r.State, r.Verdict, r.Attempt)
			continue
		}
		places[r.Tests[0].Runs[0].CPUs]++
	}
	if diff := cmp.Diff(map[string]int{"2": 1, "3": 1}, places); diff != "" {
		t.Errorf("runs by slot (-want +got):\n%s", diff)
	}
	for _, id := range waiting {
		r, err := d.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != api.Accepted {
			t.Errorf("a job that waited when the daemon was drained: %s, want AC", r.Verdict)
			continue
		}
		one := r.Tests[0].Runs[0]
		if cpus := field(*r.Tests[0].StdoutHead, "Cpus_allowed_list"); cpus != one.CPUs {
			t.Errorf("a run could use CPUs %s, its report says %s", cpus, one.CPUs)
		}
	}
	d.stop(t)
	before.compare(t)
}
