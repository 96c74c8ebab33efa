package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"judged/internal/cgroup"
	"judged/internal/cpuset"
	"judged/internal/linux"
	"judged/internal/runtimes"
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
	// Without is what the attack suite leaves out, one layer at a time, to
	// see which of the others hold what it tries. No configuration leads here.
	Without stage.Layers
}

// Slot is where runs happen.
type Slot struct {
	CPUs     cpuset.Set
	Node     int  // NUMA node of the memory
	BindNode bool // whether the host has more than one
	NohzFull bool // whether one of the CPUs may run without a tick
	Group    *cgroup.Slot
	// Network is the network namespace of the runs, see NewNetwork. Without one
	// they are in the Launcher's.
	Network *os.File
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
	depot   *depot // nil where runs see no copies
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
	if err == nil && o.Root == RootPrivate && !o.Without.Has(stage.Root) {
		l.depot, err = openDepot()
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

// initSlack is the timer slack that judged-init has from the thread that starts it,
// and keeps for all its threads but the one that forks. Of the others only the
// runtime's monitor waits by time, to no end in a program of one goroutine; it took
// a sixth of what judged-init does.
const initSlack = 10 * time.Millisecond

// runThread is the work of the launcher's thread.
func (l *Launcher) runThread(program []byte, ready chan<- error) {
	err := linux.SetTimerSlack(initSlack)
	if err == nil && !l.options.Without.Has(stage.Namespaces) {
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
		if l.depot != nil {
			l.depot.close()
		}
	})
}

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
		// What it forks copies its memory map, so that stays small. Looking
		// for its share of CPUs would keep cgroup files open.
		Env: []string{"GOMAXPROCS=1", "GOGC=20", "GODEBUG=containermaxprocs=0"},
		// What the runtime says when it ends for its own reasons is for the log.
		Files: []*os.File{null, null, os.Stderr, theirs, l.lifeline.read, l.newborn.file},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	done := make(chan struct{})
	l.thread <- func() {
		l.process, err = os.StartProcess(initPath, l.initArgs(), attr)
		close(done)
	}
	<-done
	if err != nil {
		ours.Close()
		return fmt.Errorf("start judged-init: %w", err)
	}
	l.control = ours
	return l.slim()
}

// slimEvery is after how many requests judged-init is slimmed again. Its runtime
// maps more memory as it goes on, half a MiB in the first hundred requests.
const slimEvery = 128

// slim keeps judged-init's memory from what it forks: it would be copied for
// every run.
func (l *Launcher) slim() error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", l.process.Pid))
	if err != nil {
		return err
	}
	defer maps.Close()
	reply, err := l.exchange(stage.MapsRequest(maps))
	if err != nil {
		return err
	}
	_, err = stage.ParseAnswer(reply)
	return err
}

// initArgs are the arguments of judged-init: its name.
func (l *Launcher) initArgs() []string {
	if l.options.Without == 0 {
		return []string{stage.Name}
	}
	return []string{stage.Name, l.options.Without.String()}
}

// stopInit ends judged-init. Sandboxes that it started are not its children
// and live on.
func (l *Launcher) stopInit() {
	if l.control == nil {
		return
	}
	l.control.Close()
	l.control = nil
	_ = l.process.Kill() // it may have ended, and that is what is wanted
	_, _ = l.process.Wait()
}

// initTimeout is how long judged-init may take for an answer. It is an
// emergency brake: an answer takes less than a millisecond.
const initTimeout = 30 * time.Second

// request asks judged-init to fork and returns the pid. A judged-init that has
// ended, killed for memory for instance, is started again: for this request if
// it did not get it, else for the next one.
func (l *Launcher) request(msg []byte, fds []int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newborn.pid.Store(0)
	if l.requests++; l.requests%slimEvery == 0 && l.control != nil && l.slim() != nil {
		l.stopInit() // it is started again for this request
	}
	reply, err := l.exchange(msg, fds)
	// It was gone, or went with the request unread.
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		l.stopInit()
		reply, err = l.exchange(msg, fds)
	}
	if err != nil || len(reply) == 0 {
		l.stopInit()
		err = errors.Join(err, l.newborn.end())
	}
	if err != nil {
		return 0, err
	}
	return stage.ParseAnswer(reply)
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
	buf := make([]byte, stage.MaxMessage)
	n, _, err := linux.Receive(fd, buf)
	return buf[:n], err
}

// nextUID cycles through the range, so that a run never meets what another of
// the same user left in the kernel.
func (l *Launcher) nextUID() int {
	return l.options.UIDFirst + int((l.uids.Add(1)-1)%int64(l.options.UIDCount))
}
