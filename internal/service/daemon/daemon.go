package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"judged/internal/base/config"
	"judged/internal/broker"
	"judged/internal/engine"
	"judged/internal/engine/canary"
	"judged/internal/host/slots"
	"judged/internal/jobs/blobs"
	"judged/internal/queue"
	"judged/internal/service/dispatch"
	"judged/internal/service/httpapi"
	"judged/internal/service/metrics"
	"judged/internal/service/slothealth"
	"judged/internal/store"
)

// Options are what Run needs beside the configuration.
type Options struct {
	Config   config.Config
	Engine   engine.Options
	Version  string
	Revision string
	Out      io.Writer // its first line is the URL
	Log      *slog.Logger
	Level    *slog.LevelVar // of Log
	// Hangup asks to read the configuration again, by Reload.
	Hangup <-chan os.Signal
	Reload func() (config.Config, error)
}

// The clocks of a lease on a job: a crashed daemon's jobs are delivered again
// after ackWait at the latest, three heartbeats may get lost.
const (
	ackWait   = 20 * time.Second
	heartbeat = 5 * time.Second
)

// daemon is everything that lives while judged serves.
type daemon struct {
	o          Options
	listener   net.Listener
	space      space
	broker     *broker.Broker
	blobs      *blobs.Store
	store      *store.Store
	queue      *queue.Queue
	tuned      *tuned
	eng        *engine.Engine
	pool       *slots.Pool
	monitor    *slothealth.Monitor
	dispatcher *dispatch.Dispatcher
	metrics    *metrics.Metrics
	health     *health
	api        atomic.Pointer[httpapi.Server] // another one after a reload
	draining   atomic.Bool
	closers    []func() error
}

// Run serves until drain is done, finishes what runs, and returns. When abort
// is done it hands what runs back to the queue instead. Errors end with the
// next step; a *engine.UsageError is unusable configuration.
func Run(drain, abort context.Context, o Options) (err error) {
	d := &daemon{o: o}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.open(drain); err != nil {
		if drain.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // told to end before anything ran
		}
		return err
	}
	return d.serve(drain, abort)
}

// open makes the parts, those first whose failure is likeliest and cheapest.
func (d *daemon) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.openListener, d.openData, d.openTuned, d.openEngine, d.openParts} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return d.dispatcher.Sweep(ctx)
}

// closing remembers how to take a part down.
func (d *daemon) closing(f func() error) { d.closers = append(d.closers, f) }

func (d *daemon) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i]())
	}
	return errors.Join(errs...)
}

func (d *daemon) openListener(context.Context) error {
	h := d.o.Config.HTTP
	if h.TokenFile == "" && !h.Loopback() {
		return fmt.Errorf("listen on %s: without tokens judged listens on this machine only; set http.token_file, or listen on 127.0.0.1", h.Listen)
	}
	l, err := net.Listen("tcp", h.Listen)
	if err != nil {
		return fmt.Errorf("%w; free the port, or set http.listen to another (127.0.0.1:0 picks one)", err)
	}
	d.listener = l
	d.closing(func() error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return nil
}

func (d *daemon) openData(ctx context.Context) (err error) {
	c := d.o.Config
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w; set data_dir to a folder that judged may write", err)
	}
	d.space = space{c.DataDir}
	d.broker, err = broker.Start(ctx, broker.Options{Dir: filepath.Join(c.DataDir, "nats"), URL: c.Broker.URL, Log: d.o.Log})
	if err != nil {
		return err
	}
	d.closing(d.broker.Close)
	if d.blobs, err = blobs.Open(filepath.Join(c.DataDir, "blobs"), c.HTTP.MaxBlob); err != nil {
		return err
	}
	d.store, err = store.Open(ctx, d.broker, store.Options{Retention: c.Retention.MaxAge, MaxJobs: c.Retention.MaxJobs, Writable: d.writable, Log: d.o.Log})
	if err != nil {
		return err
	}
	d.closing(d.store.Close)
	d.queue, err = queue.Open(ctx, d.broker, queue.Options{Pool: c.Slots.Pool, MaxDeliver: c.Queue.MaxDeliver, AckWait: ackWait, Log: d.o.Log})
	return err
}

func (d *daemon) openEngine(context.Context) (err error) {
	if d.eng, err = engine.Open(d.o.Engine); err != nil {
		return err
	}
	d.closing(d.eng.Close)
	d.pool = slots.NewPool(d.eng.Slots(), time.Now)
	return nil
}

