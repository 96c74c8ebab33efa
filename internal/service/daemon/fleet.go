package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/poll"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/engine"
	"judged/internal/fleet/front"
	"judged/internal/fleet/judge"
	"judged/internal/jobs/blobs"
	"judged/internal/service/dispatch"
)

// judges reports whether this daemon has slots, hasJobs whether it has the database.
func (d *daemon) judges() bool  { return d.o.Config.Fleet.Role != config.RoleFront }
func (d *daemon) hasJobs() bool { return d.o.Config.Fleet.Role != config.RoleJudge }

// frontLink is the connection of a judge node to its front.
type frontLink struct {
	source *judge.Source
	cache  *blobs.Cache
	lost   atomic.Pointer[error] // reason why the last registration failed
	// keptOut is the reason why the last registration left the node out of its pool. Registrations are sequential.
	keptOut string
}

var errNotRegistered = errors.New("the node has not registered with its front yet")

// openFleet opens the registry of a daemon with jobs, or the source of a judge node.
func (d *daemon) openFleet(context.Context) (err error) {
	if d.node, err = nodeName(d.o.Config.Fleet); err != nil {
		return err
	}
	switch d.o.Config.Fleet.Role {
	case config.RoleAll, config.RoleFront:
		d.registry = front.NewRegistry(d.store, d.store.Now, d.o.Config.PoolNames()...)
		d.registry.ReserveForContests(d.o.Config.ContestPercents())
		d.store.screen = front.NewScreen(front.ScreenOptions{Store: d.store.Store, Nodes: d.registry,
			Pools: d.o.Config.Pools, Observer: screened{d}, Now: d.store.Now, Log: d.o.Log})
		d.store.finish = d.store.screen.Finish
		if d.o.Config.Audit.CrossCheck {
			d.store.finish = front.NewVerifier(front.VerifierOptions{Store: d.store.Store,
				Nodes: d.registry.RecentNodes, Screened: d.store.screen.Screens, Finish: d.store.screen.Finish,
				Now: d.store.Now, Log: d.o.Log,
				Decided: func(pool, decision string) { d.metrics.Load().CrossChecked(pool, decision) }}).Finish
		}
	case config.RoleJudge:
		if d.o.Config.Judgehost.URL != "" {
			return d.openDOMjudge()
		}
		d.access.use(d.files)
		c := client.Client{Base: d.o.Config.Fleet.Front, HTTP: &http.Client{Transport: &d.access}}
		source, err := judge.NewSource(judge.Options{Front: c, Node: d.node, Unnamed: d.o.Config.Fleet.Node == "",
			Log: d.o.Log, Protocols: d.o.Protocols, Outputs: d.copies.Path,
			Replaced: func() { d.metrics.Load().JobReplaced() },
			Spool:    filepath.Join(d.o.Config.DataDir, "spool")})
		if err != nil {
			return err
		}
		life, end := context.WithCancel(context.Background())
		d.closing(func() error { end(); return nil })
		d.front = &frontLink{source: source, cache: &blobs.Cache{Store: d.copies, Fetch: judge.Fetch(c),
			Damaged: source.Verify, Life: life}}
		d.front.lost.Store(new(errNotRegistered))
	}
	d.prefetcher = judge.NewPrefetcher(d.blobPath(), d.fitsCache, d.o.Log)
	return nil
}

// fitsCache returns the reason why the next blob of a prefetch does not fit, or nil.
func (d *daemon) fitsCache(total, next units.Bytes) error {
	if most := d.o.Config.Fleet.CacheSize; d.front != nil && 0 < most && most < total {
		return fmt.Errorf("%s of blobs are to be fetched, the cache holds %s; raise fleet.cache_size", total, most)
	}
	return d.blobSpace.check(reserveBytes + next)
}

// nodeName returns the name of this node in the fleet.
func nodeName(f config.Fleet) (string, error) {
	if f.Node != "" {
		return f.Node, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read the host name: %w; set fleet.node", err)
	}
	return name, nil
}

// queue returns the queue from which the dispatcher takes jobs.
func (d *daemon) queue() dispatch.Queue {
	if d.front != nil {
		return d.front.source
	}
	return &ownQueue{d.store, d.node, d.registry}
}

// ownQueue is the queue for the slots of the daemon that has the store.
type ownQueue struct {
	*storage
	node     string
	registry *front.Registry
}

