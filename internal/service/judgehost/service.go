package judgehost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/diskcache"
	"judged/internal/base/units"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/host/slots"
)

// Engine judges on the slots of this host.
type Engine interface {
	// Judge judges a task on a leased slot, and calls decided after each test.
	Judge(ctx context.Context, l *slots.Lease, t judge.Task, decided func(api.TestReport)) (api.Report, error)
	// Jury returns a runner for the jury's programs on a slot.
	Jury(s slots.Slot) (*jury.Runner, error)
	// RunScript runs a compile script or a build script.
	RunScript(ctx context.Context, s languages.Script, take func(*os.Root) error) (languages.Ended, error)
	// Tidy prepares a slot for the next run, in the background.
	Tidy(s slots.Slot)
}

// OwnSlots is an Engine on whose slots nothing else runs.
type OwnSlots struct{ *engine.Engine }

// Judge implements Engine.
func (o OwnSlots) Judge(ctx context.Context, l *slots.Lease, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	return o.Engine.Judge(ctx, l.Slot(), t, decided)
}

// Work limits the size of a working directory.
type Work struct {
	Bytes units.Bytes
	Files int
}

// WorkOf returns what fits next to the folders that every working directory has.
func WorkOf(s config.Sandbox) Work {
	const own = 16
	return Work{Bytes: s.WorkSize, Files: s.WorkInodes - own}
}

// Options configure a Service. All fields are required.
type Options struct {
	Client *Client
	Config Config // from the server; see Await
	Engine Engine
	Pool   *slots.Pool // of its slots; a slot out of use gets no work
	Name   string      // of the hosts, before -0
	Folder string      // of the cache; only one process uses it
	Work   Work
	Log    *slog.Logger
}

// Service judges on all slots. Each slot is a judgehost of the server.
type Service struct {
	client     *Client
	engine     Engine
	pool       *slots.Pool
	store      store
	scratch    string // folder of temporary files
	work       Work
	extensions map[string][]string // file extensions of sources of jury programs
	settings   atomic.Pointer[Config]
	log        *slog.Logger
	hosts      []*host
	failures   failures // by task
	broken     failures // by job, of the server
	history    *history
}

// cacheBytes is how much is cached: the test data of a contest.
const cacheBytes = 16 << 30

// historyBytes is the maximum size of the history.
const historyBytes = 2 << 30

// Await asks the server for its settings until it responds. It returns an error if the server refuses the credentials
// or ctx is done.
func Await(ctx context.Context, c *Client) (Config, error) {
	for {
		config, err := c.Config(ctx)
		if err == nil || ctx.Err() != nil || isFinal(err) {
			return config, err
		}
		c.server.Log.Error("the DOMjudge server does not answer; waiting for it", "error", err)
		c.server.Pause(ctx, registerPause)
	}
}

// New opens the cache and returns a Service.
func New(ctx context.Context, o Options) (_ *Service, err error) {
	s := &Service{client: o.Client, engine: o.Engine, pool: o.Pool, scratch: filepath.Join(o.Folder, "scratch"),
		work: o.Work, log: o.Log, failures: newFailures(), broken: newFailures()}
	s.settings.Store(&o.Config)
	s.history = newHistory(filepath.Join(o.Folder, "history"), historyBytes)
	if err := errors.Join(os.RemoveAll(s.history.folder), os.RemoveAll(s.scratch),
		os.MkdirAll(s.scratch, 0o700)); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	if s.store.Cache, err = diskcache.Open(filepath.Join(o.Folder, "store"), cacheBytes); err != nil {
		return nil, err
	}
	known, err := s.client.languages(ctx)
	if err != nil {
		return nil, err
	}
	s.extensions = extensionsOf(known)
	for i, slot := range s.pool.Slots() {
		name := HostName(o.Name, i)
		s.hosts = append(s.hosts, &host{Service: s, name: name, slot: slot, stale: true,
			log: o.Log.With("judgehost", name, "cpus", slot.CPUs.String())})
	}
	return s, nil
}

// Run judges until drain is done. Each host then finishes its current test and returns its other tasks. When abort is
// done, hosts cancel their current test, too.
func (s *Service) Run(drain, abort context.Context) {
	var group sync.WaitGroup
	for _, h := range s.hosts {
		group.Go(func() { h.run(drain, abort) })
	}
	group.Wait()
}

// Enabled reports whether the server has enabled the host of slot i. It returns nil while that is unknown.
func (s *Service) Enabled(i int) *bool { return s.hosts[i].enabled.Load() }

func (s *Service) config() Config { return *s.settings.Load() }

// refresh reads the settings of the server again.
func (s *Service) refresh(ctx context.Context) error {
	c, err := s.client.Config(ctx)
	if err == nil {
		s.settings.Store(&c)
	}
	return err
}

// failures counts the failed attempts at each task.
type failures struct {
	mu     sync.Mutex // guards the fields below
	counts map[stringOrNumber]failed
	order  []stringOrNumber // keys of counts, the oldest first
}

// failed is the number of failed attempts, and the time of the first one.
type failed struct {
	times int
	since time.Time
}

func newFailures() failures { return failures{counts: map[stringOrNumber]failed{}} }

// maxFailures is the number of failed attempts at a task that makes an internal error; before, the task is returned.
const maxFailures = 3

// maxServerFailures is the number of attempts at a task at which the server failed that makes an internal error, after
// Server.Outage.
const maxServerFailures = 5

// rememberedFailures is the maximum number of tasks in failures.
const rememberedFailures = 1000

// add counts a failure and reports whether there have been too many.
func (f *failures) add(id stringOrNumber) (tooMany bool) { return f.count(id).times >= maxFailures }

// lasts counts a failure of the server and reports whether there have been too many for longer than an outage.
func (f *failures) lasts(id stringOrNumber, outage time.Duration) bool {
	c := f.count(id)
	return c.times >= maxServerFailures && time.Since(c.since) >= outage
}

func (f *failures) count(id stringOrNumber) failed {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, known := f.counts[id]
	if !known {
		c.since = time.Now()
		if f.order = append(f.order, id); len(f.order) > rememberedFailures {
			delete(f.counts, f.order[0])
			f.order = f.order[1:]
		}
	}
	c.times++
	f.counts[id] = c
	return c
}

// Pauses in the loop of a host.
const (
	firstWait     = 100 * time.Millisecond
	longestWait   = 5 * time.Second
	registerPause = 2 * time.Second
	longestPause  = 30 * time.Second
)
