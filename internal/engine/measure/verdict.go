package measure

import (
	"fmt"
	"syscall"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// verdictOf returns the verdict that follows from the counters of a run. The order of the cases is the precedence of
// the verdicts: counters come before the wait status, because an out-of-memory kill and a kill at the time limit both
// look like SIGKILL. It returns "" for a finished run: then the checker decides.
func verdictOf(r sandbox.Result, l api.Limits) api.Verdict {
	switch {
	case r.Stop == sandbox.StopCancelled:
		return api.Cancelled
	case r.Lacks != "":
		return api.InternalError
	case r.ExecError != 0:
		return api.NotExecutable
	case r.Signal == syscall.SIGSYS:
		return api.SecurityViolation
	case r.OOMKills > 0 && !r.IsKilledByHost() || r.MemoryPeak != nil && *r.MemoryPeak > l.Memory:
		return api.MemoryLimit
	case r.IsKilledByHost():
		return api.InternalError
	case r.CPUTime > l.CPUTime() && !r.Late:
		return api.TimeLimit
	case r.Stop == sandbox.StopWall && r.Idle:
		return api.IdlenessLimit
	case r.Stop == sandbox.StopWall:
		return api.WallTimeLimit
	case r.OutputBytes > l.Output:
		return api.OutputLimit
	case r.Signal != 0 || r.Code != 0:
		return api.RuntimeError
	}
	return ""
}

// exitOf returns how the first process ended, or nil if it was never executed.
func exitOf(r sandbox.Result) *api.Exit {
	switch {
	case r.ExecError != 0:
		return nil
	case r.Signal != 0:
		return &api.Exit{Signal: linux.SignalName(r.Signal)}
	}
	return &api.Exit{Code: &r.Code}
}

// javaProcesses is the number of processes and threads that a Java virtual machine needs: OpenJDK 17 starts with 12 on
// a slot of one CPU, and its compilers may start more.
const javaProcesses = 16

// whyFailed explains how a limit may have caused the failure of a program, which itself often reports only an exit
// status; "" if nothing is known.
func whyFailed(o outcome, l api.Limits) string {
	failed := o.verdict == api.RuntimeError || o.verdict == api.IdlenessLimit
	if n := o.result.Refused; !failed || n == nil || *n == 0 {
		return ""
	}
	return fmt.Sprintf("reached the limit of %d processes and threads, which include threads of the runtime; Java needs "+
		"%d or more in all", l.Processes, javaProcesses)
}

// whyLacking returns for operators what to install.
func whyLacking(r sandbox.Result, name string) string {
	if r.Lacks == name {
		return fmt.Sprintf("execute %q: %s; install it in %s of this host, or correct the command of the job", name,
			r.ExecError, initproc.Path)
	}
	return fmt.Sprintf("execute %q: %s", name, r.WhyLacks())
}

// whyNotExecutable explains the errno of execve for contestants.
func whyNotExecutable(e syscall.Errno, name string) string {
	why := e.Error()
	switch e {
	case syscall.ENOENT:
		why = "the file, its interpreter or its loader does not exist in the sandbox; does its #! line end in CR LF?"
	case syscall.ENOEXEC:
		why = "neither an ELF program for this machine nor a script with a #! line"
	case syscall.ELIBBAD:
		why = "ELF file shorter than its headers say; was it truncated?"
	case syscall.EACCES:
		why = "no permission to execute it or its interpreter"
	case syscall.ELOOP:
		why = "its #! lines form a loop"
	case syscall.E2BIG:
		why = "its arguments are longer than the kernel accepts"
	}
	return fmt.Sprintf("execute %q: %s", name, why)
}
