package api

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Limits of the values in a report. Reports of judged are far within them.
const (
	maxText  = 256 << 10           // bytes of a message
	maxLabel = 256                 // bytes of a name of the host
	maxWord  = 32                  // bytes of a word from a closed set
	maxCPUs  = 4 << 10             // bytes of a kernel list
	maxTime  = 30 * 24 * time.Hour // of any time
	maxBytes = 1 << 50
	maxLines = 10_000 // of a transcript
	maxRows  = 1_000  // of a table of counters, or of a list of doctor
	// moreRuns is the maximum number of runs of a test in addition to those that it asks for: required by the rule, and
	// discarded ones.
	moreRuns = 200
	// replacement is the number of bytes in a report for a byte that is not UTF-8.
	replacement = 3
)

// TestOrder returns the tests in the order in which they run, which is also the order in a report: that of the scheme,
// otherwise by name.
func (j Job) TestOrder() []string {
	if j.Scheme != nil {
		return j.Scheme.Tests()
	}
	var names []string
	for _, t := range j.Tests {
		names = append(names, t.Name)
	}
	slices.SortStableFunc(names, text.Natural)
	return names
}

// CheckReport returns the reason why a report cannot be one of the job, or nil. A judge node runs hostile programs, and
// its report is stored, shown and compared by others. Audits check times, verdicts and texts that are within these
// limits.
func (j Job) CheckReport(r Report) error {
	c := checkOf(j)
	c.verdict("verdict", r.Verdict, false)
	c.fault("fault", r.Fault, r.Verdict)
	c.that(r.Verdict != CompileError || j.Language != "", "verdict", "CE of a job without a language")
	c.score("score", r.Score)
	c.text("message", r.Message)
	c.times("", r.CPUTime, r.WallTime)
	c.bytes("memory_peak_bytes", r.MemoryPeak)
	if b := r.Compilation; b != nil {
		c.text("compilation.output", b.Output)
		c.label("compilation.program", b.Program)
		c.label("compilation.language", b.Language)
	}
	c.groups(r.Groups)
	c.tests(r.Tests)
	c.outputs(r)
	c.completes(r)
	if r.Host != nil {
		c.host(*r.Host)
	}
	return c.err
}

// CheckTest returns the reason why a report cannot be that of the n-th test, counted from 1, that a run of the job has
// decided, or nil.
func (j Job) CheckTest(n int, t TestReport) error {
	c := checkOf(j)
	c.that(1 <= n && n <= len(j.Tests), "n", "%d of %d tests", n, len(j.Tests))
	known := slices.ContainsFunc(j.Tests, func(other Test) bool { return other.Name == t.Name })
	c.that(known, "test", "no test %s in the job", quoted(t.Name))
	if c.err == nil { // avoids sorting all names for each test
		c.test("test.", t)
	}
	return c.err
}

// check records the first error.
type check struct {
	job Job
	err error
}

func checkOf(j Job) *check { return &check{job: j} }

func (c *check) that(ok bool, member, finding string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("%s: "+finding, append([]any{member}, args...)...)
	}
}

// quoted returns the quoted start of a text that may be long.
func quoted[T ~string](s T) string { return fmt.Sprintf("%q", s[:min(len(s), maxWord)]) }

func (v Verdict) known() bool {
	return slices.ContainsFunc(Verdicts(), func(m Meaning) bool { return m.Word == string(v) })
}

// verdict accepts the verdicts of a test, or those that end a job.
func (c *check) verdict(member string, v Verdict, test bool) {
	c.that(v.known() && v != Cancelled && (test || v != Skipped), member, "unexpected verdict %s", quoted(v))
}

// fault accepts a missing fault, because reports of the previous version lack it.
func (c *check) fault(member string, f Fault, v Verdict) {
	c.that(f == "" || v == InternalError && slices.Contains(AllFaults(), f), member, "unexpected fault %s", quoted(f))
}

// score accepts any number, regardless of the points of the problem: Kattis allows negative ones, and groups without a
// maximum.
func (c *check) score(member string, s *float64) {
	c.that(s == nil || !math.IsNaN(*s) && !math.IsInf(*s, 0), member, "not a number")
}

func (c *check) text(member, s string) {
	c.that(len(s) <= maxText, member, "%d bytes, want at most %d", len(s), maxText)
}

// label accepts a short text without control characters.
func (c *check) label(member, s string) {
	ok := len(s) <= maxLabel && utf8.ValidString(s)
	for _, r := range s[:min(len(s), maxLabel)] {
		ok = ok && !unicode.IsControl(r)
	}
	c.that(ok, member, "%s of %d bytes, want at most %d without control characters", quoted(s), len(s), maxLabel)
}

