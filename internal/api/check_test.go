package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"judged/internal/base/units"
)

// judgedJob returns a job with two tests that run in natural order; grouped returns one with four.
func judgedJob() Job {
	return Job{Language: "c", Tests: []Test{{Name: "10"}, {Name: "2"}}, Head: 100, Passes: 2,
		Repeats: Repeats{Min: 1, Max: 3}, Interactor: &Interactor{Kind: "cms", Instances: 2}, Transcript: true}
}

func groupedJob() Job {
	test := func(name string) Member { return Member{Test: name} }
	second := &Group{Name: "second", Members: []Member{test("c"), test("a")}}
	return Job{Tests: []Test{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Scheme: &Scheme{Scoring: true, Root: &Group{Members: []Member{{Group: second}, test("b")}}}}
}

// full returns a report of judgedJob with all members set.
func full() Report {
	now, size := time.Second, units.Bytes(1<<20)
	instance := InstanceReport{CPUTime: now, WallTime: now, MemoryPeak: &size, Output: size,
		Exit: &Exit{Signal: "SIGKILL"}}
	run := Run{CPUTime: now, WallTime: now, UserTime: &now, SystemTime: &now, MemoryPeak: &size, CPUs: "2-3", Kept: true,
		Disturbed: []Cause{CauseWait}, Explained: Explained{Causes: []Explanation{{Cause: CauseSteal}}},
		Evidence: Evidence{Interrupts: map[string]int64{"LOC": 3}}, Instances: []InstanceReport{instance, instance}}
	timing := &Timing{N: 3, Statistic: "second_min", Limit: now, MarginRatio: -0.1, Policy: Confirm, DecidedBy: "quorum",
		Confidence: "stable"}
	test := TestReport{Name: "2", Verdict: Accepted, Score: new(0.5), CPUTime: &now, UserTime: &now, SystemTime: &now,
		WallTime: &now, MemoryPeak: &size, Output: &size, Exit: &Exit{Code: new(255)},
		Checker:    &CheckReport{Verdict: Accepted, Message: "ok", FirstExit: ExitProgram},
		StdoutHead: new(strings.Repeat("\ufffd", 100)), StderrHead: new(""),
		Transcript: &Transcript{Lines: []TranscriptLine{{From: ExitInteractor, Text: "?"}}},
		Instances:  []InstanceReport{instance, instance}, Timing: timing, Runs: []Run{run, run, run}, Pass: 2,
		Passes: []PassReport{{Verdict: Accepted, CPUTime: &now, Timing: timing, Runs: []Run{run}}, {Verdict: Accepted}}}
	return Report{Verdict: WrongAnswer, Score: new(0.25), CPUTime: &now, WallTime: &now, MemoryPeak: &size,
		Compilation: &Compilation{Language: "c", Output: "warning:\n\x1b[1m"},
		Tests:       []TestReport{test, {Name: "10", Verdict: WrongAnswer}},
		Host: &HostReport{Name: "h", Kernel: "6.1.0-18-amd64", CPUModel: "Intel(R) Xeon(R)", Isolation: "none",
			Turbo: "off", Doctor: &DoctorHost{Failed: []string{"isolation.cpus"}}}}
}

// TestCheckReport checks the full report with one change per case. The front also checks the reports in the daemon's
// tests.
func TestCheckReport(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	first := func(f func(*TestReport)) func(*Report) { return func(r *Report) { f(&r.Tests[0]) } }
	run := func(f func(*Run)) func(*Report) { return func(r *Report) { f(&r.Tests[0].Runs[0]) } }
	for name, tt := range map[string]struct {
		change func(*Report)
		want   string // start of the error, "" for none
	}{
		"as it is":                 {func(*Report) {}, ""},
		"IE without a test":        {func(r *Report) { *r = Report{}; r.Fail(JudgedFault, "no memory") }, ""},
		"IE of the version before": {func(r *Report) { *r = Report{Verdict: InternalError} }, ""},
		"IE in the second test":    {func(r *Report) { r.Verdict, r.Tests = InternalError, r.Tests[:1] }, ""},
		"CE":                       {func(r *Report) { r.Verdict = CompileError; skip(r) }, ""},
		"no heads":                 {first(func(t *TestReport) { t.StdoutHead = nil }), ""},
		"no verdict":               {func(r *Report) { r.Verdict = "" }, "verdict: "},
		"markup as verdict": {func(r *Report) { r.Verdict = "<script>" },
			"verdict: unexpected verdict \"<script>\""},
		"a long verdict":            {func(r *Report) { r.Verdict = Verdict(long) }, "verdict: "},
		"skipped":                   {func(r *Report) { r.Verdict = Skipped }, "verdict: "},
		"cancelled":                 {func(r *Report) { r.Verdict = Cancelled }, "verdict: "},
		"fault of a verdict":        {func(r *Report) { r.Fault = HostFault }, "fault: "},
		"unknown fault":             {func(r *Report) { r.Verdict, r.Fault = InternalError, "me" }, "fault: "},
		"long message":              {func(r *Report) { r.Message = long }, "message: 20971520 bytes"},
		"long output of a compiler": {func(r *Report) { r.Compilation.Output = long }, "compilation.output: "},
		"language with markup": {func(r *Report) { r.Compilation.Language = "\x00" },
			"compilation.language: "},
		"accepted without tests": {func(r *Report) { r.Verdict, r.Tests = Accepted, nil }, "tests: 0 of 2"},
		"accepted without one": {func(r *Report) { r.Verdict, r.Tests = Accepted, r.Tests[:1] },
			"tests: 1 of 2"},
		"accepted with a failure": {func(r *Report) { r.Verdict = Accepted }, "verdict: AC, and WA by the tests"},
		"accepted without a run": {func(r *Report) { r.Verdict = Accepted; skip(r) },
			"verdict: AC, and no test failed"},
		"failed without a failure": {func(r *Report) { r.Tests[1].Verdict = Accepted },
			"verdict: WA, and no test failed"},
		"another failure": {func(r *Report) { r.Verdict = TimeLimit }, "verdict: TLE, and WA"},
		"too many tests": {func(r *Report) { r.Tests = make([]TestReport, 20_000) },
			"tests[0]: no test"},
		"a test twice": {func(r *Report) { r.Tests[1].Name = "2" },
			"tests[1]: test \"2\" is out of order"},
		"another order": {func(r *Report) { r.Tests[0], r.Tests[1] = r.Tests[1], r.Tests[0] },
			"tests[1]: test \"2\""},
		"another test": {first(func(t *TestReport) { t.Name = long }), "tests[0]: no test"},
		"groups without a scheme": {func(r *Report) { r.Groups = []GroupReport{{Verdict: Accepted}} },
			"groups[0]: "},
		"endless score": {func(r *Report) { r.Score = new(math.Inf(1)) }, "score: "},
		"no number as score": {first(func(t *TestReport) { t.Score = new(math.NaN()) }),
			"tests[0].score: "},
		"negative CPU time": {func(r *Report) { r.CPUTime = new(-time.Second) }, "cpu_time_ns: "},
		"a year of wall time": {first(func(t *TestReport) { t.WallTime = new(365 * 24 * time.Hour) }),
			"tests[0].wall"},
		"negative memory": {first(func(t *TestReport) { t.MemoryPeak = new(units.Bytes(-1)) }),
			"tests[0].memory"},
		"verdict of a test": {first(func(t *TestReport) { t.Verdict = "XX" }), "tests[0].verdict: "},
		"cancelled test":    {first(func(t *TestReport) { t.Verdict = Cancelled }), "tests[0].verdict: "},
		"fault of a test":   {first(func(t *TestReport) { t.Fault = JuryFault }), "tests[0].fault: "},
		"message of a test": {first(func(t *TestReport) { t.Message = long }), "tests[0].message: "},
		"exit code": {first(func(t *TestReport) { t.Exit.Code = new(256) }),
			"tests[0].exit.code: "},
		"signal": {first(func(t *TestReport) { t.Exit.Signal = long }),
			"tests[0].exit.signal: "},
		"head": {first(func(t *TestReport) { t.StderrHead = &long }),
			"tests[0].stderr_head: "},
		"message of a checker": {first(func(t *TestReport) { t.Checker.Message = long }),
			"tests[0].checker.message: "},
		"message for a team": {first(func(t *TestReport) { t.Checker.TeamMessage = long }),
			"tests[0].checker.team"},
		"stderr of a checker": {first(func(t *TestReport) { t.Checker.Stderr = long }),
			"tests[0].checker.stderr: "},
		"verdict of a checker": {first(func(t *TestReport) { t.Checker.Verdict = "<b>" }),
			"tests[0].checker.verdict: "},
		"who exited first": {first(func(t *TestReport) { t.Checker.FirstExit = "<b>" }),
			"tests[0].checker.first"},
		"lines of a transcript": {first(func(t *TestReport) { t.Transcript.Lines = make([]TranscriptLine, 20_000) }),
			"tests[0].tr"},
		"text of a transcript": {first(func(t *TestReport) { t.Transcript.Lines[0].Text = long }),
			"tests[0].transcript: "},
		"instances": {first(func(t *TestReport) { t.Instances = make([]InstanceReport, 3) }),
			"tests[0].instances: 3"},
		"time of an instance": {first(func(t *TestReport) { t.Instances[1].CPUTime = -1 }),
			"tests[0].instances.cpu"},
		"passes": {first(func(t *TestReport) { t.Passes = make([]PassReport, 3) }),
			"tests[0].passes: "},
		"pass that is not there": {first(func(t *TestReport) { t.Pass = 3 }), "tests[0].passes: "},
		"verdict of a pass": {first(func(t *TestReport) { t.Passes[1].Verdict = "<b>" }),
			"tests[0].passes[1].verdict: "},
		"CPUs with an escape sequence": {run(func(r *Run) { r.CPUs = "2\x1b[2J" }), "tests[0].runs[0].cpus: "},
		"CPUs of a run without a list": {run(func(r *Run) { r.CPUs = "" }), ""},
		"runs of a pass": {first(func(t *TestReport) { t.Passes[0].Runs = make([]Run, 1000) }),
			"tests[0].passes[0].runs: "},
		"timing of a pass": {first(func(t *TestReport) { t.Passes[0].Timing.N = -1 }),
			"tests[0].timing.n: "},
		"who decided": {first(func(t *TestReport) { t.Timing.DecidedBy = "<b>" }),
			"tests[0].timing.decided_by: "},
		"a long word":    {first(func(t *TestReport) { t.Timing.Statistic = long }), "tests[0].timing.statistic: "},
		"negative limit": {first(func(t *TestReport) { t.Timing.Limit = -1 }), "tests[0].timing.min_ns"},
		"runs": {first(func(t *TestReport) { t.Runs = make([]Run, 1000) }),
			"tests[0].runs: 1000, want at most 203"},
		"time of a run": {run(func(r *Run) { r.CPUTime = math.MaxInt64 }),
			"tests[0].runs[0].cpu_time_ns: "},
		"CPUs of a run": {run(func(r *Run) { r.CPUs = long }), "tests[0].runs[0].cpus: "},
		"causes of a run": {run(func(r *Run) { r.Disturbed = make([]Cause, 5000) }),
			"tests[0].runs[0].disturbed"},
		"a cause of a run": {run(func(r *Run) { r.Disturbed[0] = "<b>" }), "tests[0].runs[0].disturbed: "},
		"an explanation": {run(func(r *Run) { r.Explained.Causes[0].Cause = "<b>" }),
			"tests[0].runs[0].explained: "},
		"interrupts": {run(func(r *Run) { r.Evidence.Interrupts[long] = 1 }),
			"tests[0].runs[0].interrupts: "},
		"instance of a run": {run(func(r *Run) { r.Instances[0].WallTime = -1 }),
			"tests[0].runs[0].instances.wall"},
		"name of the host":       {func(r *Report) { r.Host.Name = long }, "host.name: "},
		"kernel":                 {func(r *Report) { r.Host.Kernel = "\x1b[2J" }, "host.kernel: "},
		"model that is not text": {func(r *Report) { r.Host.CPUModel = "\xff" }, "host.cpu_model: "},
		"checks of doctor": {func(r *Report) { r.Host.Doctor.Failed = make([]string, 5000) },
			"host.doctor.failed: "},
		"a check of doctor": {func(r *Report) { r.Host.Doctor.Failed[0] = long }, "host.doctor.failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := full()
			tt.change(&r)
			err := judgedJob().CheckReport(r)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func skip(r *Report) {
	for i := range r.Tests {
		r.Tests[i] = TestReport{Name: r.Tests[i].Name, Verdict: Skipped}
	}
}

// TestCheckReportOfAnotherJob checks that a report cannot contain anything that its job does not ask for.
func TestCheckReportOfAnotherJob(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"no heads":      {func(j *Job) { j.Head = 0 }, "tests[0].stdout_head: "},
		"no transcript": {func(j *Job) { j.Transcript = false }, "tests[0].transcript: "},
		"one instance":  {func(j *Job) { j.Interactor.Instances = 0 }, "tests[0].instances: "},
		"no interactor": {func(j *Job) { j.Interactor = nil }, "tests[0].instances: "},
		"one pass":      {func(j *Job) { j.Passes = 0 }, "tests[0].passes: "},
		"other tests":   {func(j *Job) { j.Tests = []Test{{Name: "x"}} }, "tests[0]: no test"},
	} {
		j := judgedJob()
		tt.change(&j)
		if err := j.CheckReport(full()); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
	ce := full()
	ce.Verdict, ce.Compilation = CompileError, nil
	skip(&ce)
	j := judgedJob()
	j.Language = ""
	if err := j.CheckReport(ce); err == nil {
		t.Error("a program that is executed as it is does not compile")
	}
}

// TestCheckReportOfGroups checks that the order and the groups are those of the scheme.
func TestCheckReportOfGroups(t *testing.T) {
	of := func(v Verdict, names ...string) Report {
		r := Report{Verdict: v, Groups: []GroupReport{{Verdict: v}, {Name: "second", Verdict: Skipped}}}
		for _, name := range names {
			r.Tests = append(r.Tests, TestReport{Name: name, Verdict: Accepted})
		}
		return r
	}
	if err := groupedJob().CheckReport(of(Partial, "c", "a", "b")); err != nil {
		t.Error(err)
	}
	twice := of(Partial, "c", "a", "b")
	twice.Groups = append(twice.Groups, GroupReport{Name: "second", Verdict: Accepted})
	for _, r := range []Report{of(Partial, "a", "b", "c"), of(Accepted, "c", "a"), of(Accepted), twice} {
		if err := groupedJob().CheckReport(r); err == nil {
			t.Errorf("no error of %+v", r)
		}
	}
}

// TestCheckReportNeedsTests: also where groups decide, a verdict about the program comes from tests that were run.
func TestCheckReportNeedsTests(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verdict Verdict
		tests   [3]Verdict // of c, a and b, in this order
		never   bool       // the stop rule
		custom  bool       // a grader decides about the group of c and a
		want    string     // start of the error, "" for none
	}{
		{"all run", Accepted, [3]Verdict{Accepted, Accepted, Accepted}, false, false, ""},
		{"a part of the points", Partial, [3]Verdict{Accepted, Partial, Accepted}, false, false, ""},
		{"nothing run", Accepted, [3]Verdict{Skipped, Skipped, Skipped}, false, false, `verdict: AC, but test "c" was not run`},
		{"one not run", Accepted, [3]Verdict{Accepted, Skipped, Accepted}, false, false, `verdict: AC, but test "a" was not`},
		{"accepted with a failure", Accepted, [3]Verdict{Accepted, WrongAnswer, Skipped}, false, false,
			"verdict: AC, and WA by the groups"},
		{"failed", WrongAnswer, [3]Verdict{WrongAnswer, Skipped, Skipped}, false, false, ""},
		{"failed, and not stopped", WrongAnswer, [3]Verdict{WrongAnswer, Skipped, Skipped}, true, false,
			`verdict: WA, but test "a" was not run`},
		{"failed without a failure", TimeLimit, [3]Verdict{Accepted, Accepted, Accepted}, false, false,
			"verdict: TLE, and AC by the groups"},
		{"accepted by a grader", Accepted, [3]Verdict{WrongAnswer, Skipped, Accepted}, false, true, ""},
		{"a grader of nothing", Accepted, [3]Verdict{Skipped, Skipped, Accepted}, false, true, `verdict: AC, but test "c"`},
		{"at fault", InternalError, [3]Verdict{Skipped, Skipped, Skipped}, false, false, ""},
	} {
		job := groupedJob()
		if tt.never {
			job.Stop = StopNever
		}
		if tt.custom {
			job.Scheme.Grader = &Grader{}
			job.Scheme.Root.Members[0].Group.Aggregation = Custom
		}
		r := Report{Verdict: tt.verdict}
		for i, name := range []string{"c", "a", "b"} {
			r.Tests = append(r.Tests, TestReport{Name: name, Verdict: tt.tests[i], Score: new(0.0)})
		}
		err := job.CheckReport(r)
		if said := fmt.Sprint(err); (err != nil) != (tt.want != "") || err != nil && !strings.HasPrefix(said, tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		for _, x := range r.Tests {
			if *x.Score != 0 {
				t.Errorf("%s: the check changed the report", tt.name)
			}
		}
	}
}

func TestCheckTest(t *testing.T) {
	report := full().Tests[0].WithoutRuns()
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: false, math.MaxInt: false} {
		if err := judgedJob().CheckTest(n, report); (err == nil) != ok {
			t.Errorf("test %d: %v, want none: %v", n, err, ok)
		}
	}
	report.Name = "3"
	if err := judgedJob().CheckTest(1, report); err == nil {
		t.Error("no error of a test that the job does not have")
	}
}

// FuzzCheckReport checks that no report crashes the check, and that the size of an accepted report's encoding is
// limited by its job.
func FuzzCheckReport(f *testing.F) {
	whole, err := json.Marshal(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"verdict": "IE", "fault": "judged", "message": "refused"}`))
	f.Add([]byte(`{"verdict": "AC", "tests": [{"name": "2", "passes": [{}], "pass": -1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Report
		if json.Unmarshal(data, &r) != nil {
			return
		}
		for _, j := range []Job{judgedJob(), groupedJob(), {}} {
			if j.CheckReport(r) != nil {
				continue
			}
			if len(r.Tests) > len(j.Tests) || r.Verdict == "" || strings.ContainsAny(string(r.Verdict), "<>\"") {
				t.Errorf("a report with %d tests and verdict %q passes", len(r.Tests), r.Verdict)
			}
			if encoded, err := json.Marshal(r); err != nil {
				t.Errorf("a report without JSON passes: %v", err)
			} else if most := (len(j.Tests) + 1) * 16 << 20; len(encoded) > most {
				t.Errorf("a report of %d bytes passes", len(encoded))
			}
			for i, test := range r.Tests {
				if err := j.CheckTest(i+1, test); err != nil {
					t.Errorf("the report passes, its test %d does not: %v", i, err)
				}
			}
		}
	})
}
