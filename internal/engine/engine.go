package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/fingerprint"
	"judged/internal/host/hostfs"
	"judged/internal/host/slots"
	"judged/internal/host/topology"
	"judged/internal/host/turbo"
	"judged/internal/host/virt"
	"judged/internal/sandbox"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/seccomp"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Options say what to set up.
type Options struct {
	CPUs   cpuset.Set // which may be used; empty is the isolated set, else the last CPU
	Width  int        // CPUs of one slot
	Count  int        // how many slots at most; 0 is all that fit
	Strict bool       // refuse to judge on an unfit host
	Pool   string
	Class  string                   // what the operator calls hosts of this kind; part of the fingerprint
	Member *fingerprint.Fingerprint // of a host of the pool, for doctor to compare; nil if nobody gave one
	Name   string                   // of the host in reports; empty is its host name
	// Command is what another judged is told that wants the same CPUs.
	Command string
	// ClaimFolder is where CPUs are claimed; empty is the machine's own. Only tests, which judge on the same CPUs at
	// once, have others.
	ClaimFolder string

	Jury               sandbox.Limits // of the programs of the jury
	Root               sandbox.Root
	BoxBytes           units.Bytes
	BoxInodes          int
	UIDFirst, UIDCount int
	Daemon             bool // this process judges for long, so doctor looks at it too
	// Without is sandbox.Options' own: for the attack suite alone.
	Without initproc.Layers
	Log     *slog.Logger
}

// Engine is a host ready for judging. Close it.
type Engine struct {
	options  Options
	fs       hostfs.FS
	topology topology.Topology
	slots    []slots.Slot
	claim    *slots.Claim
	tree     *cgroup.Tree
	launcher *sandbox.Launcher
	workers  map[string]*measure.Worker // by the slot's CPUs
	visitors []*measure.Worker          // on ground that is no slot

	juryMu sync.Mutex              // guards jury
	jury   map[string]*jury.Runner // by the slot's CPUs, from the first use on

	// Read once, when the engine is opened.
	turbo       turbo.State
	virtual     bool
	program     []byte // judged-init
	fingerprint string

	mu      sync.Mutex     // guards counted
	counted *doctor.Counts // by doctor's last look
}

// UsageError is an engine that was asked for CPUs that it cannot have.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Open plans the slots, confines the calling process and sets everything up.
// Of what it has made it leaves nothing behind when it fails.
func Open(o Options) (*Engine, error) {
	c := &Engine{options: o, fs: hostfs.New("/"), workers: map[string]*measure.Worker{}, jury: map[string]*jury.Runner{}}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Engine) open() (err error) {
	if err := checkRights(c.fs); err != nil {
		return err
	}
	if c.topology, err = topology.Read(c.fs); err != nil {
		return fmt.Errorf("read topology: %w", err)
	}
	if c.slots, err = slots.Plan(c.topology, c.options.CPUs, max(c.options.Width, 1)); err != nil {
		return &UsageError{err}
	}
	if c.options.Count > 0 && len(c.slots) > c.options.Count {
		c.slots = c.slots[:c.options.Count]
	}
	if err := slots.Balanced(c.topology, c.slots); err != nil {
		return &UsageError{err}
	}
	if err := c.claimCPUs(); err != nil {
		return err
	}
	c.turbo, c.virtual = turbo.Read(c.fs, c.CPUs()), virt.Hypervisor(c.fs) != ""
	if c.fingerprint, err = c.readFingerprint(); err != nil {
		return err
	}
	if err := c.confine(); err != nil {
		return err
	}
	// A descriptor that judged was started with must not reach a sandbox.
	if err := linux.CloseInherited(); err != nil {
		return err
	}
	host, err := cgroup.Detect(c.fs)
	if err != nil {
		return err
	}
	if c.tree, err = host.NewTree(); err != nil {
		return err
	}
	if c.launcher, err = c.openLauncher(); err != nil {
		return err
	}
	for _, s := range c.slots {
		if err := c.openWorker(s); err != nil {
			return err
		}
	}
	return nil
}

