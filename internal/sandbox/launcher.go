package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
	"judged/internal/sandbox/seccomp"
)

// Options are common to all sandboxes of a Launcher.
type Options struct {
	Root      Root
	BoxBytes  units.Bytes // total size of the files that a run may write
	BoxInodes int
	// UIDFirst and UIDCount are the range that runs take their user and group IDs from, in turn. Nothing else on the
	// host may use it: the kernel keeps limits and keyrings per user.
	UIDFirst, UIDCount int
	Seccomp            seccomp.Filter // empty: no filter
	CPUs               cpuset.Set     // of judged-init and of process 1 of each sandbox; empty: those of judged
	// Prepared is a folder of this host that programs see, read-only, as PreparedPath; "" means none. It needs RootHost.
	Prepared string
	// Cold programs load their files from the disk: those of a compiler, whose times decide nothing.
	Cold bool
	// Without lists layers that the attack suite removes, one at a time, to test which of the others stop an
	// attack. It cannot be configured.
	Without initproc.Layers
}

// Resources are the resources of the runs of one slot, which run one at a time.
type Resources struct {
	CPUs     cpuset.Set
	Node     int  // NUMA node of the memory
	BindNode bool // whether the host has more than one
	NohzFull bool // whether one of the CPUs may run without a tick
	Tickless bool // whether all of them may
	Group    *cgroup.Subtree
	// Network is the network namespace of the runs, see NewNetwork. If it is nil they use the Launcher's.
	Network *os.File
	// Copies holds the inputs of the runs, see Launcher.Copies.
	Copies *Copies
	// Trees holds the copies of the host's files for runs with RootPrivate, see NewTrees. Without it programs
	// must be static.
	Trees *Trees
}

// onItsNode adds the option that allocates the pages of a tmpfs on the slot's node.
func (s Resources) onItsNode(options [][2]string) [][2]string {
	if !s.BindNode {
		return options
	}
	return append(options, [2]string{"mpol", fmt.Sprintf("bind:%d", s.Node)})
}

// NewNetwork creates an empty network namespace for a slot. The caller closes it. A run may create pairs of
// unix sockets, and /proc/self/net counts and lists the sockets of its namespace, so two concurrent runs in one
// namespace would see each other's activity. A namespace per run would take 0.7 ms to create and 0.2 ms to
// remove without any benefit, because sockets end with their processes before the next run begins.
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

// Launcher starts sandboxes. It owns a thread of the process, whose mount, network and UTS namespaces all
// sandboxes start from, and judged-init, which is started in that thread. The thread lives as long as the
// Launcher: judged-init and the programs are killed when it exits (PR_SET_PDEATHSIG is bound to the parent
// thread), and the first processes of sandboxes exit when the lifeline closes.
//
// Its network namespace is empty; each slot has its own empty one.
type Launcher struct {
	options Options
	filter  []byte // Options.Seccomp, encoded
	lang    string // LANG of the runs
	finder  *runtimes.Finder
	reader  *runtimes.Reader
	mounts  *mountStore
	copies  *Copies
	uids    atomic.Int64
	thread  chan func()
	// lifeline is a pipe; only judged has its write end.
	lifeline   struct{ read, write *os.File }
	pidHandoff pidHandoff
	close      sync.Once

	mu       sync.Mutex // guards the fields below: judged-init answers one request at a time
	process  *os.Process
	control  *os.File // nil until judged-init is started, and after it has exited
	requests int
}

// Open builds the template and starts judged-init. It needs root.
func Open(o Options) (*Launcher, error) {
	if !linux.IsRoot() {
		return nil, errors.New("build sandbox: judged must be root to make namespaces and control groups; " +
			"start it with sudo or as a system service")
	}
	program, err := InitProgram()
	if err != nil {
		return nil, fmt.Errorf("read judged-init: %w", err)
	}
	l := &Launcher{options: o, filter: encodeFilter(o.Seccomp), finder: newFinder(), reader: runtimes.NewReader(),
		lang: "C", thread: make(chan func())}
	if o.Root != RootMinimal {
		l.lang = runtimes.Lang()
	}
	// Start at a random ID: a previous judged may have exited a moment ago, and another one may run at the same time.
	l.uids.Store(rand.Int64N(int64(o.UIDCount)))
	if l.lifeline.read, l.lifeline.write, err = linux.Pipe(); err != nil {
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	if err := l.pidHandoff.open(); err != nil {
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	ready := make(chan error)
	onOwnThread(func() { l.runThread(program, ready) })
	if err = <-ready; err == nil {
		err = l.startInit()
	}
	if err == nil {
		l.mounts, err = openMountStore()
	}
	if err == nil {
		l.copies, err = openCopies(l.mounts)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("build sandbox: %w", err)
	}
	return l, nil
}

// onOwnThread runs f on a dedicated thread. Its namespaces must not affect other goroutines, so the thread
// stays locked and the runtime ends it with f. It is never the first thread of the process: /proc/self shows
// that one, and everything that reads it would see the sandbox.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !linux.IsFirstThread() {
			f()
			return
		}
		held := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another thread, because the first is locked
			close(held)
			f()
		}()
		<-held
		runtime.UnlockOSThread()
	}()
}

// runThread builds the template and then runs jobs.
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

// Close ends judged-init and the launcher's threads. All sandboxes and trees must be closed.
func (l *Launcher) Close() {
	l.close.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stopInit()
		l.lifeline.write.Close()
		l.lifeline.read.Close()
		l.pidHandoff.close()
		close(l.thread)
		if l.copies != nil {
			_ = l.copies.close() // its file system is unmounted with the mount store
		}
		if l.mounts != nil {
			l.mounts.close()
		}
	})
}

