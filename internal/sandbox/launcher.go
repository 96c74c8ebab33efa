package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"judged/internal/cgroup"
	"judged/internal/cpuset"
	"judged/internal/linux"
	"judged/internal/seccomp"
	"judged/internal/stage"
	"judged/internal/units"
)

// Options are what all sandboxes of a Launcher have in common.
type Options struct {
	Root      Root
	BoxBytes  units.Bytes // what a run may write to files
	BoxInodes int
	// UIDFirst and UIDCount are the range that runs take their user and
	// group IDs from, one after the other. Nothing else on the host may use
	// it: limits and keyrings are the kernel's per user.
	UIDFirst, UIDCount int
	Seccomp            seccomp.Filter // empty is none
}

// Slot is where runs happen.
type Slot struct {
	CPUs     cpuset.Set
	Node     int  // NUMA node of the memory
	BindNode bool // whether the host has more than one
	NohzFull bool // whether one of the CPUs may run without a tick
	Group    *cgroup.Slot
}

// Launcher starts sandboxes. It owns one thread of the process, whose mount,
// network and host name namespaces are what every sandbox starts from; the
// thread lives as long as the Launcher, because judged-init dies with it
// (PR_SET_PDEATHSIG is bound to the thread that forked).
//
// All sandboxes share one empty network namespace: a fresh one costs 0.5 ms to
// make and as much again to take down, and seccomp refuses sockets anyway.
type Launcher struct {
	options Options
	uids    atomic.Int64
	jobs    chan func()
	close   sync.Once
}

// Open builds the template. It needs root.
func Open(o Options) (*Launcher, error) {
	if !linux.IsRoot() {
		return nil, errors.New("build sandbox: judged must be root to make namespaces and control groups; start it with sudo or as a system service")
	}
	program, err := initProgram()
	if err != nil {
		return nil, fmt.Errorf("read judged-init: %w", err)
	}
	l := &Launcher{options: o, jobs: make(chan func())}
	ready := make(chan error)
	go l.thread(program, ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	return l, nil
}

// thread is the launcher's thread. It is never unlocked: its namespaces must
// not leak into other goroutines, so the runtime ends it with the goroutine.
func (l *Launcher) thread(program []byte, ready chan<- error) {
	runtime.LockOSThread()
	err := errors.Join(linux.UnshareNetwork(), linux.UnshareHostname("judged"))
	if err == nil {
		err = buildRoot(l.options.Root, program)
	}
	ready <- err
	if err != nil {
		return
	}
	for job := range l.jobs {
		job()
	}
}

// Close ends the launcher's thread, and with it every sandbox that is still
// there. No method may run any more.
func (l *Launcher) Close() { l.close.Do(func() { close(l.jobs) }) }

// start starts judged-init with its end of the control connection.
func (l *Launcher) start(t stage.Template, control *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	attr := &os.ProcAttr{
		// A short life on one thread needs neither collector nor CPU
		// count; looking for the latter would keep cgroup files open.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=containermaxprocs=0"},
		Files: []*os.File{null, null, null, control},
		// Its own process group: Ctrl-C at judged's terminal is judged's to
		// handle.
		Sys: &syscall.SysProcAttr{Cloneflags: linux.RunNamespaces, Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	var process *os.Process
	done := make(chan struct{})
	l.jobs <- func() {
		process, err = os.StartProcess(initPath, t.Args(), attr)
		close(done)
	}
	<-done
	return process, err
}

// nextUID cycles through the range, so that a run never meets what another of
// the same user left in the kernel.
func (l *Launcher) nextUID() int {
	return l.options.UIDFirst + int((l.uids.Add(1)-1)%int64(l.options.UIDCount))
}