// Take waits while this node is drained or is kept out of its pool because it differs.
func (s *ownQueue) Take(ctx context.Context, w api.Want) (api.Work, error) {
	w.Node = s.node
	for ctx.Err() == nil {
		// While the database is unavailable, Take returns the error.
		if drained, err := s.registry.Drained(ctx, s.node); err == nil && drained {
			poll.Sleep(ctx, time.Second)
			continue
		}
		if !s.registry.Reserves(w.Pool) {
			return s.storage.Take(ctx, w)
		}
		if work, err := s.takeReserved(ctx, w); !errors.Is(err, context.DeadlineExceeded) {
			return work, err
		}
	}
	return api.Work{}, fmt.Errorf("take a job: %w", ctx.Err())
}

// takeReserved takes a contest job for a slot that is reserved for contests. It waits for a limited time, because
// reservations may change.
func (s *ownQueue) takeReserved(ctx context.Context, w api.Want) (api.Work, error) {
	var err error
	if w.Contests, err = s.registry.Reserved(ctx, w.Pool, s.node, w.CPUs); err != nil {
		return api.Work{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, api.MaxWait)
	defer cancel()
	return s.storage.Take(waiting, w)
}

// Finish adds the name of this node to the report.
func (s *ownQueue) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	if rep.Host != nil {
		host := *rep.Host
		host.Node = s.node
		admitted, err := s.registry.Admitted(ctx, s.node, host.Fingerprint)
		if err != nil {
			return err
		}
		host.Admitted = admitted
		rep.Host = &host
	}
	return s.storage.Finish(ctx, l, rep)
}

// ownLanguages are the languages of a daemon that has slots and may have judge nodes of other pools.
type ownLanguages struct {
	*engine.Engine
	pool     string
	registry *front.Registry
}

// CheckLanguage implements httpapi.Languages.
func (l *ownLanguages) CheckLanguage(ctx context.Context, pool, id string) error {
	if pool != l.pool {
		return l.registry.CheckLanguage(ctx, pool, id)
	}
	return l.Engine.CheckLanguage(ctx, pool, id)
}

// CompileOptions implements httpapi.Languages.
func (l *ownLanguages) CompileOptions(ctx context.Context, pool, id string) (options []string, known bool, err error) {
	if pool != l.pool {
		return l.registry.CompileOptions(ctx, pool, id)
	}
	return l.Engine.CompileOptions(ctx, pool, id)
}

// blobPath returns the function that finds the file of a blob.
func (d *daemon) blobPath() func(string) (string, error) {
	if d.front != nil {
		return d.front.cache.Path
	}
	return d.blobs.Path
}

// judge runs the tasks of the slots until the drain has finished. A front has no such tasks.
func (d *daemon) judge(drain, abort context.Context) {
	if !d.judges() {
		<-drain.Done()
		return
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { d.monitor.Run(drain) })
	defer tasks.Wait()
	if d.domjudge != nil {
		d.judgeForServer(drain, abort)
		return
	}
	if d.front != nil {
		d.join(drain)
		// During a drain, leases of running jobs are still extended and reports sent.
		sending, stop := context.WithCancel(context.WithoutCancel(drain))
		defer stop()
		tasks.Go(func() { d.front.source.Run(sending) })
	} else {
		_ = d.registerOnce(drain, true) // retried soon
	}
	tasks.Go(func() { d.register(drain) })
	tasks.Go(func() { d.prefetcher.Run(drain) })
	d.dispatcher.Run(drain, abort)
}

// join registers for the first time, which ends the leases of an earlier process of this node. It does so after that
// process's reports were sent, and before this process takes a job. A report that a responding front does not accept
// does not prevent the registration.
func (d *daemon) join(ctx context.Context) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, api.RegisterEvery) {
		err := d.front.source.HandIn(ctx)
		if err == nil {
			err = d.registerOnce(ctx, true)
		}
		if err == nil {
			return
		}
		poll.Sleep(ctx, pause)
	}
}

// register sends the state of this node to the front until ctx is done. The first registration adds the languages,
// which take seconds to list.
func (d *daemon) register(ctx context.Context) {
	for ctx.Err() == nil {
		_ = d.registerOnce(ctx, false) // logged, and the node is not ready
		poll.Sleep(ctx, api.RegisterEvery)
	}
}