func (d *daemon) openParts(ctx context.Context) error {
	d.health = &health{eng: d.eng, pool: d.pool, version: d.o.Version, log: d.o.Log}
	if err := d.health.examine(ctx); err != nil {
		return err
	}
	d.metrics = d.newMetrics()
	d.tuned.drifted = d.metrics.TuneDrifted
	kernels, err := canary.New(d.eng.Topology())
	if err != nil {
		return err
	}
	d.closing(kernels.Close)
	kept := &storage{d.store, d.space, d.metrics.StoreFailed}
	d.monitor = slothealth.New(slothealth.Options{
		Engine: d.eng, Pool: d.pool, Store: kept, Doctor: d.health.report, Observer: observer{d.metrics},
		Canary: readings{kernels, d.eng}, Interval: d.o.Config.Canary.Interval, Log: d.o.Log,
	})
	if err := d.monitor.Restore(ctx); err != nil {
		return err
	}
	d.dispatcher = dispatch.New(dispatch.Options{
		Engine: d.eng, Health: d.monitor, Pool: d.pool, Queue: d.queue, Store: kept, Writable: d.writable, BlobPath: d.blobs.Path,
		Doctor: d.health.report, Observer: observer{d.metrics}, MaxDeliver: d.o.Config.Queue.MaxDeliver, Heartbeat: heartbeat, Log: d.o.Log,
	})
	tokens, err := loadTokens(d.o.Config.HTTP)
	if err != nil {
		return err
	}
	if tokens == nil {
		d.o.Log.Warn("no tokens are configured: everybody on this machine may submit and cancel jobs; set http.token_file")
	}
	d.api.Store(httpapi.New(httpapi.Options{
		Config: d.o.Config, Tokens: tokens, Jobs: kept, Queue: d.queue, Blobs: &files{d.blobs, d.space, d.metrics.StoreFailed},
		Slots: d.monitor, Cancel: d.dispatcher,
		Doctor: d.health.doctor, Accepts: d.accepts, Ready: d.ready, Metrics: d.metrics.Handler(), Log: d.o.Log, Now: time.Now,
	}))
	return nil
}

// serve runs the tasks until the drain is over.
func (d *daemon) serve(drain, abort context.Context) error {
	server := d.api.Load().HTTPServer()
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.api.Load().ServeHTTP(w, r) })
	group, ctx := errgroup.WithContext(context.WithoutCancel(drain))
	group.Go(func() error {
		limited := httpapi.Limit(d.listener.(*net.TCPListener), httpapi.Connections) // net.Listen of tcp gives no other
		if err := server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	watching, stopWatching := context.WithCancel(ctx)
	group.Go(func() error { d.health.watch(watching); return nil })
	group.Go(func() error { d.tuned.watch(watching); return nil })
	group.Go(func() error { d.sweepBlobs(watching); return nil })
	group.Go(func() error { d.reloads(watching); return nil })
	// The dispatcher ends when told to drain, or when another task fails.
	dispatching, stopDispatching := merge(drain, ctx)
	defer stopDispatching()
	group.Go(func() error { d.monitor.Run(dispatching); return nil })
	group.Go(func() error {
		err := d.dispatcher.Run(dispatching, abort)
		d.draining.Store(true)
		stopWatching()
		return errors.Join(err, d.shutdown(server))
	})
	group.Go(func() error {
		<-dispatching.Done()
		d.draining.Store(true)
		d.o.Log.Info("judged drains: it finishes what runs and ends")
		d.notify(systemd.SdNotifyStopping)
		return nil
	})
	d.o.Log.Info("judged serves", "version", d.o.Version, "revision", d.o.Revision, "cpus", d.slotList(), "pool", d.o.Config.Slots.Pool,
		"data_dir", d.o.Config.DataDir, "address", d.listener.Addr().String())
	fmt.Fprintf(d.o.Out, "http://%s\n", d.listener.Addr())
	d.notify(systemd.SdNotifyReady)
	return group.Wait()
}

// slotList is the CPUs of each slot.
func (d *daemon) slotList() []string {
	var all []string
	for _, s := range d.pool.Slots() {
		all = append(all, s.CPUs.String())
	}
	return all
}

// merge is a context that ends with either of two.
func merge(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() { stop(); cancel() }
}

// shutdown lets requests end that are under way.
func (d *daemon) shutdown(server *http.Server) error {
	d.api.Load().EndStreams()
	ctx, cancel := context.WithTimeout(context.Background(), d.o.Config.HTTP.ShutdownGrace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		d.o.Log.Warn("requests did not end in time and were cut", "error", err)
		return server.Close()
	}
	return nil
}

// notify tells systemd, where it started us.
func (d *daemon) notify(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.o.Log.Warn("cannot tell systemd", "state", state, "error", err)
	}
}