// Copies returns the launcher's copies of files and inputs.
func (l *Launcher) Copies() *Copies { return l.copies }

// hasTrees reports whether runs see copies of the host's files.
func (l *Launcher) hasTrees() bool {
	return l.options.Root == RootPrivate && !l.options.Without.Has(initproc.Root)
}

// nextUID cycles through the range, so that a run is not affected by what an earlier run of the same user left
// in the kernel.
func (l *Launcher) nextUID() int {
	return l.options.UIDFirst + int((l.uids.Add(1)-1)%int64(l.options.UIDCount))
}

// process is a child of judged that judged-init forked. nil means not started.
type process struct {
	pid int
	fd  *os.File // readable when it has ended
}

// newProcess takes ownership of a process. On failure it kills the process, because nothing else knows it.
func newProcess(pid int) (*process, error) {
	fd, err := linux.OpenProcess(pid)
	if err != nil {
		killed := syscall.Kill(pid, syscall.SIGKILL) // the pid cannot be reused before it is reaped
		_, _, reaped := linux.Reap(pid)
		return nil, errors.Join(err, killed, reaped)
	}
	return &process{pid: pid, fd: fd}, nil
}

// reap collects the process, which must have ended or been killed. Its pid may be reused afterwards.
func (p *process) reap() (syscall.WaitStatus, linux.Usage, error) {
	status, usage, err := linux.Reap(p.pid)
	p.fd.Close()
	p.fd = nil
	return status, usage, err
}

// killAndReap kills and reaps the process unless it has been reaped. The wait is bounded: a process that cannot be
// killed must not block its slot, or judged when it shuts down.
func (p *process) killAndReap(within time.Duration) error {
	if p == nil || p.fd == nil {
		return nil
	}
	killed := linux.KillProcess(p.fd)
	gone, err := linux.Await(context.Background(), p.fd, within)
	if err != nil {
		return errors.Join(killed, err)
	}
	if !gone {
		return fmt.Errorf("kill process %d: still alive %s after SIGKILL, %s; restart judged, and reboot if the process "+
			"remains", p.pid, within, p.describe())
	}
	_, _, reaped := p.reap()
	return errors.Join(killed, reaped)
}

// describe returns what the process waits for, and the other processes in its pid namespace: process 1 of a
// namespace exits after all others.
func (p *process) describe() string {
	proc := fmt.Sprintf("/proc/%d", p.pid)
	text := fmt.Sprintf("in state %c, waiting in %q", threadState(p.pid), read(proc+"/wchan"))
	namespace, err := os.Readlink(proc + "/ns/pid")
	if err != nil {
		return text
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return text
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == p.pid {
			continue
		}
		if other, err := os.Readlink("/proc/" + e.Name() + "/ns/pid"); err == nil && other == namespace {
			text += fmt.Sprintf(", with process %d in state %c", pid, threadState(pid))
		}
	}
	return text
}

// The kernel decides whether a program can be executed, with two exceptions: it starts a truncated ELF file, which
// then crashes on a missing page; and its ENOENT does not show which file is missing.

// ownProgram returns the index of the file of the run that is to be executed; -1 means a program of the host.
func ownProgram(args []string, files []File) int {
	name := inBox(args[0])
	return slices.IndexFunc(files, func(f File) bool { return f.Name == name })
}

// refused returns a Result for a program that must not be executed although the kernel would try; ok means that
// it may be executed.
func refused(program *runtimes.Program) (r Result, ok bool) {
	switch {
	case program == nil:
		return Result{}, true
	case !program.Whole:
		return Result{ExecError: syscall.ELIBBAD}, false
	}
	// env would look for the interpreter and exit with status 127.
	if wanted := program.Wanted; wanted != "" && !hostHas(wanted) {
		return Result{ExecError: syscall.ENOENT, Lacks: wanted}, false
	}
	return Result{}, true
}

// lacks returns the missing file if a program cannot be executed because of the operator or the platform; ""
// means that the program itself is at fault. If the command is not a file of the run, the platform is
// responsible. If the program names an interpreter or loader that hosts usually have, the host should have it
// where programs see it; a program can name any other file.
func lacks(errno syscall.Errno, args []string, program *runtimes.Program) string {
	if program == nil {
		return args[0]
	}
	if errno == syscall.ENOENT {
		return program.Wanted
	}
	return ""
}

// WhyLacks returns for operators what to do about Lacks.
func (r Result) WhyLacks() string {
	if hostHas(r.Lacks) {
		return fmt.Sprintf("this host has %q, but it leads to a file that programs do not see; install it below /usr",
			r.Lacks)
	}
	return fmt.Sprintf("this host has no %q; install it", r.Lacks)
}

// notFound is the exit status of a shell that does not find a program.
const notFound = 127

// lacksToContinue returns the interpreter that a script did not find when it tried to exec it; "" if it has
// ended for another reason.
func lacksToContinue(code int, program *runtimes.Program) string {
	if code != notFound || program == nil {
		return ""
	}
	for _, name := range program.Executes {
		if !hostHas(name) {
			return name
		}
	}
	return ""
}

// hostHas reports whether the host has a file: a path, or a name in the folders of PATH.
func hostHas(program string) bool {
	folders := strings.Split(initproc.Path, ":")
	if strings.Contains(program, "/") {
		folders = []string{""}
	}
	return slices.ContainsFunc(folders, func(dir string) bool {
		_, err := os.Stat(dir + "/" + program)
		return err == nil
	})
}