// registerOnce registers, and logs when the front becomes unreachable and when it is reachable again.
func (d *daemon) registerOnce(ctx context.Context, started bool) error {
	state := d.registration(ctx, started)
	if d.front == nil {
		commands, err := d.registry.Seen(ctx, state)
		d.prefetcher.Want(commands.Prefetch)
		d.known.note(state, commands)
		return err // the store reports its own failures
	}
	commands, err := d.front.source.Register(ctx, state)
	d.prefetcher.Want(commands.Prefetch)
	if err == nil {
		d.known.note(state, commands)
	}
	if err == nil {
		d.noteKeptOut(commands.KeptOut)
	}
	before := d.front.lost.Swap(&err)
	switch {
	case ctx.Err() != nil:
	case err == nil && *before != nil:
		d.o.Log.Info("registered with the front", "front", d.o.Config.Fleet.Front, "node", commands.Node,
			"drained", commands.Drained)
	case err != nil && (*before == nil || errors.Is(*before, errNotRegistered)):
		d.o.Log.Error("cannot register with the front; retrying", "front", d.o.Config.Fleet.Front, "error", err)
	}
	return err
}

// noteKeptOut logs when this node is kept out of its pool, and when it joins.
func (d *daemon) noteKeptOut(reason string) {
	switch {
	case reason == d.front.keptOut:
	case reason == "":
		d.o.Log.Info("this node is in its pool now", "pool", d.o.Config.Slots.Pool)
	default:
		d.o.Log.Warn("this node gets no jobs", "reason", reason)
	}
	d.front.keptOut = reason
}

// known records what the front or the store already has of this node. Registrations are sequential.
type known struct {
	hardware bool
	kernels  *api.KernelTimes
	at       time.Time // when the hardware was last sent
}

// sendAgainAfter is the time after which the hardware is sent again anyway: values that are not set again are deleted
// after 90 days.
const sendAgainAfter = 30 * 24 * time.Hour

// add adds the files that must be sent.
func (k *known) add(r *api.Registration, hardware map[string]string, times *api.KernelTimes) {
	again := r.Time.Sub(k.at) > sendAgainAfter
	if again || !k.hardware {
		r.Hardware = hardware
	}
	if again || !times.Equal(k.kernels) {
		r.Kernels = times
	}
}

// note records what the response says about the sent values.
func (k *known) note(sent api.Registration, c api.NodeCommands) {
	if k.hardware = c.HardwareKnown; k.hardware && sent.Hardware != nil {
		k.at = sent.Time
	}
	switch {
	case !c.KernelsKnown:
		k.kernels = nil
	case sent.Kernels != nil:
		k.kernels = sent.Kernels
	}
}

func (d *daemon) registration(ctx context.Context, started bool) api.Registration {
	host := d.eng.Host(d.eng.CPUs(), d.health.report())
	r := api.Registration{Caller: api.Caller{Node: d.node}, Version: d.o.Version,
		Pool: d.o.Config.Slots.Pool, Fingerprint: host.Fingerprint,
		Time: time.Now(), Started: started, Ready: true, Prefetch: d.prefetcher.Progress()}
	d.known.add(&r, d.eng.Hardware(), d.monitor.Times())
	for _, s := range d.pool.Snapshot() {
		r.Slots = append(r.Slots, api.NodeSlot{CPUs: s.CPUs, State: s.State})
	}
	if err := reasons(d.health.fit(), d.space.check(floorBytes), d.health.inUse()); err != nil {
		r.Ready, r.Reason = false, err.Error()
	}
	switch {
	case d.front == nil: // this daemon reads them directly
		r.Languages = []api.LanguageStatus{}
		return r
	case started: // immediately: jobs of the previous process wait for it
		return r
	}
	list, err := d.eng.ListLanguages(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.o.Log.Warn("cannot list languages for the front, which keeps those of before", "error", err)
		}
		return r
	}
	r.Languages = append([]api.LanguageStatus{}, list...)
	return r
}

// listen serves HTTP, or HTTPS if there is a certificate.
func (d *daemon) listen(server *http.Server, l net.Listener) error {
	if d.certificate.Load() == nil {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.certificate.Load(), nil }}
	return server.ServeTLS(l, "", "")
}

func (d *daemon) scheme() string {
	if d.o.Config.HTTP.CertFile != "" {
		return "https"
	}
	return "http"
}
