package stage

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/linux"
)

// The places inside a sandbox.
const (
	Box     = "/box"      // the tmpfs of the run
	WorkDir = "/box/work" // where the solution starts
	TempDir = "/box/tmp"  // /tmp points here
	ShmDir  = "/box/shm"  // /dev/shm points here
)

// Path is where a program without a slash in its name is looked up.
const Path = "/usr/local/bin:/usr/bin:/bin"

// Name is what judged-init is called: a program started under it becomes it.
const Name = "judged-init"

// Template is what judged-init is started with: what all sandboxes of a slot
// have in common.
type Template struct {
	BoxBytes  int64 // size of the tmpfs
	BoxInodes int
	Node      int // NUMA node of its pages, -1 for any
}

// Args is the command line of judged-init for this template.
func (t Template) Args() []string {
	return []string{Name, strconv.FormatInt(t.BoxBytes, 10), strconv.Itoa(t.BoxInodes), strconv.Itoa(t.Node)}
}

func parseTemplate(args []string) (t Template, err error) {
	if len(args) != 4 {
		return t, errors.New("judged-init is started by judged only")
	}
	if t.BoxBytes, err = strconv.ParseInt(args[1], 10, 64); err != nil {
		return t, err
	}
	if t.BoxInodes, err = strconv.Atoi(args[2]); err != nil {
		return t, err
	}
	t.Node, err = strconv.Atoi(args[3])
	return t, err
}

// IsInit reports whether this process was started to be judged-init. A main
// function asks first thing, before flags, logs or metrics exist.
func IsInit() bool { return len(os.Args) > 0 && os.Args[0] == Name && os.Getpid() == 1 }

// Main is judged-init, from its start to its end by SIGKILL. It does not
// return.
func Main() {
	err := serve(os.Args)
	if err != nil {
		_ = linux.Send(controlFD, append([]byte{msgFailed}, err.Error()...), nil) // judged may be gone
	}
	// The end of pid 1 is the end of its namespace.
	os.Exit(1)
}

// serve is the life of judged-init: one template, one load, one run.
func serve(args []string) error {
	t, err := parseTemplate(args)
	if err != nil {
		return err
	}
	if err := linux.HideProcess(); err != nil {
		return err
	}
	if err := mountRun(t); err != nil {
		return err
	}
	if err := linux.Send(controlFD, []byte{msgReady}, nil); err != nil {
		return err
	}
	l, fds, err := receiveLoad()
	if err != nil || l == nil {
		return err
	}
	if err := putFiles(l, fds.files); err != nil {
		return err
	}
	child, err := park(l, fds)
	if err != nil {
		return err
	}
	if err := linux.Send(controlFD, []byte{msgParked}, nil); err != nil {
		return err
	}
	x, err := child.wait()
	if err != nil {
		return err
	}
	if err := linux.Send(controlFD, x.encode(), nil); err != nil {
		return err
	}
	// What the solution left behind lives until judged has killed it: orphans
	// come to pid 1, and a zombie holds a place in the pids controller.
	for {
		linux.ReapAll()
		if i, err := linux.WaitReadable(linux.Forever, controlFD); err != nil || i == 0 {
			return err // judged closed its end
		}
	}
}

