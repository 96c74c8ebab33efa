package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine/problem"
	"judged/internal/lab/bench"
)

// sampleVerification has an accepted submission, one that is too slow, and one that was not run.
func sampleVerification() verification {
	const t = time.Millisecond
	return verification{Package: "Sum", TimeLimit: 100 * t, rule: problem.TimeRule{Accepted: 2, Rejected: 1.5},
		Submissions: []solution{
			{Name: "fast.c", Verdict: api.Accepted, judged: true, CPUTime: 40 * t, Low: 39 * t, High: 41 * t,
				Tests: []testVerdict{{"1", api.Accepted, []time.Duration{20 * t, 22 * t}},
					{"2", api.Accepted, []time.Duration{39 * t, 41 * t}}}},
			{Name: "slow.c", Verdict: api.TimeLimit, judged: true, CPUTime: 200 * t, Low: 200 * t, High: 200 * t,
				Tests: []testVerdict{{"1", api.TimeLimit, []time.Duration{200 * t}}, {"2", api.Skipped, nil}}},
			{Name: "absent.cs"},
		}}
}

func TestVerifyChart(t *testing.T) {
	r := sampleVerification()
	want := bench.Chart{Title: "Sum", Subtitle: "submissions of the jury, the runs of all tests", Axis: "CPU time, ms",
		Solid: "run", Hollow: "ended at the limit", Tick: "slowest test",
		Marks: []bench.Mark{{Value: 100, Name: "limit 100.0 ms"}, {Value: 50, Name: "accepted"},
			{Value: 150, Name: "too slow"}},
		Lanes: []bench.Lane{
			{Name: "fast.c", Note: "AC, 0.40 of the limit", Interval: &bench.Interval{Low: 39, Center: 40, High: 41},
				Dots: []bench.Dot{{Value: 20, Name: "1"}, {Value: 22, Name: "1"}, {Value: 39, Name: "2"},
					{Value: 41, Name: "2"}}},
			{Name: "slow.c", Note: "TLE, 2.00 of the limit", Interval: &bench.Interval{Low: 200, Center: 200, High: 200},
				Dots: []bench.Dot{{Value: 200, Name: "1", Hollow: true}}},
		}}
	if diff := cmp.Diff(want, r.chart()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestVerifyFiles(t *testing.T) {
	r := sampleVerification()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := makeFolder(dir); err != nil {
		t.Fatal(err)
	}
	if err := r.writeFiles(dir); err != nil {
		t.Fatal(err)
	}
	var got verification
	text, err := os.ReadFile(filepath.Join(dir, "verify.json"))
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || len(got.Submissions) != 3 || len(got.Submissions[0].Tests[1].Runs) != 2 {
		t.Errorf("verify.json has %+v, %v", got, err)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "verify.svg"))
	if err != nil || !strings.Contains(string(picture), "limit 100.0 ms") {
		t.Errorf("the picture has no limit: %v", err)
	}
	if err := makeFolder(filepath.Join(dir, "verify.json", "x")); err == nil {
		t.Error("a folder below a file was made")
	}
}

// TestProposal simulates with the runs of accepted tests that are long enough and have been repeated.
func TestProposal(t *testing.T) {
	const ms = time.Millisecond
	all := []solution{{CPUTime: 100 * ms, Tests: []testVerdict{
		{"long", api.Accepted, []time.Duration{100 * ms, 90 * ms, 110 * ms}},
		{"half", api.Accepted, []time.Duration{50 * ms, 50 * ms}},
		{"short", api.Accepted, []time.Duration{10 * ms, 30 * ms}},
		{"once", api.Accepted, []time.Duration{100 * ms}},
		{"wrong", api.WrongAnswer, []time.Duration{100 * ms, 300 * ms}},
	}}}
	if diff := cmp.Diff([]float64{1, 0.9, 1.1, 1, 1}, relativeTimes(all, 50*ms)); diff != "" {
		t.Errorf("relative times (-want +got)\n%s", diff)
	}
	const spread = ", if runs vary as these 5 did; slower runs than these are at most 60 % of all (95 %)\n"
	for _, tt := range []struct {
		limit      time.Duration
		want, says string
	}{
		{200 * ms, "that need 100.0 ms, 0 are found over the limit" + spread, "200.0 ms is safe: "},
		{80 * ms, "that need 100.0 ms, 100000 are found over the limit" + spread,
			"80.0 ms may be wrong, because 100000 of 100000 "},
	} {
		p := proposal{TimeLimit: tt.limit, Slowest: all[0]}
		p.simulate(config.Default().Repeats, all)
		var b strings.Builder
		if err := p.print(&b); err != nil || !strings.HasSuffix(b.String(), tt.want) ||
			!strings.HasPrefix(b.String(), tt.says) {
			t.Errorf("%v: %q, %v; want %q and %q", tt.limit, b.String(), err, tt.says, tt.want)
		}
	}
	once := proposal{TimeLimit: time.Second, Slowest: all[0]}
	if said := once.summary(); !strings.HasPrefix(said, "1.000 s may be wrong, because each test ran once: ") {
		t.Errorf("without repeats: %q", said)
	}
}
