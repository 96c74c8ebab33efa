package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

func TestReport(t *testing.T) {
	timing := func(n int, ratio float64, c api.Confidence) *api.Timing {
		return &api.Timing{N: n, Limit: 2 * time.Second, MarginRatio: ratio, Confidence: c}
	}
	repeated, many := timing(2, 0.99385, api.Noisy), timing(6, 1, api.Stable)
	repeated.Spread, repeated.SpreadRatio = time.Millisecond, new(0.25)
	many.Spread, many.SpreadRatio, many.Interval = time.Millisecond, new(0.25),
		&[2]time.Duration{3 * time.Millisecond, 4 * time.Millisecond}
	r := api.Report{
		State: api.Done, Verdict: api.RuntimeError, CPUTime: new(12300 * time.Microsecond),
		MemoryPeak: new(units.Bytes(1 << 20)), Deterministic: new(false), Score: new(0.5), Message: "a \x1b[31m b",
		Tests: []api.TestReport{
			{Name: "1", Verdict: api.Accepted, CPUTime: new(12300 * time.Microsecond), WallTime: new(2 * time.Second),
				MemoryPeak: new(units.Bytes(1 << 20)), Timing: repeated,
				Runs: []api.Run{{Kept: true, Disturbed: []api.Cause{api.CauseWait, api.CauseIRQ}},
					{Kept: true, Disturbed: []api.Cause{api.CauseWait}}, {}}},
			{Name: "2\n", Verdict: api.RuntimeError, Exit: &api.Exit{Signal: "SIGSEGV"},
				Timing: timing(1, 0.5, api.OneRun),
				Runs:   []api.Run{{Kept: true, Disturbed: []api.Cause{api.CauseIPI}}}},
			{Name: "3", Verdict: api.Skipped},
			{Name: "4", Verdict: api.Accepted, Timing: many},
			{Name: "a-long-name-5", Verdict: api.TimeLimit, CPUTime: new(2100 * time.Millisecond),
				Timing: timing(1, -0.05, api.Noisy),
				Runs: []api.Run{{Kept: true}, {Disturbed: []api.Cause{api.CauseForeign, api.CauseTick}},
					{Disturbed: []api.Cause{api.CauseForeign, api.CauseSteal}}}},
		},
		Host: &api.HostReport{Isolation: "none", Turbo: "unknown", Doctor: &api.DoctorHost{Failed: []string{"a", "b"}}},
	}
	want := `TEST           VERDICT  CPU TIME  LIMIT    MARGIN   WALL TIME  MEMORY   RUNS
1              AC       12.3 ms   2.000 s  99.4 %   2.000 s    1.0 MiB  2 of 3
    time is noisy
    2 of 3 kept
    spread 1.0 ms (25.0 %)
    disturbed by irq 1x, wait 2x
2�             RTE      -         2.000 s  50.0 %   -          -        1
    SIGSEGV
3              SK       -         -        -        -          -        -
4              AC       -         2.000 s  100.0 %  -          -        -
    spread 1.0 ms (25.0 %), median 3.0 ms to 4.0 ms
a-long-name-5  TLE      2.100 s   2.000 s  -5.0 %   -          -        1 of 3
    time is noisy
    1 of 3 kept: 2 had other tasks on the CPU, 1 lost the CPU to the hypervisor
    disturbed by foreign 2x, steal 1x, tick 1x

RTE, score 0.5, CPU time 12.3 ms, memory 1.0 MiB, not deterministic: repeats
  gave different results
a �[31m b
5 of 7 runs were disturbed: foreign 2x, ipi 1x, irq 1x, steal 1x, tick 1x, wait
  2x (see judged help causes)
isolation none, turbo unknown; the host is not fit to judge: a, b (see judged
  doctor)
`
	if diff := cmp.Diff(want, report(text.Screen{Width: text.PageWidth}, r)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestCheckerLines: the lines of what a checker says stay lines.
func TestCheckerLines(t *testing.T) {
	said := &api.CheckReport{Verdict: api.WrongAnswer, Message: "case 2:\n\twant 3\x1b\r\n\tgot 4",
		TeamMessage: "case 2\nsee it"}
	r := api.Report{State: api.Done, Verdict: api.WrongAnswer, Tests: []api.TestReport{
		{Name: "1", Verdict: api.WrongAnswer, Checker: said}}}
	const want = `TEST  VERDICT  CPU TIME  LIMIT  MARGIN  WALL TIME  MEMORY  RUNS
1     WA       -         -      -       -          -       -
    case 2:
        want 3�
        got 4
    for the contestant: case 2
    see it

WA
`
	if diff := cmp.Diff(want, report(text.Screen{}, r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNote(t *testing.T) {
	tests := []struct {
		name string
		in   api.TestReport
		want string
	}{
		{"why it is not executable", api.TestReport{Message: "m", Exit: &api.Exit{Code: new(1)}}, "m"},
		{"rejected before its end", api.TestReport{Verdict: api.WrongAnswer, Exit: &api.Exit{Signal: "SIGKILL"},
			Checker: &api.CheckReport{Verdict: api.WrongAnswer, FirstExit: api.ExitInteractor}},
			"rejected by the interactor before its end"},
		{"killed after it was accepted", api.TestReport{Verdict: api.RuntimeError, Exit: &api.Exit{Signal: "SIGKILL"},
			Checker: &api.CheckReport{Verdict: api.Accepted, FirstExit: api.ExitInteractor}}, "SIGKILL"},
		{"the checker", api.TestReport{Checker: &api.CheckReport{Message: "line 2"}}, "line 2"},
		{"exit code", api.TestReport{Exit: &api.Exit{Code: new(3)}}, "exit 3"},
		{"success", api.TestReport{Exit: &api.Exit{Code: new(0)}, Timing: &api.Timing{Confidence: api.Stable}}, ""},
		{"doubt", api.TestReport{Timing: &api.Timing{Confidence: api.Borderline}}, "time is borderline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Note(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHost(t *testing.T) {
	got := Host(api.HostReport{Isolation: "isolcpus", Turbo: "off", Doctor: &api.DoctorHost{Ready: true}})
	if want := "isolation isolcpus, turbo off; the host is fit to judge"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLine(t *testing.T) {
	var b strings.Builder
	l := Line{W: &b}
	l.Show("%d", 1)
	l.Clear()
	if b.Len() > 0 {
		t.Errorf("a pipe gets %q", &b)
	}
	for line, want := range map[string]string{"": "\r\x1b[K", "1234": "\r\x1b[K1234", "12345": "\r\x1b[K1234",
		"é\n\x1b": "\r\x1b[Ké\ufffd\ufffd"} {
		if got := overwrite(text.Screen{Width: 5}, line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
