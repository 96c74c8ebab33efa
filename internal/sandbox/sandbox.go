package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
	"judged/internal/sandbox/seccomp"
)

// Spec is one program to run, and its limits.
type Spec struct {
	Args  []string // Args[0] is looked up in initproc.Path unless it contains a slash
	Env   []string // NAME=VALUE, adds to or overrides environment
	Files []File   // in the working directory
	Input *Input   // stdin; nil means empty
	// Stdin and Stdout, if not nil, are ends of pipes that replace Input and the file in memory. Load does not close
	// them.
	Stdin, Stdout *os.File
	// StderrToStdout makes stderr the same open file as stdout.
	StderrToStdout bool
	// InputFile, if not "", is the name in the working directory under which the program opens Input; stdin is
	// then empty.
	InputFile string
	mounted   *copied // the input to be mounted at InputFile, by nameInput
	// OutputFile, if not "", is the name in the working directory under which the program writes its answer.
	OutputFile string
	// Open lists files that the program can also open by name in the box, as /box/NAME if they have a name. At
	// most three, and two with InputFile.
	Open []OpenFile
	// FIFOs are the names of named pipes in the box that the program can open.
	FIFOs []string
	// Folder is the name of a folder of the box that the program may write to; "" means no folder.
	Folder string
	// FolderFrom, if not nil, is a folder whose files are copied into Folder.
	FolderFrom *os.File
	Limits     Limits
	// Explained returns how much of the time used by the run so far can be explained by noise at most. It is
	// called once before the run reaches a limit, some time after its start, and when it reaches one. The run
	// is stopped if the remaining time exceeds the limit. If Explained is nil, no time is subtracted.
	Explained func(Progress) Allowance
	// Others are concurrent sandboxes whose CPU time, from their start on, counts towards the limit of this
	// one.
	Others []*Sandbox
}

// File is a file of the host. The run gets a read-only copy, linked from the working directory.
type File struct {
	Name string // may be in folders below the working directory, which are created
	Path string
	Exec bool
}

// OpenFile is an open file and the name under which a program finds it.
type OpenFile struct {
	Name string
	File *os.File // not open for writing; its mode and flags determine what the program may do
}

// Limits bound one run. All must be positive.
type Limits struct {
	CPUTime   time.Duration // total CPU time of all processes at which the run is killed
	WallTime  time.Duration
	Memory    units.Bytes // without output
	Output    units.Bytes // for stdout, stderr, and each written file; one byte more shows that the limit was hit
	Stack     units.Bytes
	Processes int
}

// openFiles is RLIMIT_NOFILE of a run. Runtimes need a few dozen; each pipe and memfd holds kernel memory.
const openFiles = 256

// Sandbox is the sandbox of one run. It is not safe for concurrent use.
type Sandbox struct {
	launcher   *Launcher
	slot       Resources
	group      *cgroup.Group
	box        *os.File // root of the tmpfs that the run may write to
	files      *copied  // used until all processes have ended; may be nil
	process1   *process // process 1 of the run's pid namespace
	solution   *process
	gate       *os.File // a byte written here starts the program
	report     *os.File // reports of the parked child
	load       *initproc.Load
	fds        initproc.LoadFDs
	stdout     *Output
	stderr     *Output
	answer     *Output // named output file, after Run; nil is stdout
	uid        int
	limits     Limits
	explained  func(Progress) Allowance
	overhead   time.Duration
	settle     time.Duration     // how long killed processes may take to end: settleTimeout, except in tests
	unmeasured bool              // count threads even if the kernel measures the pressure; only for tests
	parked     linux.Usage       // usage of the child when it parked
	program    *runtimes.Program // the executed file; nil means a program of the host
	args       []string
	piped      bool   // stdout is a pipe, so only the kernel counts what is written to it
	noAnswer   bool   // the named output file was not created; answer is empty
	answerName string // path of the named output file in the box; "" is stdout
	others     []*Sandbox
	base       atomic.Pointer[cgroup.CPU] // CPU time of the group when the program started; nil until then
	waits      atomic.Pointer[waits]      // nil until the program started
}

// Prepare creates a sandbox on a slot, without a program. The caller must close it.
func (l *Launcher) Prepare(slot Resources) (*Sandbox, error) {
	s := &Sandbox{launcher: l, slot: slot, uid: l.nextUID(), settle: settleTimeout}
	begin := time.Now()
	err := s.prepare()
	s.overhead += time.Since(begin)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare sandbox: %w", err), s.Close())
	}
	return s, nil
}

func (s *Sandbox) prepare() (err error) {
	if s.group, err = s.slot.Group.NewGroup(); err != nil {
		return err
	}
	s.process1, err = s.start(initproc.InitRequest(s.slot.Network))
	return err
}

