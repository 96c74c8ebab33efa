package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/seccomp"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Options configure an Engine.
type Options struct {
	CPUs   cpuset.Set // that may be used; if empty the isolated CPUs, else the last CPU
	Width  int        // CPUs of one slot
	Count  int        // maximum number of slots; 0 means as many as fit
	Strict bool       // refuse to judge on an unfit host
	Pool   string
	Class  string           // the operator's name for hosts of this kind; part of the fingerprint
	Member *api.Fingerprint // of another host of the pool, for doctor to compare with; may be nil
	Name   string           // of the host in reports; default is the host name
	// Command describes this process to another judged that wants the same CPUs.
	Command string
	// ClaimFolder is where CPUs are locked; empty means the folder that all processes of the host use. Only tests,
	// which run several engines on the same CPUs, use others.
	ClaimFolder string

	Jury      sandbox.Limits // of the programs of the jury
	Languages LanguageOptions
	// MadeFolder is where MakeTests keeps what it has made; "" keeps nothing.
	MadeFolder         string
	Root               sandbox.Root
	BoxBytes           units.Bytes
	BoxInodes          int
	UIDFirst, UIDCount int
	MeasureStarts      bool // measure what starts of languages cost, in the background after each ListLanguages
	Daemon             bool // this process runs for long, so doctor examines it too
	// CompileOnly means that nothing is judged: the CPUs of the slots are planned, so that compilers keep off them, and
	// neither locked nor used. Another judged may be judging there.
	CompileOnly bool
	Examine     bool // have doctor examine the host while the engine is opened and used, for Examined
	// Without is passed on to sandbox.Options. Only the attack suite sets it.
	Without initproc.Layers
	Log     *slog.Logger
}

// Engine is a host that is ready to judge. Close it after use.
type Engine struct {
	options  Options
	fs       hostfs.FS
	topology machine.Topology
	slots    []slots.Slot
	claim    *slots.Claim
	tree     *cgroup.Tree
	launcher *sandbox.Launcher
	workers  map[string]*measure.Worker // by the slot's CPUs
	extra    []*measure.Worker          // of WorkerOn

	asideMu sync.Mutex      // guards aside
	aside   *measure.Worker // of JudgeAside, from the first use on
	starts  starts
	judging atomic.Int64 // number of tasks on slots

	juryMu sync.Mutex              // guards jury and options.Jury
	jury   map[string]*jury.Runner // by the slot's CPUs, from the first use on

	compilerMu       sync.Mutex // guards the fields below, which are set at the first use
	compiler         *languages.Compiler
	compilerLauncher *sandbox.Launcher
	compilerNetwork  *os.File
	compiledFolder   string // to be removed; "" if it stays

	// Read once, in Open.
	turbo   machine.Turbo
	virtual bool
	program []byte // judged-init
	// kernelConfig unpacks the configuration of the kernel when it is first asked for.
	kernelConfig func() string
	// fingerprint is taken when it is first asked for: it reads a hundred files, and no run waits for it.
	fingerprint func() api.Fingerprint

	examining  sync.WaitGroup // the next two fields are set after it
	examined   api.DoctorReport
	examineErr error

	mu      sync.Mutex     // guards counted
	counted *doctor.Counts // at the last examination
}

// UsageError says that the CPUs in the options cannot be used.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Open plans the slots, moves the calling process to the other CPUs and prepares a worker for each slot. If it fails,
// it removes everything it created.
func Open(o Options) (*Engine, error) {
	e := &Engine{options: o, fs: hostfs.New("/"), workers: map[string]*measure.Worker{}, jury: map[string]*jury.Runner{}}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) open() (err error) {
	if err := checkRights(e.fs); err != nil {
		return err
	}
	if e.topology, err = machine.ReadTopology(e.fs); err != nil {
		return fmt.Errorf("read topology: %w", err)
	}
	if e.slots, err = slots.Plan(e.topology, e.options.CPUs, max(e.options.Width, 1)); err != nil {
		return &UsageError{err}
	}
	if e.options.Count > 0 && len(e.slots) > e.options.Count {
		e.slots = e.slots[:e.options.Count]
	}
	if err := slots.Balanced(e.topology, e.slots); err != nil {
		return &UsageError{err}
	}
	if err := slots.Allowed(e.fs, e.topology, e.CPUs()); err != nil {
		return &UsageError{err}
	}
	if !e.options.CompileOnly {
		if err := e.claimCPUs(); err != nil {
			return err
		}
	}
	e.turbo, e.virtual = machine.ReadTurbo(e.fs, e.CPUs()), machine.Hypervisor(e.fs) != ""
	if e.program, err = sandbox.InitProgram(); err != nil {
		return fmt.Errorf("read judged-init: %w", err)
	}
	e.kernelConfig = sync.OnceValue(func() string { return hostfs.KernelConfig(e.fs, e.topology.Kernel) })
	e.fingerprint = sync.OnceValue(e.readFingerprint)
	if e.options.Examine {
		e.examining.Go(e.examine)
	}
	// Sandboxes must not inherit descriptors that judged was started with.
	if err := linux.CloseInherited(); err != nil {
		return err
	}
	host, err := cgroup.Detect(e.fs)
	if err != nil {
		return err
	}
	if e.tree, err = host.NewTree(); err != nil {
		return err
	}
	if e.launcher, err = e.openLauncher(sandbox.Options{Root: e.options.Root,
		BoxBytes: e.options.BoxBytes, BoxInodes: e.options.BoxInodes}); err != nil {
		return err
	}
	if err := e.launcher.Copies().SmallPages(); err != nil && e.options.Daemon {
		e.options.Log.Warn("programs use more CPU time than without judged to read inputs of 32 MiB and more; "+
			"permit huge pages and locked memory (LimitMEMLOCK=infinity)", "error", err)
	}
	if !e.options.CompileOnly {
		for _, s := range e.slots {
			if err := e.openWorker(s); err != nil {
				return err
			}
		}
	}
	// Until now nothing runs in a slot, and all CPUs may help.
	return e.confine()
}

