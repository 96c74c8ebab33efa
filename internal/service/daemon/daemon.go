package daemon

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/fleet/front"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/fleet/judge"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/service/callback"
	"judged/internal/service/dispatch"
	"judged/internal/service/httpapi"
	"judged/internal/service/judge0"
	"judged/internal/service/metrics"
)

// Options configure Run.
type Options struct {
	Config   config.Config
	Engine   engine.Options
	Version  string
	Revision string
	// Protocols are the versions of the node protocol; the zero value means api.FleetProtocols.
	Protocols api.Protocols
	Out       io.Writer // its first line is the URL
	Log       *slog.Logger
	Level     *slog.LevelVar // of Log
	// Hangup makes the daemon call Reload for a new configuration with each value.
	Hangup <-chan os.Signal
	Reload func() (config.Config, error)
}

// The job of a crashed daemon is taken again after leaseTime. Three heartbeats may get lost.
const (
	leaseTime = 20 * time.Second
	heartbeat = 5 * time.Second
)

// daemon holds the parts of judged serve.
type daemon struct {
	o          Options
	listener   net.Listener
	judge0     net.Listener // nil unless judge0.listen is set
	space      *space       // of the data folder
	blobSpace  *space       // of the blobs, or of their copies
	blobs      blobStore
	blobState  blobState
	copies     *blobs.Store    // on a judge node
	store      *storage        // on a judge node only its learned data
	node       string          // name in the fleet
	process    string          // distinguishes daemons that share a database; "" without one
	registry   *front.Registry // nil on a judge node
	prefetcher *judge.Prefetcher
	callbacks  *callback.Deliverer // nil on a judge node
	front      *frontLink          // on a judge node of a fleet
	domjudge   *domjudge           // on a judge node that works for a DOMjudge server
	known      known
	tuned      *tuned
	eng        *engine.Engine
	pool       *slots.Pool
	monitor    *dispatch.Monitor
	dispatcher *dispatch.Dispatcher
	metrics    atomic.Pointer[metrics.Metrics] // nil until the host has been examined
	health     *health
	api        atomic.Pointer[httpapi.Server] // replaced by a reload
	config     atomic.Pointer[config.Config]  // in effect: o.Config with the changes of reloads
	files      credentials                    // as read at the start
	// certificate is replaced by a reload; nil serves HTTP.
	certificate atomic.Pointer[tls.Certificate]
	access      frontAccess // of a judge node
	draining    atomic.Bool
	closersMu   sync.Mutex // guards closers
	closers     []func() error
}

// Run serves until drain is done, finishes the running jobs, and returns. When abort is done, it returns the running
// jobs to the queue instead. Errors end with the next step; a *engine.UsageError means an invalid configuration.
func Run(drain, abort context.Context, o Options) (err error) {
	if o.Protocols == (api.Protocols{}) {
		o.Protocols = api.FleetProtocols()
	}
	d := &daemon{o: o}
	if o.Config.Database.URL != "" {
		d.process = rand.Text()
	}
	d.config.Store(&o.Config)
	defer func() {
		if err = errors.Join(err, d.close()); err == nil {
			o.Log.Info("stopped")
		}
	}()
	if err := d.open(drain); err != nil {
		if drain.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // ended before anything ran
		}
		return err
	}
	return d.serve(drain, abort)
}

// step opens a part of the daemon.
type step func(context.Context) error

// open opens the parts, those that are most likely to fail first. The database waits for its disk or its server, and
// the host is examined meanwhile.
func (d *daemon) open(ctx context.Context) error {
	parts := inOrder(d.openData, d.openFleet)
	if d.judges() {
		host := inOrder(d.openTuned, d.openEngine, d.examine)
		together := atOnce(parts, host)
		if d.o.Config.Tune.Apply || d.o.Config.Judgehost.URL != "" {
			// The host is not tuned for a daemon without a database. For a DOMjudge server, openFleet sets engine options.
			together = inOrder(parts, host)
		}
		parts = inOrder(together, d.openJudging)
	}
	return inOrder(d.readFiles, d.openListener, d.openFolder, parts, d.openAPI, d.reclaim)(ctx)
}

// inOrder runs steps one after the other.
func inOrder(steps ...step) step {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// atOnce runs steps at the same time.
func atOnce(steps ...step) step {
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, step := range steps {
			group.Go(func() error { return step(ctx) })
		}
		return group.Wait()
	}
}

