package bench

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
)

func accepted(cpu time.Duration, runs int) api.TestReport {
	return api.TestReport{Verdict: api.Accepted, CPUTime: &cpu, Runs: make([]api.Run, runs)}
}

func over(cpu time.Duration, runs int) api.TestReport {
	return api.TestReport{Verdict: api.TimeLimit, CPUTime: &cpu, Runs: make([]api.Run, runs)}
}

// TestSettled checks that a verdict is wrong if the program's own time was on the other side of the limit before and
// after it.
func TestSettled(t *testing.T) {
	type ends struct{ either, wrong, uncalibrated bool }
	tests := []struct {
		theta, before, after float64 // own times at a ratio of 1
		report               api.TestReport
		want                 ends
	}{
		{0.98, 1, 1, accepted(1, 1), ends{}},
		{0.98, 1, 1, over(1, 1), ends{wrong: true}},
		{1, 1, 1, accepted(1, 1), ends{either: true}},
		{1, 1, 1, over(1, 1), ends{either: true}},
		{1, 1.02, 1.02, accepted(1, 1), ends{either: true}},
		{1.02, 1, 1, accepted(1, 1), ends{wrong: true}},
		{1.02, 1, 1, over(1, 1), ends{}},
		{0.98, 1, 1.05, over(1, 1), ends{either: true}},
		{0.98, 1.05, 1, accepted(1, 1), ends{either: true}},
		{0.98, 1.04, 1.04, accepted(1, 1), ends{wrong: true}},
		{0.98, 1.04, 1.04, over(1, 1), ends{}},
		{0.9, 0.6, 0.6, accepted(1, 1), ends{uncalibrated: true}}, // right, but trivial
		{0.9, 1, 0.6, accepted(1, 1), ends{}},
		{0.9, 0.6, 1.04, accepted(1, 1), ends{}},
		{0.9, 0.6, 0.6, over(1, 1), ends{wrong: true, uncalibrated: true}},
		{1.02, 1, 0.9, accepted(1, 1), ends{either: true}},
		{1.25, 0.8, 0.8, over(1, 1), ends{wrong: true, uncalibrated: true}}, // a time equal to the limit is within it
	}
	for _, tt := range tests {
		x := exam{Flip: Flip{Theta: tt.theta, OwnBefore: tt.theta * tt.before}, subject: &subject{own: tt.after}}
		if err := x.judged(tt.report); err != nil {
			t.Fatal(err)
		}
		f := x.settled()
		if got := (ends{f.Either, f.Wrong, f.Uncalibrated}); got != tt.want || f.Verdict != tt.report.Verdict {
			t.Errorf("%+v: got %+v", tt, f)
		}
	}
	f := Flip{Program: "p", Theta: 0.9}
	if err := f.judged(api.TestReport{Verdict: api.RuntimeError}); err == nil {
		t.Error("a verdict that is not about time was counted")
	}
}

func sampleFlips(t *testing.T) []Flip {
	t.Helper()
	var flips []Flip
	for _, of := range []struct {
		theta  float64
		load   string
		method string
		report api.TestReport
	}{
		{0.9, "", byFree, over(110, 1)}, {0.9, "", byFree, accepted(90, 1)}, {1, "", byFree, over(101, 1)},
		{1.1, initproc.LoadCPU, byFree, accepted(99, 1)},
		{0.9, "", byJudged, accepted(90, 1)}, {0.9, "", byJudged, accepted(91, 3)}, {1, "", byJudged, accepted(100, 5)},
		{1.1, initproc.LoadCPU, byJudged, over(111, 2)},
	} {
		f := Flip{Round: 1, Program: "cpu-bound", Theta: of.theta, OwnBefore: of.theta, Load: of.load,
			Method: of.method}
		x := exam{Flip: f, subject: &subject{own: 1}}
		if err := x.judged(of.report); err != nil {
			t.Fatal(err)
		}
		flips = append(flips, x.settled())
	}
	return flips
}

func sampleDose() dose {
	return dose{limit: 100, thetas: []float64{0.9, 1, 1.1}, loads: []string{"", initproc.LoadCPU},
		kinds: []string{"cpu-bound"}}
}

