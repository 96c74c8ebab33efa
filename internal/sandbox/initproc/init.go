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

// Paths inside a sandbox. A run can write only to one tmpfs, the box.
const (
	Box     = "/box"
	WorkDir = Box + "/" + Work // working directory of the solution
	Work    = "work"           // folders in the box
	Temp    = "tmp"            // target of /tmp
	Shm     = "shm"            // target of /dev/shm
)

// Files is the folder with the run's program and files. The working directory has links to them.
const Files = "/files"

// Host is the folder with the run's copies of host files, if any.
const Host = "/host"

// Path is the search path for program names without a slash.
const Path = "/usr/local/bin:/usr/bin:/bin"

// Name is the process name (argv[0]) that makes a program run as judged-init.
const Name = "judged-init"

// IsInit reports whether this process was started as judged-init or as the canary, which is the same program. A main
// function calls it first, before flags, logs or metrics exist.
func IsInit() bool { return os.Args[0] == Name || isCanary() }

// Main runs judged-init until judged closes the connection. It does not return.
func Main() {
	if isCanary() {
		os.Exit(runKernel(os.Args[1:]))
	}
	// The pid namespace for children is set per thread, and children of a thread get their parent-death signal when
	// it exits.
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		_ = linux.Send(controlFD, answer(0, err), nil) // judged may have exited
		os.Exit(1)
	}
	os.Exit(0)
}

// run runs judged-init with its arguments: in tests of the layers, the layer that is left out.
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

// serve answers requests one at a time. Each takes half a millisecond.
func serve(without Layers) error {
	self, err := linux.OpenProcess(os.Getpid())
	if err != nil {
		return err
	}
	pidHandoff, err := linux.SharedWord(pidHandoffFD)
	if err != nil {
		return err
	}
	var buf [MaxMessage]byte
	for {
		n, fds, err := linux.Receive(controlFD, buf[:])
		if err != nil || n == 0 {
			return err
		}
		pid, err := handle(buf[:n], fds, int(self.Fd()), pidHandoff, without)
		closeAll(fds)
		if err := linux.Send(controlFD, answer(pid, err), nil); err != nil {
			return err
		}
	}
}

// inherit sets properties of judged-init that all processes it forks inherit and cannot change.
func inherit(without Layers) error {
	// Whether a run gets huge pages must not depend on how fragmented the host's memory is.
	if err := linux.NoHugePages(); err != nil {
		return err
	}
	if without.Has(User) {
		return nil
	}
	return linux.DropBounding()
}

func handle(msg []byte, fds []int, self int, pidHandoff *atomic.Int32, without Layers) (int, error) {
	switch {
	case msg[0] == msgMaps && len(fds) == 1:
		maps, err := readAll(fds[0])
		if err != nil {
			return 0, err
		}
		return os.Getpid(), linux.ExcludeMemoryFromChildren(maps)
	case msg[0] == msgInit && len(fds) <= 1:
		return startInit(fds, pidHandoff, without)
	case msg[0] == msgChild:
		f, err := parseRequest(msg, fds)
		if err != nil {
			return 0, err
		}
		return park(f, self, pidHandoff, without)
	}
	return 0, errors.New("read request: unknown")
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd) // exactly once: see readAll
	}
}

// startInit forks process 1 of a sandbox and waits until it is parked.
func startInit(networks []int, pidHandoff *atomic.Int32, without Layers) (int, error) {
	r, w, err := linux.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	steps := initSteps(networks, int(w.Fd()), without)
	pid, err := linux.ForkSteps(&linux.ForkedChild{Cgroup: -1, Namespaces: namespaces(without), Sibling: true,
		Report: int(w.Fd()), PIDHandoff: pidHandoff, Steps: steps})
	w.Close() // so that the read below ends when the child's copy is closed
	if err != nil {
		return 0, err
	}
	switch report, ok := ReadReport(r); {
	case !ok:
		err = errors.New("start process 1: exited before it reported")
	case !report.Parked():
		err = errors.New("start process 1: " + steps[report.Step].Name + ": " + syscall.Errno(report.Errno).Error())
	}
	return pid, err
}

// namespaces returns the clone flags of process 1.
func namespaces(without Layers) uintptr {
	if without.Has(Namespaces) {
		return linux.MountNamespace
	}
	return linux.RunNamespaces
}

// initSteps returns the steps of process 1.
func initSteps(networks []int, report int, without Layers) []linux.Step {
	var steps []linux.Step
	if !without.Has(Namespaces) {
		for _, network := range networks { // at most one
			steps = append(steps, linux.EnterNetworkStep(network))
		}
	}
	return append(steps,
		// Ctrl-C in judged's terminal is handled by judged.
		linux.NewProcessGroupStep(),
		// Process 1 adopts orphans; as zombies they would count in the pids controller.
		linux.IgnoreSignalStep(syscall.SIGCHLD),
		linux.AllSignalsStep(),
		linux.ParkedStep(report),
		// The lifeline closes when judged exits at any time. A parent-death signal is not enough: it is not
		// sent if judged exits before this process has requested it.
		linux.DupStep(lifelineFD, 0),
		// This also closes the connection to judged: judged sees it close only when no process holds it.
		linux.CloseFromStep(1),
		linux.ReadByteStep("read lifeline", 0),
	)
}

// ReadReport reads the report of a forked process: that it is parked, or which step failed. It returns false at the
// end of the pipe: the process has executed another program, or exited.
func ReadReport(r *os.File) (linux.StepError, bool) {
	report, _, ok := ReadParked(r)
	return report, ok
}

// ReadParked is like ReadReport for the parked child, whose report includes its resource usage so far.
func ReadParked(r *os.File) (linux.StepError, linux.Usage, bool) {
	var b [linux.ParkedUsageSize]byte
	n, err := r.Read(b[:])
	if err != nil || n < linux.StepErrorSize {
		return linux.StepError{}, linux.Usage{}, false
	}
	report := linux.DecodeStepError([linux.StepErrorSize]byte(b[:]))
	if n < len(b) {
		return report, linux.Usage{}, true
	}
	return report, linux.DecodeParkedUsage(b), true
}

// path returns the program that the child executes.
func (l *Load) path() string {
	if l.Program != "" {
		return l.Program
	}
	if strings.Contains(l.Args[0], "/") {
		return l.Args[0]
	}
	if path, ok := Find(l.Args[0]); ok {
		return path
	}
	return l.Args[0] // execve reports the error
}

// Find finds a program by its name, as a shell does, among the host's files that all sandboxes see.
func Find(name string) (path string, ok bool) {
	for dir := range strings.SplitSeq(Path, ":") {
		path = dir + "/" + name
		if IsProgram(path) {
			return path, true
		}
	}
	return "", false
}

// IsProgram reports whether a path names a file that can be executed.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
