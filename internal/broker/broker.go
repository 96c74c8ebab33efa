package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/linux"
)

// Options says where the broker is.
type Options struct {
	Dir      string // folder of the embedded server's files; created; one process at a time
	URL      string // a NATS cluster, nats://user:password@host:4222,…; empty: embedded
	Replicas int    // copies of every stream in a cluster; 0 is 1; the embedded server has 1
	Log      *slog.Logger
}

// Broker is a connection to JetStream. Its methods may be called from any
// goroutine.
type Broker struct {
	opts   Options
	lock   *os.File       // embedded: held flock on Dir/lock
	server *server.Server // embedded
	conn   *nats.Conn
	js     jetstream.JetStream
	closed atomic.Bool
	gone   chan struct{}   // closed by the connection's last callback
	health context.Context // done, with the cause, when the server can store no more
	broken context.CancelCauseFunc
	lost   atomic.Uint64 // asynchronous publishes that were not acknowledged
	well   atomic.Int64  // monotonic, when Check last found all well; 0 is never
}

// requestTimeout bounds one request to JetStream for callers whose context has
// no deadline. A synced write takes well below 1 ms; a disk that stalls for
// this long is broken.
const requestTimeout = 10 * time.Second

// Start starts the embedded server, or connects to opts.URL, and returns when
// JetStream answers. ctx bounds the start only. Errors name the folder or the
// URL and end with the next step.
func Start(ctx context.Context, opts Options) (*Broker, error) {
	b := &Broker{opts: opts, gone: make(chan struct{})}
	if b.opts.Log == nil {
		b.opts.Log = slog.New(slog.DiscardHandler)
	}
	b.health, b.broken = context.WithCancelCause(context.Background())
	b.opts.Replicas = max(b.opts.Replicas, 1)
	steps := []func(context.Context) error{b.lockDir, b.startServer, b.connect, b.probe}
	if opts.URL != "" {
		steps = []func(context.Context) error{b.connect, b.probe}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// Embedded reports whether this process is the only one that uses the broker.
func (b *Broker) Embedded() bool { return b.opts.URL == "" }

// JetStream gives access to streams and consumers.
func (b *Broker) JetStream() jetstream.JetStream { return b.js }

// Conn is the connection below JetStream, for subscriptions and for the few
// JetStream requests that are sent by hand.
func (b *Broker) Conn() *nats.Conn { return b.conn }

// Replicas is how many copies a stream is to have.
func (b *Broker) Replicas() int { return b.opts.Replicas }

// MaxPayload is the largest message in bytes that the server takes.
func (b *Broker) MaxPayload() int64 {
	if n := b.conn.MaxPayload(); n < maxPayload {
		return n
	}
	return maxPayload
}

// Lost is how many asynchronous publishes were not acknowledged since Start.
func (b *Broker) Lost() uint64 { return b.lost.Load() }

// checkEvery is how long an answer of JetStream that all is well is believed.
// Asking costs as much as storing a job.
const checkEvery = time.Second

// Check returns nil while JetStream answers and can store, for readiness. What
// goes wrong with the embedded server it tells at once, the rest within a second.
func (b *Broker) Check(ctx context.Context) error {
	now := linux.Monotonic()
	if well := b.well.Load(); well != 0 && now-time.Duration(well) < checkEvery && b.enabled() {
		return nil
	}
	if err := b.probe(ctx); err != nil {
		return b.Explain(err)
	}
	b.well.Store(int64(now))
	return nil
}

// Writing is the context of a write: it outlives ctx, because what was sent
// must be waited for to know what became of it, and ends after 10 s or when
// the server can store no more.
func (b *Broker) Writing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	stop := context.AfterFunc(b.health, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Close sends what is pending, disconnects and stops the embedded server. When
// it returns no goroutine is left and another process may use the folder.
func (b *Broker) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	defer b.broken(nil)
	var errs []error
	if b.conn != nil {
		// Acknowledgements are sent without waiting: the round trip makes sure
		// that the server has read them before it is stopped.
		if err := b.conn.FlushTimeout(requestTimeout); err != nil && !errors.Is(err, nats.ErrConnectionReconnecting) {
			errs = append(errs, fmt.Errorf("flush broker connection: %w", err))
		}
		b.conn.Close()
		<-b.gone
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	if b.lock != nil {
		errs = append(errs, b.lock.Close())
	}
	return errors.Join(errs...)
}

func (b *Broker) connect(context.Context) error {
	opts := []nats.Option{
		nats.Name("judged"),
		nats.ClosedHandler(func(*nats.Conn) { close(b.gone) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			b.opts.Log.Warn("broker connection", "subject", subject, "error", err)
		}),
	}
	url := b.opts.URL
	if b.Embedded() {
		opts = append(opts, nats.InProcessServer(b.server), nats.NoReconnect())
	} else {
		opts = append(opts, nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond),
			nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { b.opts.Log.Warn("broker disconnected", "error", err) }),
			nats.ReconnectHandler(func(c *nats.Conn) { b.opts.Log.Info("broker reconnected", "server", c.ConnectedUrlRedacted()) }))
	}
	conn, err := nats.Connect(url, opts...)
	if err != nil {
		return fmt.Errorf("connect to broker %s: %w: check broker.url and that the cluster is up", b.name(), err)
	}
	b.conn = conn
	b.js, err = jetstream.New(conn,
		jetstream.WithDefaultTimeout(requestTimeout),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			b.lost.Add(1)
			b.opts.Log.Warn("event not stored", "subject", m.Subject, "error", err)
		}))
	return err
}

// errDisabled is what a server without JetStream would not answer.
var errDisabled = errors.New("JetStream is not running")

// enabled reports whether the server has not given up storing, as far as that is
// known without asking it.
func (b *Broker) enabled() bool {
	return b.health.Err() == nil && (b.server == nil || b.server.JetStreamEnabled())
}

// probe asks JetStream for its account: it answers only when it is enabled.
func (b *Broker) probe(ctx context.Context) error {
	if !b.enabled() {
		return errDisabled
	}
	if _, err := b.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("ask %s for JetStream: %w: enable JetStream there", b.name(), err)
	}
	return nil
}

// name is how errors call the broker; it shows no password.
func (b *Broker) name() string {
	if b.Embedded() {
		return fmt.Sprintf("embedded in %q", b.opts.Dir)
	}
	if b.conn != nil {
		return cmp.Or(b.conn.ConnectedUrlRedacted(), "broker.url")
	}
	return "broker.url"
}

func (b *Broker) lockFile() string { return filepath.Join(b.opts.Dir, "lock") }