// mountRun mounts what every run has for itself on the template that judged
// made: the place where it may write, and a /proc of its pid namespace that
// shows it nothing but its own processes.
func mountRun(t Template) error {
	data := "mode=0755,size=" + strconv.FormatInt(t.BoxBytes, 10) + ",nr_inodes=" + strconv.Itoa(t.BoxInodes)
	if t.Node >= 0 {
		data += ",mpol=bind:" + strconv.Itoa(t.Node)
	}
	if err := linux.Mount("tmpfs", Box, linux.NoSuid|linux.NoDev, data); err != nil {
		return err
	}
	for _, dir := range []string{WorkDir, TempDir, ShmDir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	// This also covers judged-init's own file, which lies below.
	flags := uintptr(linux.NoSuid | linux.NoDev | linux.NoExec | linux.ReadOnly)
	if err := linux.Mount("proc", "/proc", flags, "hidepid=2,subset=pid"); err != nil {
		return err
	}
	return os.Chdir(WorkDir)
}

// loadFDs are the descriptors of a load by purpose.
type loadFDs struct {
	stdin, stdout, stderr, gate, birth int
	tasks, files                       []int
}

// receiveLoad waits for the load; nil is judged closing the connection.
func receiveLoad() (*Load, loadFDs, error) {
	var none loadFDs
	var buf [1]byte
	n, fds, err := linux.Receive(controlFD, buf[:])
	if err != nil || n == 0 {
		return nil, none, err
	}
	if len(fds) < fixedFDs {
		return nil, none, errors.New("receive load: too few descriptors")
	}
	b, err := readAll(fds[0])
	if err != nil {
		return nil, none, err
	}
	l := new(Load)
	if err := l.Decode(b); err != nil {
		return nil, none, err
	}
	if len(fds) != l.FDs() {
		return nil, none, errors.New("receive load: got " + strconv.Itoa(len(fds)) + " descriptors, want " + strconv.Itoa(l.FDs()))
	}
	d := loadFDs{stdin: fds[1], stdout: fds[2], stderr: fds[3], gate: fds[4], birth: -1}
	rest := fds[fixedFDs:]
	if l.Birth {
		d.birth, rest = rest[0], rest[1:]
	}
	d.tasks, d.files = rest[:l.Tasks], rest[l.Tasks:]
	return l, d, nil
}

// putFiles copies the files into the working directory and hands the places
// where the solution may write over to it. The copies are charged to judged's
// memory, not to the run's.
func putFiles(l *Load, fds []int) error {
	for i, f := range l.Files {
		if err := putFile(f, fds[i], l.UID); err != nil {
			return errors.New("put " + strconv.Quote(f.Name) + ": " + err.Error())
		}
	}
	for _, dir := range []string{WorkDir, TempDir, ShmDir} {
		if err := os.Chown(dir, l.UID, l.UID); err != nil {
			return err
		}
	}
	return nil
}

// putFile uses system calls and not os.File, whose first regular file would
// set an epoll instance up.
func putFile(f File, src, uid int) error {
	defer syscall.Close(src)
	mode := uint32(0o644)
	if f.Exec {
		mode = 0o755
	}
	dst, err := syscall.Open(WorkDir+"/"+f.Name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	defer syscall.Close(dst)
	if err := linux.CopyAll(dst, src); err != nil {
		return err
	}
	// fchmod also, because the umask of judged is not ours to know.
	return errors.Join(syscall.Fchmod(dst, mode), syscall.Fchown(dst, uid, uid))
}

// lookPath finds a program the way a shell does. What cannot be found stays as
// it is: execve says why.
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

// child is the parked child and then the solution.
type child struct {
	pid    int
	parked counters // what it had on them when it was let go
	report *os.File // read end of what the child says of itself
	steps  []linux.Step
}

// park forks the child and waits until it waits.
func park(l *Load, fds loadFDs) (*child, error) {
	r, w, err := linux.Pipe()
	if err != nil {
		return nil, err
	}
	from := childFDs{stdin: fds.stdin, stdout: fds.stdout, stderr: fds.stderr, gate: fds.gate, report: int(w.Fd()), tasks: fds.tasks}
	steps, err := childSteps(l, from, lookPath(l.Args[0]))
	if err != nil {
		return nil, err
	}
	pid, err := linux.ForkSteps(&linux.ForkedChild{Cgroup: fds.birth, Report: int(w.Fd()), Steps: steps})
	if err != nil {
		return nil, err
	}
	// Ours must be closed for the end of the child's to be seen.
	w.Close()
	c := &child{pid: pid, report: r, steps: steps}
	said, ok := c.readReport()
	switch {
	case !ok:
		return nil, errors.New("prepare run: the child ended early")
	case !said.Parked():
		return nil, errors.New("prepare run: " + c.stepName(said) + ": " + syscall.Errno(said.Errno).Error())
	}
	c.parked = readCounters(pid)
	return c, nil
}

func (c *child) stepName(e linux.StepError) string {
	if e.Step < 0 || int(e.Step) >= len(c.steps) {
		return "step " + strconv.Itoa(int(e.Step))
	}
	return c.steps[e.Step].Name
}

// readReport reads what the child says of itself; false is the end of the
// descriptor, which a successful execve closes.
func (c *child) readReport() (linux.StepError, bool) {
	var b [linux.StepErrorSize]byte
	if _, err := io.ReadFull(c.report, b[:]); err != nil {
		return linux.StepError{}, false
	}
	return linux.DecodeStepError(b), true
}

// wait blocks until the child has ended and collects what the kernel knows of
// it while it is a zombie.
func (c *child) wait() (*Exit, error) {
	if err := linux.WaitExited(c.pid); err != nil {
		return nil, err
	}
	x := &Exit{Ended: linux.Monotonic(), FailedStep: -1, counters: readCounters(c.pid).since(c.parked)}
	status, err := linux.Reap(c.pid)
	if err != nil {
		return nil, err
	}
	x.Status = uint32(status)
	if e, failed := c.readReport(); failed {
		x.FailedStep, x.FailedErrno = e.Step, e.Errno
		x.FailedExec = int(e.Step) == len(c.steps)-1
		x.StepName = c.stepName(e)
	}
	return x, nil
}
