package judgehost

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// The results of a run in the protocol.
const (
	resultCorrect     = "correct"
	resultWrong       = "wrong-answer"
	resultNoOutput    = "no-output"
	resultTime        = "timelimit"
	resultRunError    = "run-error"
	resultOutputLimit = "output-limit"
)

// Values that say which time limit a run exceeded.
const (
	softLimit = "soft-timelimit"
	hardLimit = "hard-timelimit"
)

// run is a judged test in the terms of the protocol.
type run struct {
	task        task
	report      api.TestReport
	result      string
	begin, end  time.Time
	inputSize   int64
	interactive bool
}

// limitsOf returns the limits of a task for the engine. The wall time limit is the one at which DOMjudge kills a
// program; overWall handles wall times between the time limit and that one.
func limitsOf(t task, setting string) (api.Limits, error) {
	limit := timeLimit(t)
	over, err := overshoot(limit, setting)
	if err != nil {
		return api.Limits{}, err
	}
	wall := limit + over + time.Duration(float64(t.run.Overshoot)*float64(time.Second))
	if t.compare.Combined {
		wall *= 2 // the interactor may run as long again
	}
	memory := units.Bytes(t.run.Memory) << 10
	return api.Limits{CPUTimeMS: ceilMS(limit), WallTimeMS: ceilMS(wall), Memory: memory,
		Output: units.Bytes(t.run.Output) << 10, Stack: memory, Processes: int(t.run.Processes)}, nil
}

func timeLimit(t task) time.Duration {
	return time.Duration(float64(t.run.TimeLimit) * float64(time.Second))
}

func ceilMS(d time.Duration) int64 {
	return max(1, int64(math.Ceil(float64(d)/float64(time.Millisecond))))
}

// newRun translates the engine's report of a test. The result is empty if the protocol has none for the verdict.
func newRun(t task, report api.TestReport) run {
	r := run{task: t, report: report, interactive: bool(t.compare.Combined)}
	switch report.Verdict {
	case api.Accepted, api.Partial:
		r.result = resultCorrect
	case api.WrongAnswer, api.PresentationError:
		switch {
		case report.Checker != nil && report.Checker.Score != nil:
			r.result = resultCorrect // for a score of 0
		case !r.interactive && r.kept(api.StdoutStream).Bytes == 0:
			r.result = resultNoOutput
		default:
			r.result = resultWrong
		}
	case api.TimeLimit, api.WallTimeLimit, api.IdlenessLimit:
		r.result = resultTime
	case api.OutputLimit:
		r.result = resultOutputLimit
	case api.MemoryLimit, api.RuntimeError, api.SecurityViolation, api.NotExecutable:
		r.result = resultRunError
	}
	return r
}

// kept returns the stored output of a stream. It is empty if the output was not kept, as with an interactor.
func (r run) kept(of api.Stream) api.KeptOutput {
	for _, k := range r.report.Kept {
		if k.Stream == of {
			return k
		}
	}
	return api.KeptOutput{}
}

func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// pass returns the number of the pass that the report and its outputs belong to.
func (r run) pass() int { return max(1, r.report.Pass) }

// outOfTime is the text in the explanation by which the server recognizes a program that was killed.
const outOfTime = "timelimit exceeded (hard %s time)\n"

// stoppedBy returns the kind of time limit for which a program was killed, or "".
func (r run) stoppedBy() string {
	t := r.report
	switch {
	case t.Verdict == api.WallTimeLimit || t.Verdict == api.IdlenessLimit:
		return "wall"
	case r.result == resultTime && t.Exit != nil && t.Exit.Signal != "":
		return "cpu"
	}
	return ""
}