// newBox creates the run's tmpfs, with its pages on the slot's node. A named output file has additional space.
func (s *Sandbox) newBox(spec Spec) (*os.File, error) {
	o := s.launcher.options
	size := o.BoxBytes
	if spec.OutputFile != "" {
		size += spec.Limits.Output + pageSize()
	}
	options := [][2]string{{"mode", "0755"}, {"size", strconv.FormatInt(int64(size), 10)},
		{"nr_inodes", strconv.Itoa(o.BoxInodes)}}
	box, err := linux.DetachedTmpfs(s.slot.onItsNode(options)...)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{initproc.Work, initproc.Temp, initproc.Shm} {
		if err := linux.MakeDir(box, dir, 0o755, s.uid); err != nil {
			box.Close()
			return nil, err
		}
	}
	return box, nil
}

// start makes judged-init fork a process, which is then a child of judged.
func (s *Sandbox) start(msg []byte, fds []int) (*process, error) {
	pid, err := s.launcher.request(msg, fds)
	if pid == 0 {
		return nil, err
	}
	p, opened := newProcess(pid)
	if err != nil {
		return nil, errors.Join(err, p.killAndReap(s.settle))
	}
	return p, opened
}

// Load installs the program and parks it immediately before execve.
func (s *Sandbox) Load(spec Spec) error {
	begin := time.Now()
	err := s.doLoad(spec)
	s.overhead += time.Since(begin)
	if err != nil {
		return fmt.Errorf("load sandbox: %w", err)
	}
	return nil
}

func (s *Sandbox) doLoad(spec Spec) (err error) {
	s.limits, s.explained, s.others = spec.Limits, spec.Explained, spec.Others
	s.args = spec.Args
	if !s.launcher.options.Without.Has(initproc.Cgroup) {
		if err := s.group.Limit(spec.Limits.Memory+s.room(spec), spec.Limits.Processes); err != nil {
			return err
		}
	}
	if s.box, err = s.newBox(spec); err != nil {
		return err
	}
	if spec.OutputFile != "" {
		s.answerName = workFile(spec.OutputFile)
	}
	input, err := s.nameInput(&spec)
	if err != nil {
		return err
	}
	defer input.Close() // it may be nil
	if err := s.putFolders(spec); err != nil {
		return err
	}
	if err := s.makeFIFOs(spec.FIFOs); err != nil {
		return err
	}
	if s.stdout, err = newOutput("stdout", min(stdoutPreallocated, spec.Limits.Output), s.slot); err != nil {
		return err
	}
	if s.stderr, err = newOutput("stderr", min(stderrPreallocated, spec.Limits.Output), s.slot); err != nil {
		return err
	}
	if err := s.namePipes(spec); err != nil {
		return err
	}
	if err := s.park(spec); err != nil {
		return err
	}
	report, parked, ok := initproc.ReadParked(s.report)
	if !ok {
		return errors.New("park: the child exited early")
	}
	if !report.Parked() {
		return fmt.Errorf("park: %s: %w", initproc.StepName(s.load, s.fds, s.launcher.options.Without, report.Step),
			syscall.Errno(report.Errno))
	}
	s.parked = parked
	return nil
}

// putFiles copies the files, and links the copies into the working directory, where the run may rename and delete the
// links.
func (s *Sandbox) putFiles(files []File) (err error) {
	if len(files) == 0 {
		return nil
	}
	if s.files, err = s.launcher.copies.acquireFiles(files, s.slot, s.launcher.options.BoxBytes); err != nil {
		return err
	}
	for _, folder := range foldersOf(files) {
		if err := linux.MakeDir(s.box, initproc.Work+"/"+folder, 0o755, s.uid); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := linux.MakeLink(s.box, initproc.Work+"/"+f.Name, initproc.Files+"/"+f.Name); err != nil {
			return err
		}
	}
	return nil
}

// foldersOf returns the folders that files are in, each after the one that it is in.
func foldersOf(files []File) (folders []string) {
	for _, f := range files {
		for i, c := range f.Name {
			if c == '/' && !slices.Contains(folders, f.Name[:i]) {
				folders = append(folders, f.Name[:i])
			}
		}
	}
	return folders
}

// returnFiles is called when no process is left in the sandbox.
func (s *Sandbox) returnFiles() error {
	k := s.files
	if s.files = nil; k == nil {
		return nil
	}
	return s.launcher.copies.release(k)
}