// claimCPUs comes before anything is changed: another judged may be measuring.
func (c *Engine) claimCPUs() (err error) {
	c.claim, err = slots.ClaimCPUs(c.options.ClaimFolder, c.CPUs(), c.options.Command)
	if err == nil && c.claim.Confined != nil {
		c.options.Log.Warn("a judged in another container that uses the same CPUs is not noticed", "error", c.claim.Confined)
	}
	return err
}

// confine keeps all threads of this process, and what they start, off the
// slots. A job makes hundreds of system calls, some of which block; one processor of
// the runtime more than there are CPUs lets other goroutines run meanwhile.
func (c *Engine) confine() error {
	house := c.housekeeping()
	if err := linux.ConfineProcess(house); err != nil {
		return fmt.Errorf("keep judged off the slots: %w", err)
	}
	runtime.GOMAXPROCS(len(house) + 1)
	return nil
}

func (c *Engine) readFingerprint() (string, error) {
	var err error
	if c.program, err = sandbox.InitProgram(); err != nil {
		return "", fmt.Errorf("read judged-init: %w", err)
	}
	s := fingerprint.Subject{FS: c.fs, Topology: c.topology, Turbo: c.turbo.Value, Class: c.options.Class, Program: c.program}
	for _, slot := range c.slots {
		s.Slots = append(s.Slots, fingerprint.Slot{CPUs: slot.CPUs, Node: slot.Node})
	}
	return fingerprint.Take(s).Sum, nil
}

func (c *Engine) openLauncher() (*sandbox.Launcher, error) {
	arch, err := seccomp.NativeArch()
	if err != nil {
		return nil, err
	}
	filter, err := seccomp.Build(arch, seccomp.Default())
	if err != nil {
		return nil, err
	}
	o := c.options
	return sandbox.Open(sandbox.Options{Root: o.Root, BoxBytes: o.BoxBytes, BoxInodes: o.BoxInodes,
		UIDFirst: o.UIDFirst, UIDCount: o.UIDCount, Seccomp: filter, Without: o.Without})
}

func (c *Engine) openWorker(s slots.Slot) error {
	slot, err := c.Ground(s.CPUs, cpuset.New(c.topology.MemoryNode(s.Node)))
	if err != nil {
		return err
	}
	worker, err := c.newWorker(slot)
	if err != nil {
		return err
	}
	c.workers[s.CPUs.String()] = worker
	return nil
}

// Virtual reports whether the host is a virtual machine.
func (c *Engine) Virtual() bool { return c.virtual }

// Slots lists what was planned.
func (c *Engine) Slots() []slots.Slot { return c.slots }

// Worker is where a slot's runs happen.
func (c *Engine) Worker(s slots.Slot) *measure.Worker { return c.workers[s.CPUs.String()] }

// Thresholds are those that evidence is judged by before anything was learned.
func (c *Engine) Thresholds() evidence.Thresholds {
	th := evidence.DefaultThresholds(c.Virtual())
	if c.turbo.Value == turbo.Off {
		th.Frequency.Plan = 1
	}
	return th
}

// SetThresholds has the evidence of all runs to come judged by what was learned.
func (c *Engine) SetThresholds(th evidence.Thresholds) {
	for _, s := range c.workers {
		s.SetThresholds(th)
	}
}

// SetGuard has all tests to come decided with this guard band.
func (c *Engine) SetGuard(g stats.Guard) {
	for _, s := range c.workers {
		s.SetGuard(g)
	}
}

// CPUs are the CPUs of all slots.
func (c *Engine) CPUs() cpuset.Set {
	var all cpuset.Set
	for _, s := range c.slots {
		all = all.Union(s.CPUs)
	}
	return all
}

// Close takes everything down. Nothing may run any more.
func (c *Engine) Close() error {
	var errs []error
	for _, s := range c.workers {
		errs = append(errs, s.Close())
	}
	for _, s := range c.visitors {
		errs = append(errs, s.Close())
	}
	for _, r := range c.jury {
		errs = append(errs, r.Close())
	}
	if c.launcher != nil {
		c.launcher.Close()
	}
	if c.tree != nil {
		errs = append(errs, c.tree.Remove())
	}
	if c.claim != nil {
		errs = append(errs, c.claim.Close())
	}
	return errors.Join(errs...)
}

// Name is the host's in reports.
func (c *Engine) Name() string { return hostName(c.options.Name) }

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
