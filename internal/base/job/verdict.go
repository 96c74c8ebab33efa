package job

// Verdict is the result of a run, a test or a job. The empty Verdict means
// not decided yet.
type Verdict string

// The verdicts, and what decides each of them.
const (
	Accepted          Verdict = "AC"  // the checker
	Partial           Verdict = "PC"  // the checker gave a score
	WrongAnswer       Verdict = "WA"  // the checker, or the interactor rejecting first
	PresentationError Verdict = "PE"  // the checker, where it says so
	OutputLimit       Verdict = "OLE" // counted bytes
	TimeLimit         Verdict = "TLE" // CPU time of the run's cgroup
	WallTimeLimit     Verdict = "WTL" // wall clock, the program was busy or blocked
	IdlenessLimit     Verdict = "ILE" // wall clock, the program slept
	MemoryLimit       Verdict = "MLE" // out-of-memory kills and the peak
	RuntimeError      Verdict = "RTE" // wait status
	SecurityViolation Verdict = "SV"  // seccomp
	NotExecutable     Verdict = "BAD" // execve
	CompileError      Verdict = "CE"  // the compiler
	Skipped           Verdict = "SK"  // the stop rule
	Cancelled         Verdict = "CX"  // the platform
	InternalError     Verdict = "IE"  // judged, checker, interactor, problem or host
)

// Failed reports whether v ends a job under the stop rule first-failure.
func (v Verdict) Failed() bool {
	return v != Accepted && v != Partial && v != Skipped && v != ""
}

// JudgementType is the verdict in the vocabulary of the CCS Contest API, or
// "" where that has none.
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

// Fold is the verdict of a job: that of its first failing test in the order
// given, else PC if any test is partial, else AC.
func Fold(tests []TestReport) Verdict {
	v := Accepted
	for _, t := range tests {
		if t.Verdict.Failed() {
			return t.Verdict
		}
		if t.Verdict == Partial {
			v = Partial
		}
	}
	return v
}