// closing registers a function that closes a part.
func (d *daemon) closing(f func() error) {
	d.closersMu.Lock()
	defer d.closersMu.Unlock()
	d.closers = append(d.closers, f)
}

func (d *daemon) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i]())
	}
	return errors.Join(errs...)
}

// readFiles runs first, so that a wrong setting is reported before the daemon changes anything.
func (d *daemon) readFiles(context.Context) (err error) {
	d.files, err = readCredentials(d.o.Config)
	d.certificate.Store(d.files.certificate)
	return err
}

func (d *daemon) openListener(context.Context) (err error) {
	if d.listener, err = d.openPort("http.listen", d.o.Config.HTTP.Listen); err != nil {
		return err
	}
	if address := d.o.Config.Judge0.Listen; address != "" {
		d.judge0, err = d.openPort("judge0.listen", address)
	}
	return err
}

// openPort listens on the address of a setting.
func (d *daemon) openPort(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE): // temporary
		return nil, fmt.Errorf("%w; free the port, or set %s to another (127.0.0.1:0 picks one)", err, key)
	case err != nil:
		return nil, unusable(key, "%w; set an address of this machine, such as 127.0.0.1:8080", err)
	}
	d.closing(func() error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return l, nil
}

// openFolder locks the data folder for this process.
func (d *daemon) openFolder(context.Context) error {
	c := d.o.Config
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return unusable("data_dir", "%w; set it to a folder that judged can write to", err)
	}
	d.space, d.blobSpace = &space{dir: c.DataDir}, &space{dir: blobFolder(c)}
	lock, err := lockFolder(c.DataDir)
	if err != nil {
		return err
	}
	d.closing(lock.Close)
	return nil
}

func (d *daemon) openData(ctx context.Context) (err error) {
	c := d.o.Config
	o := database(c)
	o.Lease, o.MaxDeliver, o.MaxWaiting = leaseTime, c.Queue.MaxDeliver, c.Queue.MaxWaiting
	o.Tenants = c.Tenants
	o.Retention, o.MaxJobs = c.Retention.MaxAge, c.MaxJobs()
	o.Log, o.OnUnavailable = d.o.Log, d.storeFailed
	store, err := jobs.Open(ctx, o)
	if err != nil {
		return err
	}
	d.closing(store.Close)
	d.store = &storage{Store: store, space: d.space, failed: d.storeFailed, cancelled: d.jobCancelled}
	life, end := context.WithCancel(context.Background())
	d.closing(func() error { end(); return nil })
	if d.hasJobs() {
		if err := d.identifyBlobs(ctx); err != nil {
			return err
		}
		d.blobs, err = openBlobs(life, c)
		d.store.blobs = d.blobs
	} else {
		d.copies, err = blobs.Open(blobFolder(c), 0) // accepts all that the front has accepted
	}
	return err
}

// identifyBlobs returns an error for a shared folder whose file system is not mounted.
func (d *daemon) identifyBlobs(ctx context.Context) error {
	folder, _ := d.o.Config.Blobs.Parts()
	if folder == "" {
		return nil
	}
	name := []string{jobs.OperatorValues, "blobs", folder}
	var known string
	if _, err := d.store.Value(ctx, &known, name...); err != nil {
		return err
	}
	found, err := blobs.Identify(folder, known)
	if err != nil {
		return &SettingError{"blobs.url", err}
	}
	if found == known {
		return nil
	}
	return d.store.SetValue(ctx, found, name...)
}

// reclaim expires the leases of the previous process, which has ended: this one holds the lock of the data folder. The
// only host of a database judges all jobs in it, including those submitted under an earlier name of its pool.
func (d *daemon) reclaim(ctx context.Context) error {
	if d.o.Config.Fleet.Role != config.RoleAll {
		return nil // the registration of a judge node does this
	}
	held, err := d.store.Reclaim(ctx, d.owner())
	if err != nil {
		return err
	}
	if held > 0 {
		d.o.Log.Info("judging jobs again that were running when judged last ended", "jobs", held)
	}
	if d.o.Config.Database.URL != "" {
		return nil
	}
	nodes, err := d.registry.Nodes(ctx)
	if err != nil {
		return err
	}
	inUse := d.o.Config.PoolNames()
	for _, n := range nodes {
		if n.Name != d.node { // the pool may have been renamed
			inUse = append(inUse, n.Pool)
		}
	}
	_, err = d.store.Adopt(ctx, d.o.Config.Slots.Pool, inUse)
	return err
}