// form returns the result as a form for the server. stored truncates outputs to what the server stores.
func (r run) form(host string, stored func([]byte) []byte) url.Values {
	said := or(r.report.Checker)
	form := url.Values{
		"runresult": {r.result}, "runtime": {seconds(or(r.report.CPUTime))}, "hostname": {host},
		"start_time": {unix(r.begin)}, "end_time": {unix(r.end)},
		"output_run":       {encoded(stored(r.kept(api.StdoutStream).Content))},
		"output_error":     {encoded(stored(r.kept(api.StderrStream).Content))},
		"output_diff":      {encoded(stored([]byte(judgeText(said))))},
		"output_system":    {encoded(stored([]byte(r.explanation())))},
		"metadata":         {encoded([]byte(r.metadata()))},
		"compare_metadata": {encoded([]byte(r.compareMetadata()))},
		"testcasedir":      {fmt.Sprintf("%s/testcase%05s", r.task.Job, r.task.Testcase)},
	}
	if said.TeamMessage != "" {
		form.Set("team_message", encoded(stored([]byte(said.TeamMessage))))
	}
	if said.Score != nil && bool(r.task.compare.Scoring) {
		form.Set("score", encoded([]byte(strconv.FormatFloat(*said.Score, 'f', -1, 64))))
	}
	if r.task.run.Passes > 1 {
		form.Set("pass", strconv.Itoa(r.pass()))
	}
	return form
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

func unix(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// metadata describes the run of the program as lines of KEY: VALUE.
func (r run) metadata() string {
	t := r.report
	code, signal := 0, ""
	if t.Exit != nil {
		code, signal = or(t.Exit.Code), t.Exit.Signal
	}
	over := ""
	switch {
	case r.stoppedBy() != "":
		over = hardLimit
	case r.result == resultTime:
		over = softLimit
	}
	cut := ""
	if r.result == resultOutputLimit {
		cut = "stdout"
	}
	m := []string{
		"memory-bytes: " + strconv.FormatInt(int64(or(t.MemoryPeak)), 10),
		"exitcode: " + strconv.Itoa(code+signalCode(signal)),
	}
	if r.stoppedBy() == "wall" {
		// DOMjudge's own runner reports this signal at the wall time limit.
		m = append(m, fmt.Sprintf("signal: %d", syscall.SIGALRM))
	}
	m = append(m, "wall-time: "+seconds(or(t.WallTime)), "user-time: "+seconds(or(t.UserTime)),
		"sys-time: "+seconds(or(t.SystemTime)), "cpu-time: "+seconds(or(t.CPUTime)),
		"time-used: cpu-time", "time-result: "+over, "output-truncated: "+cut,
		"stdin-bytes: "+strconv.FormatInt(r.inputSize, 10),
		"stdout-bytes: "+strconv.FormatInt(int64(or(t.Output)-r.kept(api.StderrStream).Bytes), 10),
		"stderr-bytes: "+strconv.FormatInt(int64(r.kept(api.StderrStream).Bytes), 10))
	for i, x := range t.Runs {
		m = append(m, fmt.Sprintf("judged-run-%d: cpu-time %s wall-time %s cpus %s kept %t disturbed %s", i+1,
			seconds(x.CPUTime), seconds(x.WallTime), x.CPUs, x.Kept, causes(x.Disturbed)))
	}
	return strings.Join(m, "\n") + "\n"
}

// signalBase is the offset that a shell adds to a signal number to make an exit status.
const signalBase = 128

func signalCode(name string) int {
	if n := signalNumber(name); n != 0 {
		return signalBase + n
	}
	return 0
}

func signalNumber(name string) int {
	const last = 64
	for n := 1; name != "" && n <= last; n++ {
		if linux.SignalName(syscall.Signal(n)) == name {
			return n
		}
	}
	return 0
}

func causes(list []api.Cause) string { return cmp.Or(text.Join(list, ","), "none") }

// compareMetadata describes the run of the checker or the interactor.
func (r run) compareMetadata() string {
	said := r.report.Checker
	if said == nil {
		return ""
	}
	m := "exitcode: 42\n"
	switch said.Verdict {
	case api.Accepted, api.Partial:
	case api.WrongAnswer, api.PresentationError, api.OutputLimit:
		if said.Score == nil {
			m = "exitcode: 43\n"
		}
	default:
		return "" // there is no decision
	}
	if r.interactive {
		m += fmt.Sprintf("validator-exited-first: %t\n", said.FirstExit == api.ExitInteractor)
	}
	return m
}

// judgeText returns all messages of the checker or the interactor to the jury.
func judgeText(said api.CheckReport) string {
	if said.Said == nil {
		return said.Message
	}
	text := said.Said.Message
	for _, more := range []struct{ from, text string }{{"error", said.Said.Error}, {"stdout", said.Said.Stdout},
		{"stderr", said.Said.Stderr}} {
		if more.text != "" {
			text += fmt.Sprintf("\n---------- output validator (%s) messages ----------\n%s", more.from, more.text)
		}
	}
	return text
}

// explanation describes for the jury what judged decided, and why.
func (r run) explanation() string {
	t := r.report
	var b strings.Builder
	fmt.Fprintf(&b, "%s: judged's verdict %s after %s", r.result, t.Verdict, text.Count(len(t.Runs), "run"))
	if len(t.Runs) > 0 {
		fmt.Fprintf(&b, " on CPU %s", t.Runs[0].CPUs)
	}
	b.WriteString("\n")
	if t.Message != "" {
		fmt.Fprintf(&b, "%s\n", t.Message)
	}
	fmt.Fprintf(&b, "CPU time %s s, wall time %s s, limit %s s, memory %s\n", seconds(or(t.CPUTime)),
		seconds(or(t.WallTime)), seconds(timeLimit(r.task)), units.Bytes(or(t.MemoryPeak)))
	if by := r.stoppedBy(); by != "" {
		fmt.Fprintf(&b, outOfTime, by)
	}
	if x := t.Timing; x != nil {
		fmt.Fprintf(&b, "decided by %s, confidence %s, spread %s s, band near the limit %s s\n", x.DecidedBy, x.Confidence,
			seconds(x.Spread), seconds(x.Guard))
	}
	for i, x := range t.Runs {
		fmt.Fprintf(&b, "run %d: CPU time %s s, wall time %s s, disturbed by %s", i+1, seconds(x.CPUTime),
			seconds(x.WallTime), causes(x.Disturbed))
		if !x.Kept {
			b.WriteString(", set aside")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// scriptMetadata describes the run of a script.
func scriptMetadata(r sandbox.Result) string {
	code := r.Code
	if r.Signal != 0 {
		code = signalBase + int(r.Signal)
	}
	over := ""
	if r.Stop == sandbox.StopCPU || r.Stop == sandbox.StopWall {
		over = hardLimit
	}
	return fmt.Sprintf("memory-bytes: %d\nexitcode: %d\nwall-time: %s\nuser-time: %s\nsys-time: %s\ncpu-time: %s\n"+
		"time-used: wall-time\ntime-result: %s\n", or(r.MemoryPeak), code, seconds(r.WallTime), seconds(or(r.UserTime)),
		seconds(or(r.SystemTime)), seconds(r.CPUTime), over)
}

// sizeOfFile returns the size of a file, or 0 if it does not exist.
func sizeOfFile(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
