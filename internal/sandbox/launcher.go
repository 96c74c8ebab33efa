package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
	"judged/internal/sandbox/seccomp"
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
	// Without is what the attack suite leaves out, one layer at a time, to
	// see which of the others hold what it tries. No configuration leads here.
	Without initproc.Layers
}

// Slot is where runs happen.
type Slot struct {
	CPUs     cpuset.Set
	Node     int  // NUMA node of the memory
	BindNode bool // whether the host has more than one
	NohzFull bool // whether one of the CPUs may run without a tick
	Tickless bool // whether all of them may
	Group    *cgroup.Slot
	// Network is the network namespace of the runs, see NewNetwork. Without one
	// they are in the Launcher's.
	Network *os.File
	// Copies are where the inputs of the runs lie, see Launcher.Copies.
	Copies *Copies
	// Trees are what the runs see of the host with RootPrivate, see NewTrees.
	// Without them programs are static.
	Trees *Trees
}

// onItsNode adds to the options of a tmpfs that its pages lie on the slot's node.
func (s Slot) onItsNode(options [][2]string) [][2]string {
	if !s.BindNode {
		return options
	}
	return append(options, [2]string{"mpol", fmt.Sprintf("bind:%d", s.Node)})
}

// NewNetwork makes an empty network namespace for a slot. Close it. A run may
// make pairs of unix sockets, and /proc/self/net counts and lists those of its
// namespace: in one that two runs share at once each sees what the other does.
// One for every run would cost 0.7 ms to make and 0.2 to take down and bring
// nothing: sockets end with their processes, before the next run begins.
func NewNetwork() (*os.File, error) {
	var network *os.File
	made := make(chan error)
	onOwnThread(func() {
		var err error
		network, err = linux.NewNetwork()
		made <- err
	})
	err := <-made
	return network, err
}

// Launcher starts sandboxes. It owns a thread of the process, whose mount,
// network and host name namespaces are what every sandbox starts from, and
// judged-init, which is started there. The thread lives as long as the
// Launcher: judged-init and the programs die with it (PR_SET_PDEATHSIG is bound
// to the thread that is the parent), the first processes of sandboxes with the
// lifeline.
//
// Its network namespace is empty; slots have others like it.
type Launcher struct {
	options Options
	finder  *runtimes.Finder
	reader  *runtimes.Reader
	depot   *depot
	copies  *Copies
	uids    atomic.Int64
	thread  chan func()
	// lifeline is a pipe whose writing end nobody else has.
	lifeline struct{ read, write *os.File }
	newborn  newborn
	close    sync.Once

	mu       sync.Mutex // guards the rest: judged-init answers one request at a time
	process  *os.Process
	control  *os.File // nil until judged-init is started, and after it has ended
	requests int
}

// Open builds the template and starts judged-init. It needs root.
func Open(o Options) (*Launcher, error) {
	if !linux.IsRoot() {
		return nil, errors.New("build sandbox: judged must be root to make namespaces and control groups; start it with sudo or as a system service")
	}
	program, err := InitProgram()
	if err != nil {
		return nil, fmt.Errorf("read judged-init: %w", err)
	}
	l := &Launcher{options: o, finder: newFinder(), reader: runtimes.NewReader(), thread: make(chan func())}
	// Not always the first: the one before this process may have ended a
	// moment ago, and another may run beside it.
	l.uids.Store(rand.Int64N(int64(o.UIDCount)))
	if l.lifeline.read, l.lifeline.write, err = linux.Pipe(); err != nil {
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	if err := l.newborn.open(); err != nil {
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	ready := make(chan error)
	onOwnThread(func() { l.runThread(program, ready) })
	if err = <-ready; err == nil {
		err = l.startInit()
	}
	if err == nil {
		l.depot, err = openDepot()
	}
	if err == nil {
		l.copies, err = openCopies(l.depot)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	return l, nil
}

// onOwnThread runs f on a thread that nothing else ever runs on: its namespaces
// must not leak into other goroutines, so it stays locked and the runtime ends
// it with f. It is not the first thread of the process, which is the one that
// /proc/self shows: everybody who looks there would see the sandbox.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !linux.IsFirstThread() {
			f()
			return
		}
		held := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another one, while the first is held
			close(held)
			f()
		}()
		<-held
		runtime.UnlockOSThread()
	}()
}

// runThread is the work of the launcher's thread.
func (l *Launcher) runThread(program []byte, ready chan<- error) {
	var err error
	if !l.options.Without.Has(initproc.Namespaces) {
		err = errors.Join(linux.UnshareNetwork(), linux.UnshareHostname("judged"))
	}
	if err == nil {
		err = buildRoot(l.options, program)
	}
	ready <- err
	if err != nil {
		return
	}
	for job := range l.thread {
		job()
	}
}

// Close ends judged-init and the launcher's threads. All sandboxes must be
// closed, and all trees.
func (l *Launcher) Close() {
	l.close.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stopInit()
		l.lifeline.write.Close()
		l.lifeline.read.Close()
		l.newborn.close()
		close(l.thread)
		if l.copies != nil {
			_ = l.copies.close() // its file system goes with the depot
		}
		if l.depot != nil {
			l.depot.close()
		}
	})
}

// Copies are the launcher's copies of inputs.
func (l *Launcher) Copies() *Copies { return l.copies }

// hasTrees reports whether runs see copies of the host's files.
func (l *Launcher) hasTrees() bool {
	return l.options.Root == RootPrivate && !l.options.Without.Has(initproc.Root)
}

// nextUID cycles through the range, so that a run never meets what another of
// the same user left in the kernel.
func (l *Launcher) nextUID() int {
	return l.options.UIDFirst + int((l.uids.Add(1)-1)%int64(l.options.UIDCount))
}