// owner returns the name under which this daemon holds jobs. Two daemons on one host have different data folders.
func (d *daemon) owner() string { return d.eng.Name() + ":" + d.o.Config.DataDir }

func (d *daemon) openEngine(context.Context) (err error) {
	if d.eng, err = engine.Open(d.o.Engine); err != nil {
		return d.slotsError(err)
	}
	d.closing(d.eng.Close)
	d.pool = slots.NewPool(d.eng.Slots(), time.Now)
	return nil
}

// slotsError adds the setting of CPUs that cannot be used.
func (d *daemon) slotsError(err error) error {
	if !errors.As(err, new(*engine.UsageError)) {
		return err
	}
	key := "slots.cpu_list"
	if s := d.o.Config.Slots; len(s.CPUList) == 0 && s.Width > 1 {
		key = "slots.width"
	}
	return &SettingError{key, err}
}

func (d *daemon) examine(ctx context.Context) error {
	d.health = &health{eng: d.eng, pool: d.pool, log: d.o.Log}
	return d.health.examine(ctx)
}

// openJudging opens the parts that watch and use the slots.
func (d *daemon) openJudging(ctx context.Context) error {
	measured := d.newMetrics()
	d.metrics.Store(measured)
	d.tuned.drifted = measured.TuneDrifted
	kernels, err := measure.NewCanary(d.eng.Topology())
	if err != nil {
		return err
	}
	d.closing(kernels.Close)
	d.monitor = dispatch.NewMonitor(dispatch.MonitorOptions{
		Engine: d.eng, Pool: d.pool, Store: d.store, Doctor: d.health.report, Observer: observer{measured},
		Canary: readings{kernels, d.eng}, Interval: d.o.Config.Canary.Interval, Log: d.o.Log,
	})
	if err := d.monitor.Restore(ctx); err != nil {
		return err
	}
	if d.domjudge != nil {
		return nil
	}
	d.dispatcher = dispatch.New(dispatch.Options{
		Engine: d.eng, Health: d.monitor, Pool: d.pool, Queue: d.queue(), BlobPath: d.blobPath(), Keep: d.storeOutput,
		Want:   api.Want{Pool: d.o.Config.Slots.Pool, Width: d.o.Config.Slots.Width, Host: d.owner()},
		Doctor: d.health.report, Observer: observer{measured}, Heartbeat: heartbeat, Log: d.o.Log,
	})
	return nil
}

// openAPI opens the HTTP server of the role.
func (d *daemon) openAPI(ctx context.Context) error {
	if d.metrics.Load() == nil {
		d.metrics.Store(d.newMetrics())
	}
	if d.files.tokens == nil {
		d.warnOpen()
	}
	o := httpapi.Options{
		Config: d.o.Config, Tokens: d.files.tokens, Accepts: d.accepts, Ready: d.ready, Metrics: d.metrics.Load().Handler(),
		Log: d.o.Log, Now: time.Now, Doctor: d.doctor, Factors: d.o.Engine.Languages.Catalogue.Factors(),
	}
	if d.judges() {
		o.Slots, o.Languages = d.monitor, d.eng
	}
	if d.domjudge != nil {
		o.Slots = namedSlots{d.monitor, d.domjudge}
	}
	if d.hasJobs() {
		d.callbacks = callback.New(callback.Options{Store: d.store, Settings: d.files.callbacks,
			Formats: map[api.CallbackFormat]callback.Format{judge0.CallbackFormat: judge0.Callback(d.blobs.Path)},
			Tried:   d.metrics.Load().CallbackTried, Log: d.o.Log})
		o.Callbacks = d.callbacks
		o.Jobs, o.Blobs = d.store, d.filesOf(d.blobs)
		if err := d.addPages(ctx, &o); err != nil {
			return err
		}
	}
	if d.registry != nil {
		o.Work, o.Nodes, o.Protocols = d.store, nodes{d.registry, d.store}, d.o.Protocols
	}
	switch {
	case !d.judges():
		o.Languages = d.registry
	case d.hasJobs():
		o.Languages = &ownLanguages{d.eng, d.o.Config.Slots.Pool, d.registry}
	}
	if d.o.Config.Judge0.Enabled {
		o.Doors = append(o.Doors, judge0.Door(d.o.Version))
	}
	d.api.Store(httpapi.New(o))
	return nil
}

