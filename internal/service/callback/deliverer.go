package callback

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// Store stores callbacks; *jobs.Store implements it.
type Store interface {
	CallbackDue() <-chan struct{}
	DueReceivers(ctx context.Context, after string, limit int) ([]jobs.CallbackReceiver, error)
	ClaimCallbacks(ctx context.Context, receiver string, n int, lease time.Duration) ([]jobs.ClaimedCallback, error)
	CallbackJob(ctx context.Context, c jobs.ClaimedCallback, tests bool) (jobs.Callback, error)
	FinishCallback(ctx context.Context, c jobs.ClaimedCallback, t jobs.TriedCallback) (api.Receiver, error)
	DeleteCallback(ctx context.Context, c jobs.ClaimedCallback) error
	DisabledReceiver(ctx context.Context, tenant string, c api.Callback) (r api.Receiver, disabled bool, err error)
	Now() time.Time
}

// Options configure a Deliverer.
type Options struct {
	Store    Store
	Settings Settings
	// Formats are the formats other than that of Standard Webhooks.
	Formats map[api.CallbackFormat]Format
	// Tried is called with the result of each try.
	Tried func(api.CallbackResult)
	Log   *slog.Logger

	standard Format // the zero value means that of this package
}

// Settings can be changed while a Deliverer runs.
type Settings struct {
	Policy  Policy
	Secrets *Secrets // nil: Standard Webhooks are refused
}

const (
	// atOnce is the maximum number of concurrent tries, and ofReceiver the maximum number of those to one receiver. A
	// receiver that is new or whose last try failed is unproven: it has one try at a time, and all unproven receivers
	// share half of atOnce, so that the other half remains for the others.
	atOnce     = 64
	ofReceiver = 4
	// lease is how long a claim lasts. It is longer than any try. The tries of a deliverer that crashed are repeated
	// after it.
	lease = 30 * time.Second
	// pollEvery is the interval at which the store is read without a notification.
	pollEvery = 5 * time.Second
	// passEvery is the minimum time between two passes.
	passEvery = 20 * time.Millisecond
	// page is the number of receivers that are read at once.
	page = 500
)

// Deliverer delivers callbacks. It is safe for concurrent use.
type Deliverer struct {
	o     Options
	freed chan struct{} // receives a token when a try ends
	turn  string        // receiver that had the last turn; only pass uses it

	mu       sync.Mutex // guards the fields below
	settings Settings
	client   *http.Transport
	busy     map[string]int // current tries by receiver
	running  int
	unproven int // current tries of unproven receivers
	tries    sync.WaitGroup
}

// New returns a deliverer. Run starts it.
func New(o Options) *Deliverer {
	if o.standard.Body == nil {
		o.standard = standard
	}
	d := &Deliverer{o: o, freed: make(chan struct{}, 1), busy: map[string]int{}}
	d.Use(o.Settings)
	return d
}

// Use applies new settings to later tries. It closes existing connections, because their addresses may no longer be
// allowed.
func (d *Deliverer) Use(s Settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client != nil {
		d.client.CloseIdleConnections()
	}
	d.settings, d.client = s, newClient(s.Policy)
}

// SecretDigest returns a short digest of the secrets in use, "" if there are none.
func (d *Deliverer) SecretDigest() string {
	if d == nil {
		return ""
	}
	settings, _ := d.current()
	return settings.Secrets.digest()
}

func (d *Deliverer) current() (Settings, *http.Transport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settings, d.client
}

// format returns the format of a callback.
func (d *Deliverer) format(name api.CallbackFormat) (Format, bool) {
	if name == api.StandardWebhook {
		return d.o.standard, true
	}
	f, ok := d.o.Formats[name]
	return f, ok
}

