package api

import (
	"errors"
	"syscall"
)

// Fault is the party at fault for an IE. The set is closed: metrics use it as a label.
type Fault string

// The faults.
const (
	HostFault    Fault = "host"
	JuryFault    Fault = "jury"
	ProblemFault Fault = "problem"
	NoiseFault   Fault = "noise"
	JudgedFault  Fault = "judged"
)

// AllFaults returns all faults.
func AllFaults() []Fault {
	var all []Fault
	for _, m := range Faults() {
		all = append(all, Fault(m.Word))
	}
	return all
}

// Faults returns the meanings of the values of Report.Fault.
func Faults() []Meaning {
	return []Meaning{
		{string(HostFault), "The host lacks something that the job needs, or the system refused it: a compiler, an " +
			"interpreter, space, memory. An operator repairs the host; then judge again."},
		{string(JuryFault),
			"A program of the jury failed: the checker, the interactor or the manager crashed, broke its " +
				"protocol, reached a limit or does not compile. The jury corrects it; then judge again."},
		{string(ProblemFault), "The data of the problem contradict each other, such as a score above its maximum. The " +
			"jury corrects them; then judge again."},
		{string(NoiseFault),
			"Other work on the host explains why a time was over its limit, and repeats did not settle " +
				"it. Judge again when the host is quiet."},
		{string(JudgedFault), "A failure of judged itself. Its log says more. Report it to the developers."},
	}
}

// Fail turns the report into that of a job without a verdict on its program.
func (r *Report) Fail(f Fault, why string) {
	r.State, r.Verdict, r.Fault, r.Message = Done, InternalError, f, why
	r.JudgementType = r.Verdict.JudgementType()
}

// Fail turns the report into that of a test without a verdict on the program.
func (t *TestReport) Fail(f Fault, why string) { t.Verdict, t.Fault, t.Message = InternalError, f, why }

// FailedCheck returns the result of a check that failed.
func FailedCheck(f Fault, why string) CheckReport {
	return CheckReport{Verdict: InternalError, Fault: f, Message: why}
}

// blamed is an error with the fault of the IE that it causes.
type blamed struct {
	error
	fault Fault
}

func (b blamed) Unwrap() error { return b.error }

// Fault returns the party at fault.
func (b blamed) Fault() Fault { return b.fault }

// Blame states the fault of the IE that an error causes. It returns nil for nil.
func Blame(f Fault, err error) error {
	if err == nil {
		return nil
	}
	return blamed{err, f}
}

// hostErrors are errors of a system that has run out of a resource.
var hostErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO,
	syscall.EROFS}

// FaultOf returns the fault of the IE that an error causes: the fault that the error states, otherwise that of the host
// if the system has run out of a resource, otherwise that of judged.
func FaultOf(err error) Fault {
	var stated interface{ Fault() Fault }
	if errors.As(err, &stated) {
		return stated.Fault()
	}
	for _, e := range hostErrors {
		if errors.Is(err, e) {
			return HostFault
		}
	}
	return JudgedFault
}