// serve runs the tasks until the drain has finished.
func (d *daemon) serve(drain, abort context.Context) error {
	group, ctx := errgroup.WithContext(context.WithoutCancel(drain))
	servers := d.servers()
	for l, server := range servers {
		group.Go(func() error {
			// net.Listen("tcp") always returns this type.
			limited := httpapi.Limit(server, l.(*net.TCPListener), httpapi.Connections/len(servers))
			if err := d.listen(server, limited); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP: %w", err)
			}
			return nil
		})
	}
	watching, stopWatching := context.WithCancel(ctx)
	if d.judges() {
		group.Go(func() error { d.health.watch(watching); return nil })
		group.Go(func() error { d.tuned.watch(watching); return nil })
	}
	if d.registry != nil {
		group.Go(func() error { d.auditor().Run(watching); return nil })
		if d.sharesDatabase() {
			group.Go(func() error { d.comparePeers(watching); return nil })
		}
		group.Go(func() error { d.rejudger().Run(watching); return nil })
	}
	if d.callbacks != nil {
		group.Go(func() error { d.callbacks.Run(watching); return nil })
	}
	group.Go(func() error { d.sweepBlobs(watching); return nil })
	if d.o.Config.Judge0.Enabled && d.judges() {
		group.Go(func() error { d.readVersions(watching); return nil })
	}
	group.Go(func() error { d.reloads(watching); return nil })
	// The dispatcher ends with the drain, or when another task fails.
	dispatching, stopDispatching := merge(drain, ctx)
	defer stopDispatching()
	group.Go(func() error {
		d.judge(dispatching, abort)
		d.draining.Store(true)
		stopWatching()
		return d.shutdown(servers)
	})
	group.Go(func() error {
		<-dispatching.Done()
		d.draining.Store(true)
		d.o.Log.Info("draining: running jobs are finished")
		d.notify(systemd.SdNotifyStopping)
		return nil
	})
	d.o.Log.Info("serving", "version", d.o.Version, "revision", d.o.Revision, "role", d.o.Config.Fleet.Role,
		"cpus", d.slotList(), "pool", d.o.Config.Slots.Pool, "data_dir", d.o.Config.DataDir,
		"database", databaseKind(d.o.Config), "address", d.listener.Addr().String(),
		"protected", d.o.Config.HTTP.TokenFile != "")
	if d.judge0 != nil {
		d.o.Log.Info("serving the interface of Judge0", "address", d.judge0.Addr().String())
	}
	fmt.Fprintf(d.o.Out, "%s://%s\n", d.scheme(), d.listener.Addr())
	d.notify(systemd.SdNotifyReady)
	return group.Wait()
}

// servers returns the HTTP servers by their listener.
func (d *daemon) servers() map[net.Listener]*http.Server {
	all := map[net.Listener]*http.Server{}
	serve := func(l net.Listener, change func(*http.Request) *http.Request) {
		server := d.api.Load().HTTPServer()
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.api.Load().ServeHTTP(w, change(r))
		})
		all[l] = server
	}
	serve(d.listener, func(r *http.Request) *http.Request { return r })
	if d.judge0 != nil {
		serve(d.judge0, judge0.Below)
	}
	return all
}

// readVersions asks the compilers for their versions, which then are known: the clients of Judge0 begin with the list of
// languages, and wait for it for 5 s.
func (d *daemon) readVersions(ctx context.Context) {
	if _, err := d.eng.ListLanguages(ctx); err != nil && ctx.Err() == nil {
		d.o.Log.Warn("cannot read the versions of all languages", "error", err)
	}
}

// slotList returns the CPUs of each slot.
func (d *daemon) slotList() []string {
	var all []string
	if d.pool == nil {
		return all
	}
	for _, s := range d.pool.Slots() {
		all = append(all, s.CPUs.String())
	}
	return all
}

// merge returns a context that is done when either parent is.
func merge(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() { stop(); cancel() }
}

// shutdown waits for open requests.
func (d *daemon) shutdown(servers map[net.Listener]*http.Server) error {
	d.api.Load().EndStreams()
	ctx, cancel := context.WithTimeout(context.Background(), d.o.Config.HTTP.ShutdownGrace)
	defer cancel()
	var group errgroup.Group
	for _, server := range servers {
		group.Go(func() error {
			if err := server.Shutdown(ctx); err != nil {
				d.o.Log.Warn("closed requests that did not end within http.shutdown_grace", "error", err)
				return server.Close()
			}
			return nil
		})
	}
	return group.Wait()
}

// notify sends a state to systemd, if it started judged.
func (d *daemon) notify(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.o.Log.Warn("cannot notify systemd", "state", state, "error", err)
	}
}
