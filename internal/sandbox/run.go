package sandbox

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
)

// Stop says who ended a run.
type Stop int

// The possible stops.
const (
	StopNone      Stop = iota // the program itself
	StopCPU                   // judged, at the CPU time limit
	StopWall                  // judged, at the wall time limit
	StopCancelled             // judged, because the context was done
)

// Result is the outcome of one run. Times and counters exclude what judged did before execve.
type Result struct {
	Stop Stop
	Idle bool // at StopWall: it was asleep and had not used CPU time for a while
	Late bool // at StopWall: judged stopped it so late that it had also reached its CPU limit, after the wall limit

	Code      int            // exit status, if neither Signal nor ExecError is set
	Signal    syscall.Signal // the signal that ended the first process
	ExecError syscall.Errno  // why it could not be executed at all, or 0
	Lacks     string         // what the host or the platform lacks to execute it; "": the program is at fault

	CPUTime              time.Duration // all processes of the run
	UserTime, SystemTime *time.Duration
	WallTime             time.Duration // CLOCK_MONOTONIC, until the first process ended
	MemoryPeak           *units.Bytes  // without stdout and stderr
	OOMKills             int64
	Refused              *int64      // processes and threads refused by their limit; only if the program failed
	OutputBytes          units.Bytes // stdout and stderr
	FileBytes            units.Bytes // the part of that which is in files, not in pipes

	// Waited is how long the run was runnable while others had its CPUs; nil if unknown.
	Waited    *time.Duration
	Throttled *int64 // periods, by the cpu controller
	Pressure  cgroup.Pressure
	Memory    cgroup.Memory
	// For the first process; nil if the kernel does not provide it.
	RunDelay                               *time.Duration
	Migrations                             *int64
	VoluntarySwitches, InvoluntarySwitches *int64
	MinorFaults, MajorFaults               *int64
}

// IsKilledByHost reports whether the kernel killed a process of the run for memory although the run was within its own
// limit: the host, or a group above the run such as the container of judged, has too little. It is known on v2 only.
func (r Result) IsKilledByHost() bool {
	return r.OOMKills > 0 && r.Memory.OOMs != nil && *r.Memory.OOMs == 0
}

// ErrHostMemory says for operators what to do about IsKilledByHost.
var ErrHostMemory = errors.New("killed by the kernel, because the host or the container of judged had too little memory; " +
	"give it more, or judge less at a time")

// settleTimeout bounds the wait for killed processes to end. Freeing tens of gigabytes takes the kernel seconds.
const settleTimeout = 60 * time.Second

// Run starts the parked program and returns when all processes of the run have ended. It is called once.
func (s *Sandbox) Run(ctx context.Context) (Result, error) {
	if r, ok := refused(s.program); !ok {
		return r, nil
	}
	if err := s.group.ResetPeak(); err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	base, err := s.group.CPU()
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	s.base.Store(&base)
	waited := s.group.Pressure()
	parked := s.parkedCounters()
	w := watch{s: s, base: base.Total, user: base.User, start: time.Now()}
	if s.unmeasured {
		waited.All = nil
	}
	if err := w.waits.start(s, waited.All); err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	s.waits.Store(&w.waits)
	if _, err := s.gate.Write([]byte{1}); err != nil {
		return Result{}, fmt.Errorf("run: start the program: %w", err)
	}
	a := s.newAccount()
	ended, err := w.untilExit(ctx)
	others, err2 := s.othersCPUTime()
	if err := errors.Join(err, err2, a.Close()); err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	begin := time.Now()
	r, err := s.collect(&w, a, base, parked)
	r.WallTime, r.Waited = ended, w.waits.finish(ended, r.CPUTime+others, r.Pressure.All)
	r.Pressure = r.Pressure.Since(waited)
	s.overhead += time.Since(begin)
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	return r, nil
}

