package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/cgroup"
	"judged/internal/linux"
	"judged/internal/stage"
	"judged/internal/units"
)

// Stop says who ended a run.
type Stop int

// The stops.
const (
	StopNone      Stop = iota // the program itself
	StopCPU                   // judged, at the CPU time limit
	StopWall                  // judged, at the wall time limit
	StopCancelled             // judged, because the context ended
)

// Result is what one run was. Times and counters are the run's own: what
// judged did before its execve is not in them.
type Result struct {
	Stop Stop
	Idle bool // at StopWall: it slept, and had not used CPU time for a while

	Code      int            // exit status, when neither of the next two is set
	Signal    syscall.Signal // that ended the first process
	ExecError syscall.Errno  // why it could not be executed at all, or 0

	CPUTime              time.Duration // all processes of the run
	UserTime, SystemTime *time.Duration
	WallTime             time.Duration // CLOCK_MONOTONIC, until the first process ended
	MemoryPeak           *units.Bytes
	OOMKills             int64
	OutputBytes          units.Bytes // stdout
	ErrorBytes           units.Bytes // stderr

	Throttled *int64 // periods, by the cpu controller
	// Of the first process; nil where the kernel does not show it.
	RunDelay                               *time.Duration
	Migrations                             *int64
	VoluntarySwitches, InvoluntarySwitches *int64
	MinorFaults, MajorFaults               *int64
}

// settleTimeout is how long killed processes may take to be gone. Tearing down
// tens of gigabytes takes the kernel seconds.
const settleTimeout = 60 * time.Second

// Run lets the parked program go and returns when nothing of it lives any
// more. It is called once.
func (s *Sandbox) Run(ctx context.Context) (Result, error) {
	if err := s.group.ResetPeak(); err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	base, err := s.group.CPU()
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	cancel, err := newCancelFD(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	defer cancel.close()
	parked := s.parkedCounters()
	w := watch{s: s, base: base.Total, start: linux.Monotonic()}
	if _, err := s.gate.Write([]byte{1}); err != nil {
		return Result{}, fmt.Errorf("run: let go: %w", err)
	}
	ended, err := w.untilExit(cancel)
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	begin := linux.Monotonic()
	r, err := s.collect(&w, base, parked)
	r.WallTime = ended - w.start
	s.overhead += linux.Monotonic() - begin
	if err != nil {
		return Result{}, fmt.Errorf("run: %w", err)
	}
	return r, nil
}

// collect ends what the first process left running and reads what the run
// was. The counters are exact only now: a CPU accounts a task when it leaves.
func (s *Sandbox) collect(w *watch, base cgroup.CPU, parked counters) (Result, error) {
	ended := s.endedCounters()
	status, usage, err := s.solution.reap()
	if err != nil {
		return Result{}, err
	}
	ended.usage = usage
	empty, err := s.group.WaitEmpty(0)
	if err == nil && !empty {
		if err := s.group.Kill(); err != nil {
			return Result{}, err
		}
		if empty, err = s.group.WaitEmpty(settleTimeout); err == nil && !empty {
			err = errors.New("end the run's processes: some are still there; look for processes in state D")
		}
	}
	if err != nil {
		return Result{}, err
	}
	end, err := s.group.Stat()
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Stop: w.stop, Idle: w.idle,
		CPUTime: end.Total - base.Total, UserTime: difference(end.User, base.User), SystemTime: difference(end.System, base.System),
		MemoryPeak: end.MemoryPeak, OOMKills: end.OOMKills, Throttled: end.Throttled,
	}
	r.fill(ended, parked)
	if err := s.exit(&r, status); err != nil {
		return Result{}, err
	}
	if r.OutputBytes, err = s.stdout.Size(); err != nil {
		return Result{}, err
	}
	r.ErrorBytes, err = s.stderr.Size()
	return r, err
}

// exit tells how the first process ended. A step that failed before execve is
// our failure; execve's own is the program's.
func (s *Sandbox) exit(r *Result, status syscall.WaitStatus) error {
	if said, failed := stage.ReadReport(s.report); failed {
		name, errno := stage.StepName(s.load, s.fds, said.Step), syscall.Errno(said.Errno)
		if name != stage.ExecStepName {
			return fmt.Errorf("%s: %w", name, errno)
		}
		r.ExecError = errno
		return nil
	}
	if status.Signaled() {
		r.Signal = status.Signal()
	} else {
		r.Code = status.ExitStatus()
	}
	return nil
}

func difference(end, base *time.Duration) *time.Duration {
	if end == nil || base == nil {
		return nil
	}
	d := *end - *base
	return &d
}

// Stdout is what the program wrote to its standard output. It is valid until
// Close.
func (s *Sandbox) Stdout() *Output { return s.stdout }

// Stderr is what the program wrote to its standard error.
func (s *Sandbox) Stderr() *Output { return s.stderr }

// watch is the supervision of one run.
type watch struct {
	s     *Sandbox
	base  time.Duration // CPU time of the group at go
	start time.Duration // monotonic
	stop  Stop
	idle  bool
	// mark is a reading late in the wall time, for telling sleep from work.
	markUsed, markAt time.Duration
}