func TestFlipTables(t *testing.T) {
	// A verdict on a program that crossed the limit does not count.
	flips := append(sampleFlips(t), Flip{Program: "cpu-bound", Theta: 0.9, Method: byFree, Verdict: api.TimeLimit,
		Runs: 1, Either: true})
	// Nor does one on a program that was far from its intended time.
	for range 9 {
		flips = append(flips, Flip{Program: "cpu-bound", Theta: 0.9, OwnBefore: 0.5, OwnAfter: 0.5, Method: byJudged,
			Verdict: api.Accepted, Runs: 1, Uncalibrated: true})
	}
	want := []Table{
		{"Wrong verdicts at a part of the limit of 100 ns",
			[]string{"PROGRAM", "LOAD", "METHOD", "0.90", "1.00", "1.10", "RUNS"}, [][]string{
				{"cpu-bound", "none", "free", "1 of 2", "1 of 1", "", "1.00"},
				{"cpu-bound", "none", "pinned", "", "", "", ""},
				{"cpu-bound", "none", "judged", "0 of 2", "0 of 1", "", "3.00"},
				{"cpu-bound", "none", "judged-quiet", "", "", "", ""},
				{"cpu-bound", "cpu", "free", "", "", "1 of 1", "1.00"},
				{"cpu-bound", "cpu", "pinned", "", "", "", ""},
				{"cpu-bound", "cpu", "judged", "", "", "0 of 1", "2.00"},
				{"cpu-bound", "cpu", "judged-quiet", "", "", "", ""},
			}},
		{"In sum, without 1.00", []string{"METHOD", "WRONG", "RATE", "WRONG TLE", "WRONG AC", "RUNS"}, [][]string{
			{"free", "2 of 3", "66.7 %", "1 of 2", "1 of 1", "1.00"},
			{"pinned", "", "", "", "", ""},
			{"judged", "0 of 3", "0.0 %", "0 of 2", "0 of 1", "2.00"},
			{"judged-quiet", "", "", "", "", ""},
		}},
	}
	if diff := cmp.Diff(want, []Table{flipTable(flips, sampleDose()), flipSums(flips)}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFlipFiles(t *testing.T) {
	r := ExperimentResult{Flips: sampleFlips(t)[:2]}
	const want = `round,program,limit_ratio,own_before,own_after,load,method,verdict,cpu_time_ns,runs,either,wrong,uncalibrated
1,cpu-bound,0.90,0.9000,0.9000,none,free,TLE,110,1,false,true,false
1,cpu-bound,0.90,0.9000,0.9000,none,free,AC,90,1,false,false,false
`
	var b bytes.Buffer
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	lane := flipChart(ExperimentResult{Flips: sampleFlips(t)}, sampleDose()).Lanes[0]
	if lane.Name != "cpu, none, free" || lane.Note != "wrong: 1 of 2" || len(lane.Dots) != 3 || !lane.Dots[0].Hollow ||
		lane.Dots[1].Hollow {
		t.Errorf("got %+v", lane)
	}
}

func TestUnits(t *testing.T) {
	c := calibration{base: 1e6, unit: 2000}
	for ns, want := range map[float64]int{101e6: 50_000, 100_999_100: 50_000, 0: 1} {
		if got := c.units(ns); got != want {
			t.Errorf("%.0f ns: got %d units, want %d", ns, got, want)
		}
	}
}

// TestSharpened checks that a calibration is corrected until it is exact, and no longer.
func TestSharpened(t *testing.T) {
	const limit = 75e6
	for name, tt := range map[string]struct {
		program calibration // true calibration, times slow after the given number of measurements
		slow    []float64
		tries   int
		exact   bool
	}{
		"right":         {calibration{1e6, 2000}, nil, 0, true},
		"longer":        {calibration{1.2e6, 2400}, []float64{1}, 1, true},
		"another base":  {calibration{31e6, 2000}, []float64{1, 1, 1, 1, 1, 1}, 4, true},
		"it moves once": {calibration{1.2e6, 2400}, []float64{1.1, 1.1}, 2, true},
		"never still":   {calibration{1e6, 2000}, []float64{1, 1.2, 1, 1.2, 1, 1.2}, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &subject{calibration: calibration{base: 1e6, unit: 2000}}
			tries := 0
			look := func(slow float64) {
				s.own = slow * (tt.program.base + tt.program.unit*float64(s.units(limit))) / limit
			}
			look(1)
			if name == "never still" {
				look(1.2)
			}
			err := sharpened(s, func() error {
				look(tt.slow[tries])
				tries++
				return nil
			})
			if err != nil || tries != tt.tries || (math.Abs(s.own-1) <= exact) != tt.exact {
				t.Errorf("after %d looks %.3f of the limit, %v; want %d looks, exact %t", tries, s.own, err, tt.tries,
					tt.exact)
			}
		})
	}
}

// TestUsedBy checks that the median is taken of the runs in which the server reported figures.
func TestUsedBy(t *testing.T) {
	run := func(said string) Run { return Run{Stdout: &said} }
	o := &Outcome{Runs: []Run{
		run(`{"real_s": 3, "user_s": 1, "system_s": 2, "switches": 10}`),
		run(`{"real_s": 5, "user_s": 3, "system_s": 1, "switches": 30}`),
		run(`{"real_s": 4, "user_s": 2, "system_s": 3, "switches": 20}`),
		run(""), {},
	}}
	if diff := cmp.Diff(serverUsed{4, 2, 2, 20}, usedBy(o)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(serverUsed{}, usedBy(nil)); diff != "" {
		t.Errorf("no outcome: -want +got\n%s", diff)
	}
}
