package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
)

// startInit starts judged-init in the template's namespaces.
func (l *Launcher) startInit() error {
	ours, theirs, err := linux.Socketpair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return err
	}
	defer null.Close()
	attr := &os.ProcAttr{
		// Each fork copies its memory map, so it must stay small. Reading its CPU quota (containermaxprocs)
		// would keep cgroup files open.
		Env: []string{"GOMAXPROCS=1", "GOGC=20", "GODEBUG=containermaxprocs=0"},
		// If the runtime crashes, its message goes to the log.
		Files: []*os.File{null, null, os.Stderr, theirs, l.lifeline.read, l.pidHandoff.file},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	done := make(chan struct{})
	l.thread <- func() {
		defer close(done)
		if len(l.options.CPUs) > 0 {
			// Affinity of this thread, which judged-init inherits.
			if err = linux.SetAffinity(0, l.options.CPUs); err != nil {
				err = fmt.Errorf("move to CPUs %s: %w", l.options.CPUs, err)
				return
			}
		}
		l.process, err = os.StartProcess(initPath, l.initArgs(), attr)
	}
	<-done
	if err != nil {
		ours.Close()
		return fmt.Errorf("start judged-init: %w", err)
	}
	l.control = ours
	if err := unprotect(l.process.Pid); err != nil {
		return err
	}
	return l.slim()
}

// unprotect removes from judged-init, and so from its children, the protection from the OOM killer that judged may
// have (OOMScoreAdjust= of its unit). With -1000 the kernel could not even kill a run that is at its own limit. A
// positive value is inherited unchanged.
func unprotect(pid int) error {
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if !strings.HasPrefix(read(path), "-") {
		return nil
	}
	return os.WriteFile(path, []byte("0"), 0)
}

// slimEvery is the number of requests after which judged-init is slimmed again. Its runtime keeps mapping memory:
// half a MiB in the first hundred requests.
const slimEvery = 128

// slim excludes judged-init's memory from its forks, which would otherwise copy it for each run.
func (l *Launcher) slim() error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", l.process.Pid))
	if err != nil {
		return err
	}
	defer maps.Close()
	reply, err := l.exchange(initproc.MapsRequest(maps))
	if err != nil {
		return err
	}
	_, err = initproc.ParseAnswer(reply)
	return err
}

// initArgs returns the arguments of judged-init: its name, and the layers to omit.
func (l *Launcher) initArgs() []string {
	if l.options.Without == 0 {
		return []string{initproc.Name}
	}
	return []string{initproc.Name, l.options.Without.String()}
}

// stopInit kills judged-init. Sandboxes that it started are not its children and keep running.
func (l *Launcher) stopInit() {
	if l.control == nil {
		return
	}
	l.control.Close()
	l.control = nil
	_ = l.process.Kill() // it may have exited already
	_, _ = l.process.Wait()
}

// initTimeout limits the wait for judged-init's answer, which normally takes less than a millisecond.
const initTimeout = 30 * time.Second

// request makes judged-init fork and returns the pid. If judged-init has exited, for example because it was
// killed for lack of memory, it is restarted: for this request if it did not receive it, otherwise for the next
// one. With an error the pid is that of a process that must be reaped, or 0.
func (l *Launcher) request(msg []byte, fds []int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pidHandoff.pid.Store(0)
	if l.requests++; l.requests%slimEvery == 0 && l.control != nil && l.slim() != nil {
		l.stopInit() // exchange restarts it
	}
	reply, err := l.exchange(msg, fds)
	// It had exited, or exited before it read the request.
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		l.stopInit()
		reply, err = l.exchange(msg, fds)
	}
	pid := 0
	if err == nil {
		pid, err = initproc.ParseAnswer(reply)
	}
	if err == nil {
		return pid, nil
	}
	// A failed request may have left it in the wrong namespaces, where later requests of all slots would fail.
	l.stopInit()
	if pid == 0 {
		pid = int(l.pidHandoff.pid.Load()) // judged-init did not report it
	}
	return pid, err
}