// park starts the child that becomes the solution.
func (s *Sandbox) park(spec Spec) (err error) {
	if err := s.putFiles(spec.Files); err != nil {
		return err
	}
	mounts, err := s.launcher.copies.mount(s.files, spec.mounted)
	files, input := mounts[0], mounts[1]
	defer files.Close() // it may be nil
	defer input.Close() // it may be nil
	if err != nil {
		return err
	}
	tree, program, err := s.mountRuntime(spec)
	if err != nil {
		return err
	}
	defer tree.Close() // it may be nil
	s.load = &initproc.Load{
		Args: spec.Args, Program: program, Env: s.launcher.environment(spec.Env), UID: s.uid, CPUs: s.slot.CPUs,
		InputFile: spec.InputFile, FileSize: uint64(spec.Limits.Output) + 1,
		Stack: uint64(spec.Limits.Stack), OpenFiles: openFiles, Seccomp: s.launcher.filter,
	}
	encoded, err := linux.Memfd("load")
	if err != nil {
		return err
	}
	defer encoded.Close()
	if _, err := encoded.Write(s.load.Encode()); err != nil {
		return err
	}
	stdin, stdout := spec.Stdin, s.stdout.write
	if stdin == nil {
		if stdin, err = spec.Input.Open(); err != nil {
			return err
		}
		defer stdin.Close()
	}
	if spec.Stdout != nil {
		stdout, s.piped = spec.Stdout, true
	}
	stderr := s.stderr.write
	if spec.StderrToStdout {
		stderr = stdout
	}
	gate, opener, err := linux.Pipe()
	if err != nil {
		return err
	}
	s.gate = opener
	defer gate.Close()
	report, theirs, err := linux.ReadPipe()
	if err != nil {
		return err
	}
	s.report = report
	defer theirs.Close()
	s.fds = initproc.LoadFDs{Load: int(encoded.Fd()), Stdin: int(stdin.Fd()), Stdout: int(stdout.Fd()),
		Stderr: int(stderr.Fd()),
		Gate:   int(gate.Fd()), Report: int(theirs.Fd()), Process1: int(s.process1.fd.Fd()), Box: int(s.box.Fd()),
		Birth: -1, Tree: -1, Files: -1, Input: -1}
	if tree != nil {
		s.fds.Tree = int(tree.Fd())
	}
	if files != nil {
		s.fds.Files = int(files.Fd())
	}
	if input != nil {
		s.fds.Input = int(input.Fd())
	}
	if birth := s.group.Birth(); birth != nil {
		s.fds.Birth = int(birth.Fd())
	}
	for _, o := range spec.Open {
		s.fds.Open = append(s.fds.Open, int(o.File.Fd()))
	}
	for _, tasks := range s.group.Tasks() {
		s.fds.Tasks = append(s.fds.Tasks, int(tasks.Fd()))
	}
	s.solution, err = s.start(s.fds.Request())
	return err
}

// environment is the same for all runs of a job, and names only what exists in the root. The size of the
// environment moves the stack, which alone can change a running time by several percent (Mytkowicz et al.,
// ASPLOS 2009).
//
// .NET 7 to 9 create a file of 2 TiB in memory to write to pages that are not executable, and are killed with
// SIGXFSZ by the output limit (dotnet/runtime 117819).
func (l *Launcher) environment(own []string) []string {
	env := []string{"PATH=" + initproc.Path, "HOME=" + initproc.WorkDir, "TMPDIR=/tmp", "LANG=" + l.lang,
		"DOTNET_EnableWriteXorExecute=0"}
	for _, variable := range own {
		name, _, _ := strings.Cut(variable, "=")
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		env = append(env, variable)
	}
	return env
}

// encodeFilter encodes the instructions as the kernel's struct sock_filter.
func encodeFilter(f seccomp.Filter) []byte {
	b := make([]byte, 0, len(f)*8)
	for _, i := range f {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.JT, i.JF)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// Overhead returns the time that judged itself has spent on the run so far.
func (s *Sandbox) Overhead() time.Duration { return s.overhead }

// Close kills all remaining processes of the sandbox and removes it. The Result of Run stays valid.
func (s *Sandbox) Close() error {
	begin := time.Now()
	// Process 1 last: it exits only after all processes in its namespace have been reaped, including judged's
	// own zombies.
	errs := []error{s.solution.killAndReap(s.settle), s.process1.killAndReap(s.settle)}
	if errors.Join(errs...) == nil {
		errs = append(errs, s.returnFiles())
	}
	for _, f := range []*os.File{s.box, s.gate, s.report} {
		if f != nil {
			f.Close()
		}
	}
	for _, o := range s.outputs() {
		o.Close()
	}
	if s.group != nil {
		errs = append(errs, s.group.Remove())
	}
	s.overhead += time.Since(begin)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	return nil
}