// word accepts a word from a closed set, which a newer version may have extended.
func (c *check) word(member, s string) {
	ok := len(s) <= maxWord
	for i := range min(len(s), maxWord) {
		b := s[i]
		ok = ok && ('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '+')
	}
	c.that(ok, member, "%s is not a word", quoted(s))
}

func (c *check) duration(member string, d time.Duration) {
	c.that(0 <= d && d <= maxTime, member, "%d ns is out of range", int64(d))
}

func (c *check) times(prefix string, all ...*time.Duration) {
	for i, d := range all {
		if d != nil {
			c.duration(prefix+[]string{"cpu_time_ns", "wall_time_ns", "user_time_ns", "system_time_ns"}[i], *d)
		}
	}
}

func (c *check) bytes(member string, b *units.Bytes) {
	c.that(b == nil || 0 <= *b && *b <= maxBytes, member, "out of range")
}

// groups accepts a subset of the scheme's groups.
func (c *check) groups(groups []GroupReport) {
	known := map[string]bool{}
	if c.job.Scheme != nil {
		c.job.Scheme.walkGroups(func(g *Group) { known[g.Name] = true })
	}
	for i, g := range groups {
		member := fmt.Sprintf("groups[%d]", i)
		c.that(known[g.Name], member, "no other group %s in the problem", quoted(g.Name))
		delete(known, g.Name)
		c.verdict(member, g.Verdict, true)
		c.score(member, g.Score)
		c.score(member, g.MaxScore)
	}
}

// tests accepts a subset of the job's tests, in order.
func (c *check) tests(tests []TestReport) {
	place := map[string]int{}
	for i, name := range c.job.TestOrder() {
		place[name] = i + 1
	}
	last := 0
	for i, t := range tests {
		member := fmt.Sprintf("tests[%d]", i)
		at := place[t.Name]
		c.that(at > 0, member, "no test %s in the job", quoted(t.Name))
		c.that(at > last, member, "test %s is out of order", quoted(t.Name))
		if c.err != nil {
			return // stops here even for 20,000 tests
		}
		last = at
		c.test(member+".", t)
	}
}

// completes compares the verdict with those of the tests. A verdict about the program requires all of them.
func (c *check) completes(r Report) {
	if r.Verdict == InternalError || r.Verdict == CompileError {
		return
	}
	c.that(len(r.Tests) == len(c.job.Tests), "tests", "%d of %d with verdict %s", len(r.Tests), len(c.job.Tests),
		r.Verdict)
	if c.err != nil {
		return
	}
	if c.job.Scheme != nil {
		c.grouped(r)
		return
	}
	first := slices.IndexFunc(r.Tests, func(t TestReport) bool { return t.Verdict.Failed() })
	if first >= 0 {
		want := r.Tests[first].Verdict
		c.that(r.Verdict == want, "verdict", "%s, and %s by the tests", r.Verdict, want)
		return
	}
	skipped := slices.ContainsFunc(r.Tests, func(t TestReport) bool { return t.Verdict == Skipped })
	c.that(!r.Verdict.Failed() && !skipped, "verdict", "%s, and no test failed, but some may be skipped", r.Verdict)
}

// grouped is completes for a job with groups. Where a grader decides, it only checks that the tests were run.
func (c *check) grouped(r Report) {
	if c.job.Scheme.Grader != nil {
		_, err := c.job.Scheme.evaluate(r.Tests, c.job.Stop, nil)
		c.that(err == nil, "verdict", "%s, but %v", r.Verdict, err)
		return
	}
	result, err := c.job.Scheme.Result(slices.Clone(r.Tests), c.job.Stop, nil) // which sets scores
	c.that(err == nil, "verdict", "%s, but %v", r.Verdict, err)
	c.that(result.Verdict.Failed() == r.Verdict.Failed(), "verdict", "%s, and %s by the groups", r.Verdict,
		result.Verdict)
}

func (c *check) test(member string, t TestReport) {
	c.verdict(member+"verdict", t.Verdict, true)
	c.fault(member+"fault", t.Fault, t.Verdict)
	c.score(member+"score", t.Score)
	c.text(member+"message", t.Message)
	c.times(member, t.CPUTime, t.WallTime, t.UserTime, t.SystemTime)
	c.bytes(member+"memory_peak_bytes", t.MemoryPeak)
	c.bytes(member+"output_bytes", t.Output)
	c.exit(member, t.Exit)
	c.head(member+"stdout_head", t.StdoutHead)
	c.head(member+"stderr_head", t.StderrHead)
	if k := t.Checker; k != nil {
		c.that(k.Verdict == "" || k.Verdict.known(), member+"checker.verdict", "unknown verdict %s", quoted(k.Verdict))
		c.text(member+"checker.message", k.Message)
		c.text(member+"checker.team_message", k.TeamMessage)
		c.text(member+"checker.stderr", k.Stderr)
		c.word(member+"checker.first_exit", k.FirstExit)
	}
	c.transcript(member+"transcript", t.Transcript)
	c.instances(member, t.Instances)
	c.timing(member+"timing.", t.Timing)
	c.runs(member+"runs", t.Runs)
	c.that(len(t.Passes) <= max(c.job.Passes, 0) && 0 <= t.Pass && t.Pass <= len(t.Passes), member+"passes",
		"pass %d of %d, want at most %d", t.Pass, len(t.Passes), c.job.Passes)
	if c.err != nil {
		return
	}
	for i, p := range t.Passes {
		member := fmt.Sprintf("%spasses[%d].", member, i)
		c.verdict(member+"verdict", p.Verdict, true)
		c.times(member, p.CPUTime, p.WallTime)
		c.bytes(member+"memory_peak_bytes", p.MemoryPeak)
		c.bytes(member+"output_bytes", p.Output)
		c.timing(member+"timing.", p.Timing)
		c.runs(member+"runs", p.Runs)
	}
}

func (c *check) exit(member string, e *Exit) {
	if e == nil {
		return
	}
	c.that(e.Code == nil || 0 <= *e.Code && *e.Code <= math.MaxUint8, member+"exit.code", "out of range")
	c.label(member+"exit.signal", e.Signal)
}

func (c *check) head(member string, head *string) {
	if head != nil {
		most := replacement * int(c.job.Head)
		c.that(len(*head) <= most, member, "%d bytes, want at most %d", len(*head), most)
	}
}

func (c *check) transcript(member string, t *Transcript) {
	if t == nil {
		return
	}
	c.that(c.job.Transcript, member, "the job asks for none")
	c.that(len(t.Lines) <= maxLines, member, "%d lines, want at most %d", len(t.Lines), maxLines)
	c.text(member, t.Note)
	size := 0
	for _, l := range t.Lines {
		size += len(l.Text)
		c.word(member, l.From)
		c.duration(member, l.Time)
	}
	c.that(size <= maxText, member, "%d bytes, want at most %d", size, maxText)
}

func (c *check) instances(member string, all []InstanceReport) {
	most := 0
	if c.job.Interactor != nil {
		most = max(c.job.Interactor.Instances, 1)
	}
	c.that(len(all) <= most, member+"instances", "%d, want at most %d", len(all), most)
	for _, n := range all[:min(len(all), most)] {
		c.times(member+"instances.", &n.CPUTime, &n.WallTime)
		c.bytes(member+"instances.memory_peak_bytes", n.MemoryPeak)
		c.bytes(member+"instances.output_bytes", &n.Output)
		c.exit(member+"instances.", n.Exit)
	}
}

func (c *check) timing(member string, t *Timing) {
	if t == nil {
		return
	}
	c.that(0 <= t.N && t.N <= c.mostRuns(), member+"n", "%d, want at most %d", t.N, c.mostRuns())
	for _, d := range []time.Duration{t.Min, t.Median, t.Max, t.Spread, t.Limit, t.Guard} {
		c.duration(member+"min_ns, median_ns, max_ns, spread_ns, limit_ns, guard_ns", d)
	}
	for name, word := range map[string]string{"statistic": t.Statistic, "policy": string(t.Policy),
		"decided_by": t.DecidedBy, "confidence": string(t.Confidence)} {
		c.word(member+name, word)
	}
	c.score(member+"margin_ratio", &t.MarginRatio)
}

// mostRuns returns the maximum number of runs of a test, or of a pass of one.
func (c *check) mostRuns() int { return max(c.job.Repeats.Max, c.job.Repeats.Min) + moreRuns }

func (c *check) runs(member string, runs []Run) {
	c.that(len(runs) <= c.mostRuns(), member, "%d, want at most %d", len(runs), c.mostRuns())
	if c.err != nil {
		return
	}
	for i, r := range runs {
		member := fmt.Sprintf("%s[%d].", member, i)
		c.times(member, &r.CPUTime, &r.WallTime, r.UserTime, r.SystemTime)
		c.bytes(member+"memory_peak_bytes", r.MemoryPeak)
		if err := checkCPUs(r.CPUs); err != nil {
			c.that(false, member+"cpus", "%s", err)
		}
		for _, rows := range []int{len(r.Disturbed), len(r.Explained.Causes), len(r.Evidence.Interrupts)} {
			c.that(rows <= maxRows, member+"disturbed, explained, interrupts", "%d entries, want at most %d", rows,
				maxRows)
		}
		if c.err != nil {
			return
		}
		for _, cause := range r.Disturbed {
			c.word(member+"disturbed", string(cause))
		}
		for _, x := range r.Explained.Causes {
			c.word(member+"explained", string(x.Cause))
		}
		for name := range r.Evidence.Interrupts {
			c.label(member+"interrupts", name)
		}
		c.instances(member, r.Instances)
	}
}

func (c *check) host(h HostReport) {
	for name, s := range map[string]string{"name": h.Name, "node": h.Node, "pool": h.Pool, "fingerprint": h.Fingerprint,
		"kernel": h.Kernel, "cpu_model": h.CPUModel, "isolation": h.Isolation, "turbo": h.Turbo} {
		c.label("host."+name, s)
	}
	if h.Doctor == nil {
		return
	}
	c.that(len(h.Doctor.Failed) <= maxRows, "host.doctor.failed", "%d entries, want at most %d", len(h.Doctor.Failed),
		maxRows)
	for _, id := range h.Doctor.Failed[:min(len(h.Doctor.Failed), maxRows)] {
		c.label("host.doctor.failed", id)
	}
}