// minWake is the shortest sleep of the supervisor, and so about the overshoot
// of a kill. Shorter only burns the housekeeping CPU.
const minWake = 100 * time.Microsecond

// untilExit sleeps until a limit could be reached at the earliest, looks, and
// kills when one is. A program that spins alone is looked at twice.
//
// The end is when we see it, a wake-up later than it was: wall time decides
// only about programs that do not end.
func (w *watch) untilExit(cancel *cancelFD) (time.Duration, error) {
	timeout := w.nextWake(0, 0)
	fds := []int{int(w.s.solution.fd.Fd()), cancel.fd()}
	for {
		ready, err := linux.WaitReadable(timeout, fds...)
		if err != nil {
			return 0, err
		}
		if ready == 0 {
			return linux.Monotonic(), nil
		}
		if w.stop != StopNone {
			return 0, errors.New("end the run: killed, and still there; look for a process in state D")
		}
		if ready == 1 {
			w.stop = StopCancelled
		} else if timeout, err = w.look(); err != nil {
			return 0, err
		}
		if w.stop != StopNone {
			if err := w.s.group.Kill(); err != nil {
				return 0, err
			}
			timeout, fds = settleTimeout, fds[:1]
		}
	}
}

// look reads the clocks, decides whether to stop and returns how long to sleep
// otherwise.
func (w *watch) look() (time.Duration, error) {
	used, err := w.used()
	if err != nil {
		return 0, err
	}
	elapsed := linux.Monotonic() - w.start
	switch limits := w.s.limits; {
	case used >= limits.CPUTime:
		w.stop = StopCPU
	case elapsed >= limits.WallTime:
		w.stop = StopWall
		w.idle = w.slept(used, elapsed)
	case w.markAt == 0 && elapsed >= markTime(limits.WallTime):
		w.markUsed, w.markAt = used, elapsed
	}
	return w.nextWake(used, elapsed), nil
}

// maxTick is the longest tick of a kernel (HZ=100).
const maxTick = 10 * time.Millisecond

// used is the CPU time of the run so far. A running thread is accounted at
// ticks, and on a nohz_full CPU hardly ever, so where the difference decides
// the kernel is made to account now: waiting for its tick instead costs 2 ms
// of overshoot at HZ=250.
func (w *watch) used() (time.Duration, error) {
	total, err := w.s.group.CPUTime()
	if err != nil {
		return 0, err
	}
	late := maxTick * time.Duration(len(w.s.slot.CPUs))
	if !w.s.slot.NohzFull && total-w.base+late < w.s.limits.CPUTime {
		return total - w.base, nil
	}
	if err := w.touch(); err != nil {
		return 0, err
	}
	total, err = w.s.group.CPUTime()
	return total - w.base, err
}

func markTime(wall time.Duration) time.Duration { return wall - wall/4 }

// nextWake is the earliest moment at which a limit can be reached: CPU time
// grows at most by the width of the slot.
func (w *watch) nextWake(used, elapsed time.Duration) time.Duration {
	limits := w.s.limits
	next := min((limits.CPUTime-used)/time.Duration(len(w.s.slot.CPUs)), limits.WallTime-elapsed)
	if w.markAt == 0 {
		next = min(next, markTime(limits.WallTime)-elapsed)
	}
	return max(next, minWake)
}

// touch brings the counters of every thread up to date.
func (w *watch) touch() error {
	threads, err := w.s.group.Threads()
	if err != nil {
		return err
	}
	for _, tid := range threads {
		if err := linux.TouchAccounting(tid); err != nil {
			return err
		}
	}
	return nil
}

// idleRatio is how much of the last quarter of its wall time a sleeping
// program may have computed.
const idleRatio = 0.01

// slept tells a program that waits for something that will not come from one
// that was busy, blocked on I/O, or kept from running: its CPU time was flat,
// and none of its threads wants to run now.
func (w *watch) slept(used, elapsed time.Duration) bool {
	if w.markAt == 0 || float64(used-w.markUsed) > idleRatio*float64(elapsed-w.markAt) {
		return false
	}
	threads, err := w.s.group.Threads()
	if err != nil {
		return false
	}
	for _, tid := range threads {
		switch threadState(tid) {
		case 'R', 'D':
			return false
		}
	}
	return true
}

// threadState is the third field of /proc/TID/stat, or 0 when it has ended.
func threadState(tid int) byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return 0
	}
	after := strings.TrimLeft(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	if after == "" {
		return 0
	}
	return after[0]
}

// cancelFD makes the end of a context visible to ppoll.
type cancelFD struct {
	r, w *os.File
	stop func() bool
	done chan struct{}
}

func newCancelFD(ctx context.Context) (*cancelFD, error) {
	r, w, err := linux.Pipe()
	if err != nil {
		return nil, err
	}
	c := &cancelFD{r: r, w: w, done: make(chan struct{})}
	c.stop = context.AfterFunc(ctx, func() {
		defer close(c.done)
		_, _ = w.Write([]byte{1}) // the reader is ours and open
	})
	return c, nil
}

func (c *cancelFD) fd() int { return int(c.r.Fd()) }

func (c *cancelFD) close() {
	if !c.stop() {
		<-c.done
	}
	c.r.Close()
	c.w.Close()
}
