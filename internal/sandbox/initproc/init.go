package initproc

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"judged/internal/base/linux"
)

// The places inside a sandbox. All that a run may write to is one tmpfs, the
// box.
const (
	Box     = "/box"
	WorkDir = Box + "/" + Work // where the solution starts
	Work    = "work"           // the folders of the box
	Temp    = "tmp"            // /tmp points here
	Shm     = "shm"            // /dev/shm points here
)

// Files is where a run sees its program and files. The working directory has links to
// them.
const Files = "/files"

// Host is where a run has its copies of files of the host, if it needs any.
const Host = "/host"

// Path is where a program without a slash in its name is looked up.
const Path = "/usr/local/bin:/usr/bin:/bin"

// Name is what judged-init is called: a program started under it becomes it.
const Name = "judged-init"

// IsInit reports whether this process was started to be judged-init or the
// canary, which is the same program. A main
// function asks first thing, before flags, logs or metrics exist.
func IsInit() bool { return os.Args[0] == Name || isCanary() }

// Main is judged-init, until judged closes the connection. It does not return.
func Main() {
	if isCanary() {
		os.Exit(runKernel(os.Args[1:]))
	}
	// The thread's choice of a pid namespace for its children must not
	// wander, and what it forks dies with it.
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		_ = linux.Send(controlFD, answer(0, err), nil) // judged may be gone
		os.Exit(1)
	}
	os.Exit(0)
}

// run is judged-init with its arguments: in tests of the layers the one that is
// left out.
func run(args []string) error {
	without, err := ParseLayers(strings.Join(args, ","))
	if err != nil {
		return err
	}
	if err := inherit(without); err != nil {
		return err
	}
	return serve(without)
}

// serve answers requests, one after the other: each takes half a millisecond.
func serve(without Layers) error {
	self, err := linux.OpenProcess(os.Getpid())
	if err != nil {
		return err
	}
	newborn, err := linux.SharedWord(newbornFD)
	if err != nil {
		return err
	}
	var buf [MaxMessage]byte
	for {
		n, fds, err := linux.Receive(controlFD, buf[:])
		if err != nil || n == 0 {
			return err
		}
		pid, err := handle(buf[:n], fds, int(self.Fd()), newborn, without)
		closeAll(fds)
		if err := linux.Send(controlFD, answer(pid, err), nil); err != nil {
			return err
		}
	}
}

// inherit does to judged-init what all that it forks inherit and none could
// undo.
func inherit(without Layers) error {
	// Whether pages are huge must not depend on how fragmented the host's
	// memory is today.
	if err := linux.NoHugePages(); err != nil {
		return err
	}
	if without.Has(User) {
		return nil
	}
	return linux.DropBounding()
}

func handle(msg []byte, fds []int, self int, newborn *atomic.Int32, without Layers) (int, error) {
	switch {
	case msg[0] == msgMaps && len(fds) == 1:
		maps, err := readAll(fds[0])
		if err != nil {
			return 0, err
		}
		return os.Getpid(), linux.KeepMemoryFromChildren(maps)
	case msg[0] == msgInit && len(fds) <= 1:
		return startInit(fds, newborn, without)
	case msg[0] == msgChild:
		f, err := parseRequest(msg, fds)
		if err != nil {
			return 0, err
		}
		return park(f, self, newborn, without)
	}
	return 0, errors.New("read request: unknown")
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd) // each once: see readAll
	}
}

// startInit forks process 1 of a sandbox and waits until it is parked.
func startInit(networks []int, newborn *atomic.Int32, without Layers) (int, error) {
	r, w, err := linux.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	steps := initSteps(networks, int(w.Fd()), without)
	pid, err := linux.ForkSteps(&linux.ForkedChild{Cgroup: -1, Namespaces: namespaces(without), Sibling: true, Report: int(w.Fd()), Newborn: newborn, Steps: steps})
	w.Close() // ours must be closed for the end of the child's to be seen
	if err != nil {
		return 0, err
	}
	switch said, ok := ReadReport(r); {
	case !ok:
		err = errors.New("start process 1: it ended early")
	case !said.Parked():
		err = errors.New("start process 1: " + steps[said.Step].Name + ": " + syscall.Errno(said.Errno).Error())
	}
	return pid, err
}

// namespaces are those that process 1 is born with.
func namespaces(without Layers) uintptr {
	if without.Has(Namespaces) {
		return linux.MountNamespace
	}
	return linux.RunNamespaces
}

// initSteps are the life of process 1.
func initSteps(networks []int, report int, without Layers) []linux.Step {
	var steps []linux.Step
	if !without.Has(Namespaces) {
		for _, network := range networks { // one at most
			steps = append(steps, linux.EnterNetworkStep(network))
		}
	}
	return append(steps,
		// Ctrl-C at judged's terminal is judged's to handle.
		linux.NewProcessGroupStep(),
		// Orphans come to process 1; a zombie would hold a place in the pids
		// controller.
		linux.IgnoreSignalStep(syscall.SIGCHLD),
		linux.AllSignalsStep(),
		linux.ParkedStep(report),
		// The end of the lifeline is the end of judged, whenever it comes. A
		// signal at the parent's death would not do: a judged that dies before
		// this process has asked for it never sends it.
		linux.DupStep(lifelineFD, 0),
		// Not the least of them: the connection to judged, whose end judged
		// would not see.
		linux.CloseFromStep(1),
		linux.ReadByteStep("read lifeline", 0),
	)
}

// ReadReport reads what a forked process says of itself: that it is parked, or
// which step failed. False is the end: it has become another program, or ended.
func ReadReport(r *os.File) (linux.StepError, bool) {
	said, _, ok := ReadParked(r)
	return said, ok
}

// ReadParked is ReadReport for the parked child, which tells in the same breath
// what it has used until then.
func ReadParked(r *os.File) (linux.StepError, linux.Usage, bool) {
	var b [linux.ParkedUsageSize]byte
	n, err := r.Read(b[:])
	if err != nil || n < linux.StepErrorSize {
		return linux.StepError{}, linux.Usage{}, false
	}
	said := linux.DecodeStepError([linux.StepErrorSize]byte(b[:]))
	if n < len(b) {
		return said, linux.Usage{}, true
	}
	return said, linux.DecodeParkedUsage(b), true
}

// path is what the child executes.
func (l *Load) path() string {
	if l.Program != "" {
		return l.Program
	}
	return lookPath(l.Args[0])
}

// lookPath finds a program the way a shell does, in what all sandboxes see of
// the host. What cannot be found stays as it is: execve says why.
func lookPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for dir := range strings.SplitSeq(Path, ":") {
		path := dir + "/" + name
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return name
}
