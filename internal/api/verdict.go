package api

// Verdict is the result of a run, a test or a job. The empty Verdict means
// not decided yet.
type Verdict string

// The verdicts, and what decides each of them.
const (
	Accepted          Verdict = "AC"  // the checker
	Partial           Verdict = "PC"  // the checker gave a score
	WrongAnswer       Verdict = "WA"  // the checker, or the interactor rejecting first
	PresentationError Verdict = "PE"  // the checker, if it distinguishes it
	OutputLimit       Verdict = "OLE" // counted bytes
	TimeLimit         Verdict = "TLE" // CPU time of the run's cgroup
	WallTimeLimit     Verdict = "WTL" // wall clock, while the program was busy or blocked
	IdlenessLimit     Verdict = "ILE" // wall clock, while the program slept
	MemoryLimit       Verdict = "MLE" // out-of-memory kills and the peak
	RuntimeError      Verdict = "RTE" // wait status
	SecurityViolation Verdict = "SV"  // seccomp
	NotExecutable     Verdict = "BAD" // execve
	CompileError      Verdict = "CE"  // the compiler
	Skipped           Verdict = "SK"  // the stop rule
	Cancelled         Verdict = "CX"  // the platform
	InternalError     Verdict = "IE"  // judged, checker, interactor, problem or host
)

// Verdicts returns the meanings of the verdicts, in the order above.
func Verdicts() []Meaning {
	return []Meaning{
		{string(Accepted), "The checker accepts the output."},
		{string(Partial), "The checker gives a part of the points."},
		{string(WrongAnswer), "The checker rejects the output, or the interactor rejected before the program ended."},
		{string(PresentationError), "The checker rejects the form of the output."},
		{string(OutputLimit), "The program wrote more than the output limit, by the bytes counted."},
		{string(TimeLimit), "The CPU time of all processes of the program, from their control group, is over the limit."},
		{string(WallTimeLimit), "The wall time limit was reached while the program was busy or blocked."},
		{string(IdlenessLimit), "The wall time limit was reached while the program slept: it used no CPU time."},
		{string(MemoryLimit), "The kernel ended the program for its memory, or its peak is over the limit."},
		{string(RuntimeError), "The program ended with a status other than 0, or by a signal."},
		{string(SecurityViolation), "The program called the system in a way that is forbidden."},
		{string(NotExecutable), "The kernel cannot execute the program: its format, architecture or loader."},
		{string(CompileError), "The source does not compile."},
		{string(Skipped), "The test was not run: another one had decided."},
		{string(Cancelled), "The job was cancelled."},
		{string(InternalError), "judged, the checker, the interactor, the problem or the host is at fault, not " +
			"the program."},
	}
}

// Failed reports whether v ends a job under the stop rule first-failure.
func (v Verdict) Failed() bool {
	return v != Accepted && v != Partial && v != Skipped && v != ""
}

// JudgementType returns the verdict in the vocabulary of the CCS Contest API, or "" if that has none.
func (v Verdict) JudgementType() string {
	switch v {
	case Accepted, Partial:
		return "AC"
	case WrongAnswer, PresentationError, OutputLimit:
		return "WA"
	case TimeLimit, WallTimeLimit, IdlenessLimit:
		return "TLE"
	case MemoryLimit, RuntimeError, SecurityViolation:
		return "RTE"
	case NotExecutable, CompileError:
		return "CE"
	case InternalError:
		return "JE"
	}
	return ""
}

// Decided reports whether v is a verdict on a program, so that reports with it are comparable. A job that was not run,
// was cancelled or that judged failed to judge has none.
func (v Verdict) Decided() bool { return v.JudgementType() != "" && v != InternalError }
