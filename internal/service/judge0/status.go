package judge0

import (
	"cmp"
	"fmt"
	"syscall"

	"judged/internal/api"
	"judged/internal/base/linux"
)

// status is the status of a submission.
type status struct {
	ID          int    `json:"id"`
	Description string `json:"description"`
}

// The statuses of Judge0.
var (
	inQueue    = status{1, "In Queue"}
	processing = status{2, "Processing"}
	accepted   = status{3, "Accepted"}
	wrong      = status{4, "Wrong Answer"}
	timeLimit  = status{5, "Time Limit Exceeded"}
	compiling  = status{6, "Compilation Error"}
	sigsegv    = status{7, "Runtime Error (SIGSEGV)"}
	sigxfsz    = status{8, "Runtime Error (SIGXFSZ)"}
	sigfpe     = status{9, "Runtime Error (SIGFPE)"}
	sigabrt    = status{10, "Runtime Error (SIGABRT)"}
	nzec       = status{11, "Runtime Error (NZEC)"}
	other      = status{12, "Runtime Error (Other)"}
	internal   = status{13, "Internal Error"}
	format     = status{14, "Exec Format Error"}
)

var statuses = []status{inQueue, processing, accepted, wrong, timeLimit, compiling, sigsegv, sigxfsz, sigfpe, sigabrt, nzec,
	other, internal, format}

// statusOf returns the status of a job with one test.
func statusOf(r api.Report) status {
	switch r.State {
	case api.Queued:
		return inQueue
	case api.Running:
		return processing
	}
	switch r.Verdict {
	case api.Accepted:
		return accepted
	case api.Partial, api.WrongAnswer, api.PresentationError:
		return wrong
	case api.TimeLimit, api.WallTimeLimit, api.IdlenessLimit:
		return timeLimit
	case api.CompileError:
		return compiling
	case api.OutputLimit:
		return sigxfsz
	case api.MemoryLimit, api.SecurityViolation:
		return other
	case api.NotExecutable:
		return format
	case api.RuntimeError:
		return runtimeError(testOf(r).Exit)
	}
	return internal
}

func runtimeError(exit *api.Exit) status {
	if exit == nil {
		return other
	}
	switch exit.Signal {
	case "":
		return nzec
	case "SIGSEGV":
		return sigsegv
	case "SIGXFSZ":
		return sigxfsz
	case "SIGFPE":
		return sigfpe
	case "SIGABRT":
		return sigabrt
	}
	return other
}

// testOf returns the report of the only test; it is empty before the test has been judged.
func testOf(r api.Report) api.TestReport {
	if len(r.Tests) == 0 {
		return api.TestReport{}
	}
	return r.Tests[0]
}

// messageOf returns the message that Judge0's sandbox gives in the same situation, or judged's own message. It returns
// "" for a run without an error.
func messageOf(r api.Report) string {
	t := testOf(r)
	switch r.Verdict {
	case "", api.Accepted, api.Partial, api.WrongAnswer, api.PresentationError, api.CompileError:
		return ""
	case api.TimeLimit:
		return "Time limit exceeded"
	case api.WallTimeLimit, api.IdlenessLimit:
		return "Time limit exceeded (wall clock)"
	case api.MemoryLimit:
		return "Memory limit exceeded"
	case api.OutputLimit:
		return "Output limit exceeded"
	case api.RuntimeError, api.SecurityViolation:
		if n := signalNumber(t.Exit); n != nil {
			return fmt.Sprintf("Caught fatal signal %d", *n)
		}
		if t.Exit != nil && t.Exit.Code != nil {
			return fmt.Sprintf("Exited with error status %d", *t.Exit.Code)
		}
	case api.Cancelled:
		return "The submission was cancelled"
	}
	return cmp.Or(t.Message, r.Message)
}

// lastSignal is the highest signal number.
const lastSignal = 64

// signalNumber returns the number of the signal that ended a program, or nil.
func signalNumber(exit *api.Exit) *int {
	if exit == nil || exit.Signal == "" {
		return nil
	}
	for n := 1; n <= lastSignal; n++ {
		if linux.SignalName(syscall.Signal(n)) == exit.Signal {
			return &n
		}
	}
	return nil
}