// claimCPUs locks the CPUs before anything is changed: another judged may be measuring on them.
func (e *Engine) claimCPUs() (err error) {
	e.claim, err = slots.ClaimCPUs(e.options.ClaimFolder, e.CPUs(), e.options.Command)
	if err == nil && e.claim.Confined != nil {
		e.options.Log.Warn("cannot detect a judged in another container that uses the same CPUs", "error",
			e.claim.Confined)
	}
	return err
}

// confine moves all threads of this process, and what they start, to the housekeeping CPUs. A job makes hundreds of
// system calls, some of which block: with GOMAXPROCS one above the number of CPUs other goroutines run meanwhile.
func (e *Engine) confine() error {
	cpus := housekeeping(e.topology, e.slots)
	if err := linux.ConfineProcess(cpus); err != nil {
		return fmt.Errorf("move judged to CPUs %s: %w", cpus, err)
	}
	runtime.GOMAXPROCS(len(cpus) + 1)
	return nil
}

// housekeeping returns the CPUs for judged itself. Isolated CPUs outside the slots may be reserved for other programs,
// and the scheduler does not balance load there; they are used only when there are no others.
func housekeeping(t machine.Topology, planned []slots.Slot) cpuset.Set {
	cpus := slots.Housekeeping(t, planned)
	if rest := cpus.Minus(t.Isolated); len(rest) > 0 {
		return rest
	}
	return cpus
}

// Hardware are the hard members of the host's fingerprint: what its times depend on.
func (e *Engine) Hardware() map[string]string { return e.fingerprint().Hard }

func (e *Engine) readFingerprint() api.Fingerprint {
	return doctor.ReadFingerprint(doctor.Subject{FS: e.fs, Topology: e.topology, Slots: e.slots, Turbo: e.turbo.Value,
		Class: e.options.Class, Program: e.program, KernelConfig: e.kernelConfig})
}

// openLauncher opens a launcher with these options and those that are the same for all.
func (e *Engine) openLauncher(o sandbox.Options) (*sandbox.Launcher, error) {
	arch, err := seccomp.NativeArch()
	if err != nil {
		return nil, err
	}
	filter, err := seccomp.Build(arch, seccomp.Default())
	if err != nil {
		return nil, err
	}
	o.CPUs, o.Seccomp = housekeeping(e.topology, e.slots), filter
	o.UIDFirst, o.UIDCount, o.Without = e.options.UIDFirst, e.options.UIDCount, e.options.Without
	return sandbox.Open(o)
}

func (e *Engine) openWorker(s slots.Slot) error {
	slot, err := e.slot(s.CPUs, cpuset.New(e.topology.MemoryNode(s.Node)))
	if err != nil {
		return err
	}
	worker, err := e.newWorker(slot)
	if err != nil {
		return err
	}
	e.workers[s.CPUs.String()] = worker
	return nil
}

// Virtual reports whether the host is a virtual machine.
func (e *Engine) Virtual() bool { return e.virtual }

// Slots lists the planned slots.
func (e *Engine) Slots() []slots.Slot { return e.slots }

// Worker returns the worker of a planned slot.
func (e *Engine) Worker(s slots.Slot) *measure.Worker { return e.workers[s.CPUs.String()] }

// Thresholds returns the initial thresholds of this host, before any are learned.
func (e *Engine) Thresholds() evidence.Thresholds {
	th := evidence.DefaultThresholds(e.Virtual())
	if e.turbo.Value == machine.TurboOff {
		th.Frequency.Plan = 1
	}
	return th
}

// SetThresholds sets the thresholds of all slots, from their next runs on.
func (e *Engine) SetThresholds(th evidence.Thresholds) {
	for _, w := range e.workers {
		w.SetThresholds(th)
	}
}

// SetGuard sets the guard band of all slots, from their next tests on.
func (e *Engine) SetGuard(g stats.Guard) {
	for _, w := range e.workers {
		w.SetGuard(g)
	}
}

// CPUs returns the CPUs of all slots.
func (e *Engine) CPUs() cpuset.Set {
	var all cpuset.Set
	for _, s := range e.slots {
		all = all.Union(s.CPUs)
	}
	return all
}

// Close removes everything that the engine created. No test may be running.
func (e *Engine) Close() error {
	e.stopStarts()
	e.examining.Wait()
	var errs []error
	for _, w := range e.workers {
		errs = append(errs, w.Close())
	}
	for _, w := range e.extra {
		errs = append(errs, w.Close())
	}
	for _, r := range e.jury {
		errs = append(errs, r.Close())
	}
	errs = append(errs, e.closeCompiler())
	if e.launcher != nil {
		e.launcher.Close()
	}
	if e.tree != nil {
		errs = append(errs, e.tree.Remove())
	}
	if e.claim != nil {
		errs = append(errs, e.claim.Close())
	}
	return errors.Join(errs...)
}

// Name is the name of the host in reports.
func (e *Engine) Name() string { return hostName(e.options.Name) }

func hostName(name string) string {
	if name != "" {
		return name
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