func (l *Launcher) exchange(msg []byte, fds []int) ([]byte, error) {
	if l.control == nil {
		if err := l.startInit(); err != nil {
			return nil, err
		}
	}
	fd := int(l.control.Fd())
	if err := linux.Send(fd, msg, fds); err != nil {
		return nil, err
	}
	ready, err := linux.Await(context.Background(), l.control, initTimeout)
	if err != nil {
		return nil, err
	}
	if !ready {
		return nil, fmt.Errorf("wait for judged-init: no answer within %s", initTimeout)
	}
	buf := make([]byte, initproc.MaxMessage)
	n, _, err := linux.Receive(fd, buf)
	return buf[:n], err
}

// pidHandoff lets judged find a child that judged-init forked but did not report because it was killed. The
// kernel itself writes the pid into memory that both share, before the child runs. Only judged can reap the
// child, so the pid cannot be reused until then.
type pidHandoff struct {
	file *os.File
	pid  *atomic.Int32 // of the last child forked for the current request, or 0
}

func (n *pidHandoff) open() (err error) {
	if n.file, err = linux.Memfd("pidHandoff"); err != nil {
		return err
	}
	if n.pid, err = linux.SharedWord(int(n.file.Fd())); err != nil {
		n.file.Close()
	}
	return err
}

func (n *pidHandoff) close() {
	n.file.Close()
	_ = linux.UnmapWord(n.pid) // cannot fail: the word is mapped
}

// NewOrder reports the order in which the programs of loaded sandboxes exit, by their indices, and the other
// ends of pipes are closed, by the indices after those. The caller closes it.
func NewOrder(programs []*Sandbox, pipes ...*os.File) (*linux.Order, error) {
	var files []*os.File
	for _, p := range programs {
		files = append(files, p.solution.fd)
	}
	return linux.NewOrder(append(files, pipes...)...)
}

// WaitsForOthers reports whether the run waits for other programs to write or read: none of its threads is
// runnable, and one sleeps in the kernel's code for pipes or polling. A run that sleeps for another reason or
// computes makes the others wait. It may be called while Run is in progress.
func (s *Sandbox) WaitsForOthers() bool { return s.waitsIn(isPipeWait) }

// WaitsForReader reports whether the run waits for other programs to read what it has written to a full pipe.
func (s *Sandbox) WaitsForReader() bool {
	return s.waitsIn(func(wchan string) bool { return strings.Contains(wchan, "pipe_write") })
}

// waitsIn reports whether no thread of the run is runnable, and one sleeps in a kernel function.
func (s *Sandbox) waitsIn(function func(wchan string) bool) bool {
	threads, err := s.group.Threads()
	if err != nil {
		return false
	}
	waits := false
	for _, tid := range threads {
		switch threadState(tid) {
		case 'R', 'D':
			return false
		}
		waits = waits || function(read("/proc/"+strconv.Itoa(tid)+"/wchan"))
	}
	return waits
}

// Reads reports whether the run reads anything from files or pipes within the given time; false if that is unknown (a
// kernel without CONFIG_TASK_IO_ACCOUNTING). It may be called while Run is in progress. A virtual machine that stands
// still for that time gets more, because the run stood still as well.
func (s *Sandbox) Reads(within time.Duration) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	begin, before := time.Now(), s.bytesRead()
	for looks := time.Duration(0); time.Since(begin) < within || looks < within/(10*time.Millisecond); looks++ {
		<-tick.C
		if s.bytesRead() > before {
			return true
		}
	}
	return false
}

// bytesRead returns how much the live processes of the run have read, counted once for each of their threads.
func (s *Sandbox) bytesRead() (sum int64) {
	threads, err := s.group.Threads()
	if err != nil {
		return 0
	}
	for _, tid := range threads {
		sum += max(0, keyed(read("/proc/"+strconv.Itoa(tid)+"/io"), "rchar"))
	}
	return sum
}

// written returns the number of bytes that the first process and the children it waited for have written
// anywhere, including pipes; 0 if unknown (a kernel without CONFIG_TASK_IO_ACCOUNTING).
func (s *Sandbox) written() int64 {
	return max(0, keyed(read("/proc/"+strconv.Itoa(s.solution.pid)+"/io"), "wchar"))
}
