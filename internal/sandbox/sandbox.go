package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"judged/internal/cgroup"
	"judged/internal/linux"
	"judged/internal/seccomp"
	"judged/internal/stage"
	"judged/internal/units"
)

// Spec is one program to run, and its bounds.
type Spec struct {
	Args   []string // Args[0] is looked up in stage.Path unless it has a slash
	Files  []File   // put into the working directory before anything counts
	Input  *Input   // stdin; nil is /dev/null
	Limits Limits
	// OutputHint is how much output is expected. That much memory is set
	// aside beforehand, so that neither its pages nor their making are
	// billed to the run.
	OutputHint units.Bytes
}

// File is a file of the host to be copied into the working directory.
type File struct {
	Name string
	Path string
	Exec bool
}

// Limits bound one run. All must be positive.
type Limits struct {
	CPUTime   time.Duration // the run is killed here, in CPU time of all its processes
	WallTime  time.Duration
	Memory    units.Bytes
	Output    units.Bytes // of stdout, and of every file that it writes; one byte more is possible and tells that the limit was hit
	Stack     units.Bytes
	Processes int
}

// prepareTimeout is how long judged-init may take for its part. It is an
// emergency brake: the part takes milliseconds.
const prepareTimeout = 30 * time.Second

// openFiles is RLIMIT_NOFILE of a run. Runtimes need a few dozen; pipes and
// memfds hold kernel memory each.
const openFiles = 256

// Sandbox is prepared for one run. It is not safe for concurrent use.
type Sandbox struct {
	launcher *Launcher
	slot     Slot
	group    *cgroup.Group
	process  *os.Process // judged-init
	control  *os.File
	gate     *os.File // the go byte goes in here
	stdout   *Output
	stderr   *Output
	limits   Limits
	overhead time.Duration
}

// Prepare makes a sandbox on a slot up to the point where only the program is
// missing. Close it in any case.
func (l *Launcher) Prepare(slot Slot) (*Sandbox, error) {
	s := &Sandbox{launcher: l, slot: slot}
	begin := linux.Monotonic()
	err := s.prepare()
	s.overhead += linux.Monotonic() - begin
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare sandbox: %w", err), s.Close())
	}
	return s, nil
}

func (s *Sandbox) prepare() (err error) {
	if s.group, err = s.slot.Group.NewGroup(); err != nil {
		return err
	}
	ours, theirs, err := linux.Socketpair()
	if err != nil {
		return err
	}
	s.control = ours
	defer theirs.Close()
	t := stage.Template{BoxBytes: int64(s.launcher.options.BoxBytes), BoxInodes: s.launcher.options.BoxInodes, Node: -1}
	if s.slot.BindNode {
		t.Node = s.slot.Node
	}
	if s.process, err = s.launcher.start(t, theirs); err != nil {
		return err
	}
	theirs.Close()
	msg, err := s.receive(prepareTimeout)
	if err != nil {
		return err
	}
	return stage.ParseReady(msg)
}

// Load puts the program in place and parks it, everything but its execve done.
func (s *Sandbox) Load(spec Spec) error {
	begin := linux.Monotonic()
	err := s.load(spec)
	s.overhead += linux.Monotonic() - begin
	if err != nil {
		return fmt.Errorf("load sandbox: %w", err)
	}
	return nil
}

func (s *Sandbox) load(spec Spec) (err error) {
	s.limits = spec.Limits
	if err := s.group.Limit(spec.Limits.Memory, spec.Limits.Processes); err != nil {
		return err
	}
	if s.stdout, err = newOutput("stdout", min(spec.OutputHint, spec.Limits.Output), s.slot); err != nil {
		return err
	}
	if s.stderr, err = newOutput("stderr", min(stderrHint, spec.Limits.Output), s.slot); err != nil {
		return err
	}
	gate, ours, err := linux.Pipe()
	if err != nil {
		return err
	}
	s.gate = ours
	defer gate.Close()
	var send sender
	defer send.close()
	l := s.loadMessage(spec)
	send.encoded(l.Encode())
	send.input(spec.Input)
	send.file(s.stdout.write, nil)
	send.file(s.stderr.write, nil)
	send.file(gate, nil)
	if birth := s.group.Birth(); birth != nil {
		send.file(birth, nil)
	}
	for _, tasks := range s.group.Tasks() {
		send.file(tasks, nil)
	}
	for _, f := range spec.Files {
		send.open(f.Path)
	}
	if err := send.to(s.control); err != nil {
		return err
	}
	msg, err := s.receive(prepareTimeout)
	if err != nil {
		return err
	}
	return stage.ParseParked(msg)
}

func (s *Sandbox) loadMessage(spec Spec) *stage.Load {
	l := &stage.Load{
		Args:      spec.Args,
		Env:       environment(),
		UID:       s.launcher.nextUID(),
		CPUs:      s.slot.CPUs,
		FileSize:  uint64(spec.Limits.Output) + 1,
		Stack:     uint64(spec.Limits.Stack),
		OpenFiles: openFiles,
		Seccomp:   encodeFilter(s.launcher.options.Seccomp),
		Tasks:     len(s.group.Tasks()),
		Birth:     s.group.Birth() != nil,
	}
	for _, f := range spec.Files {
		l.Files = append(l.Files, stage.File{Name: f.Name, Exec: f.Exec})
	}
	return l
}

// environment is the same for every run: the size of the environment moves the
// stack, which alone can change a running time by percents (Mytkowicz et al.,
// ASPLOS 2009).
func environment() []string {
	return []string{"PATH=" + stage.Path, "HOME=" + stage.WorkDir, "TMPDIR=" + stage.TempDir, "LANG=C.UTF-8"}
}

// encodeFilter lays the instructions out as the kernel's struct sock_filter.
func encodeFilter(f seccomp.Filter) []byte {
	b := make([]byte, 0, len(f)*8)
	for _, i := range f {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.JT, i.JF)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// receive waits for one message of judged-init.
func (s *Sandbox) receive(timeout time.Duration) ([]byte, error) {
	i, err := linux.WaitReadable(timeout, int(s.control.Fd()))
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, fmt.Errorf("wait for judged-init: no answer within %s", timeout)
	}
	var buf [stage.MaxMessage]byte
	n, _, err := linux.Receive(int(s.control.Fd()), buf[:])
	return buf[:n], err
}

// Overhead is the time that judged needed around the run so far.
func (s *Sandbox) Overhead() time.Duration { return s.overhead }

// Close ends whatever still lives in the sandbox and removes all of it. What
// Run returned stays valid.
func (s *Sandbox) Close() error {
	begin := linux.Monotonic()
	var errs []error
	if s.process != nil {
		// pid 1 takes its namespace along.
		if err := s.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		if _, err := s.process.Wait(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, f := range []*os.File{s.control, s.gate} {
		if f != nil {
			f.Close()
		}
	}
	for _, o := range []*Output{s.stdout, s.stderr} {
		if o != nil {
			o.Close()
		}
	}
	if s.group != nil {
		errs = append(errs, s.group.Remove())
	}
	s.overhead += linux.Monotonic() - begin
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	return nil
}