// collect kills the remaining processes of the run and reads its counters. Only now are they exact, because a
// CPU accounts a task when the task leaves it.
func (s *Sandbox) collect(w *watch, a *account, base cgroup.CPU, parked counters) (Result, error) {
	ended := s.endedCounters()
	var piped units.Bytes
	if s.piped {
		piped = units.Bytes(s.written())
	}
	status, usage, err := s.solution.reap()
	if err != nil {
		return Result{}, err
	}
	ended.usage = usage
	empty, err := s.group.WaitEmpty(0)
	if err == nil && !empty {
		if err := s.kill(); err != nil {
			return Result{}, err
		}
		if empty, err = s.group.WaitEmpty(s.settle); err == nil && !empty {
			err = errors.New("kill the run's processes: some are still alive; look for processes in state D")
		}
	}
	if err != nil {
		return Result{}, err
	}
	if err := s.returnFiles(); err != nil {
		return Result{}, err
	}
	end, err := s.group.Stat()
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Stop: w.stop, Idle: w.idle, Late: w.late,
		CPUTime: end.Total - base.Total, UserTime: difference(end.User, base.User),
		SystemTime: difference(end.System, base.System),
		OOMKills:   end.OOMKills, Throttled: end.Throttled, Pressure: s.group.Pressure(), Memory: end.Memory,
	}
	if r.MemoryPeak, err = a.peak(); err != nil {
		return Result{}, err
	}
	r.fill(ended, parked)
	if err := s.exit(&r, status); err != nil {
		return Result{}, err
	}
	if r.Code != 0 || r.Signal != 0 {
		r.Refused = s.group.Refused()
	}
	if err := s.findAnswer(); err != nil {
		return Result{}, err
	}
	for _, o := range s.outputs() {
		size, err := o.Size()
		if err != nil {
			return Result{}, err
		}
		r.FileBytes += size
	}
	r.OutputBytes = max(r.FileBytes, piped)
	return r, nil
}

// kill kills all processes of the run. Killing the group alone can miss a child: a fork that begins after the
// mark of cgroup.kill (kill_seq) and adds its child after the walk over the group has passed the parent (Linux
// 6.18; one in a hundred runs whose processes only fork and exit). When process 1 exits, the kernel first
// refuses new pids to the namespace (zap_pid_ns_processes), so no process can escape.
func (s *Sandbox) kill() error {
	return errors.Join(s.group.Kill(), linux.KillProcess(s.process1.fd))
}

// killInit kills the first process of the run, which ends the run. Unlike kill, it may be called by any
// goroutine until the process is reaped.
func (s *Sandbox) killInit() error {
	return errors.Join(linux.KillProcess(s.process1.fd), linux.KillProcess(s.solution.fd))
}

// exit records how the first process ended. A step that failed before execve is a failure of judged; a failed
// execve is a failure of the program.
func (s *Sandbox) exit(r *Result, status syscall.WaitStatus) error {
	if report, failed := initproc.ReadReport(s.report); failed {
		name, errno := initproc.StepName(s.load, s.fds, s.launcher.options.Without, report.Step),
			syscall.Errno(report.Errno)
		if name != initproc.ExecStepName {
			return fmt.Errorf("%s: %w", name, errno)
		}
		r.ExecError, r.Lacks = errno, lacks(errno, s.args, s.program)
		return nil
	}
	if status.Signaled() {
		r.Signal = status.Signal()
	} else {
		r.Code = status.ExitStatus()
		r.Lacks = lacksToContinue(r.Code, s.program)
	}
	return nil
}

func difference(end, base *time.Duration) *time.Duration {
	if end == nil || base == nil {
		return nil
	}
	return new(*end - *base)
}

// Stdout returns what the program wrote to its standard output. It is valid until Close.
func (s *Sandbox) Stdout() *Output { return s.stdout }

// Stderr returns what the program wrote to its standard error. It is valid until Close.
func (s *Sandbox) Stderr() *Output { return s.stderr }