// Check validates the callback of a tenant's job. It returns what is wrong as errors of members, and an error if the
// store cannot be read.
func (d *Deliverer) Check(ctx context.Context, tenant string, c api.Callback) (intake.Errors, error) {
	settings, _ := d.current()
	f, known := d.format(c.Format)
	if !known {
		return nil, fmt.Errorf("check a callback: format %q %w", c.Format, errUnknownFormat)
	}
	if f.Signed && !settings.Secrets.has(tenant) {
		whose := ""
		if tenant != "" {
			whose = " of the tenant"
		}
		return intake.Errors{{Field: "callback", Detail: "no secret" + whose + " is configured to sign it; " +
			"ask the operator to add one to callbacks.secret_file, or leave out the callback"}}, nil
	}
	if err := settings.Policy.literal(hostOf(c.URL)); err != nil {
		return intake.Errors{{Field: "callback.url", Detail: err.Error() +
			"; send a URL of a public address, or ask the operator to list it"}}, nil
	}
	if f.AnyAnswer {
		return nil, nil
	}
	r, disabled, err := d.o.Store.DisabledReceiver(ctx, tenant, c)
	if err != nil || !disabled {
		return nil, err
	}
	return intake.Errors{{Field: "callback.url", Detail: r.Origin + " is disabled until " +
		r.Paused.Format(time.RFC3339) + " (" + r.LastError + "); enable it with POST /v1/receivers/" + r.ID +
		"/enable when it works, or leave the callback out"}}, nil
}

// Run delivers callbacks until ctx is done and all tries have ended.
func (d *Deliverer) Run(ctx context.Context) {
	defer func() {
		d.tries.Wait()
		_, client := d.current()
		client.CloseIdleConnections()
	}()
	for ctx.Err() == nil {
		next, err := d.pass(ctx)
		if err != nil && ctx.Err() == nil {
			d.o.Log.Warn("cannot read callbacks; retrying", "error", err)
			next = d.o.Store.Now().Add(pollEvery)
		}
		timer := time.NewTimer(max(0, min(pollEvery, next.Sub(d.o.Store.Now()))))
		select {
		case <-ctx.Done():
		case <-d.o.Store.CallbackDue():
		case <-d.freed:
		case <-timer.C:
		}
		timer.Stop()
		poll.Sleep(ctx, passEvery)
	}
}

// pass starts the tries that are due, within the limits. It returns the time at which the next one is due. Receivers have
// turns: from the beginning of the list in each pass, a few slow ones would always take what a try has freed.
func (d *Deliverer) pass(ctx context.Context) (next time.Time, err error) {
	now := d.o.Store.Now()
	next = now.Add(pollEvery)
	first := d.turn
	for after, again := first, first == ""; ; {
		receivers, err := d.o.Store.DueReceivers(ctx, after, page)
		if err != nil {
			return next, err
		}
		for _, r := range receivers {
			if again && first != "" && r.ID > first {
				return next, nil
			}
			after = r.ID
			if r.Due.After(now) {
				if r.Due.Before(next) {
					next = r.Due
				}
				continue
			}
			if err := d.start(ctx, r); err != nil {
				return next, err
			}
		}
		if len(receivers) == page {
			continue
		}
		if again {
			return next, nil
		}
		after, again = "", true
	}
}

// start starts tries of a receiver, within the limits.
func (d *Deliverer) start(ctx context.Context, r jobs.CallbackReceiver) error {
	room := d.reserve(r)
	if room == 0 {
		return nil // the next pass starts when a try ends
	}
	d.turn = r.ID
	claimed, err := d.o.Store.ClaimCallbacks(ctx, r.ID, room, lease)
	for range room - len(claimed) {
		d.release(r)
	}
	for _, c := range claimed {
		d.tries.Go(func() {
			defer d.ended(r)
			d.try(ctx, c)
		})
	}
	return err
}

// reserve reserves capacity for tries of a receiver. It returns the number of tries.
func (d *Deliverer) reserve(r jobs.CallbackReceiver) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(ofReceiver-d.busy[r.ID], atOnce-d.running)
	if !r.Proven {
		n = min(n, 1-d.busy[r.ID], atOnce/2-d.unproven)
	}
	if n = max(n, 0); n == 0 {
		return 0
	}
	d.busy[r.ID] += n
	d.running += n
	if !r.Proven {
		d.unproven += n
	}
	return n
}

func (d *Deliverer) release(r jobs.CallbackReceiver) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[r.ID]--; d.busy[r.ID] == 0 {
		delete(d.busy, r.ID)
	}
	d.running--
	if !r.Proven {
		d.unproven--
	}
}

// ended releases the capacity of a try and starts the next pass.
func (d *Deliverer) ended(r jobs.CallbackReceiver) {
	d.release(r)
	select {
	case d.freed <- struct{}{}:
	default:
	}
}
