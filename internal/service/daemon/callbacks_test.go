package daemon

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

// platform receives callbacks.
type platform struct {
	*httptest.Server
	t      testing.TB
	secret string
	flaky  bool                           // fails the first try of every other callback, before or after it has read it
	mu     sync.Mutex                     // guards calls and tried
	calls  map[string][]api.CallbackEvent // by job
	tried  map[string]bool                // by job
}

// newPlatform starts a platform and makes the configuration of a daemon permit callbacks to it.
func newPlatform(t testing.TB, c *config.Config) *platform {
	p := &platform{t: t, calls: map[string][]api.CallbackEvent{}, tried: map[string]bool{},
		secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	c.Callbacks = config.Callbacks{SecretFile: filepath.Join(t.TempDir(), "secrets"), Allow: []string{"127.0.0.1"}}
	if err := os.WriteFile(c.Callbacks.SecretFile, []byte(p.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the daemon was killed
		return
	}
	hook, err := webhooks.NewWebhook(p.secret)
	if err == nil {
		err = hook.Verify(body, r.Header)
	}
	var e api.CallbackEvent
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		p.t.Errorf("callback %s: %v", body, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fails := 0
	if p.flaky && !p.tried[e.Data.ID] {
		p.tried[e.Data.ID] = true
		fails = len(p.tried) % 4
	}
	if fails != 1 {
		p.calls[e.Data.ID] = append(p.calls[e.Data.ID], e)
	}
	switch fails {
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
	case 2: // the response is lost
		panic(http.ErrAbortHandler)
	}
}

// got returns the callbacks of a job.
func (p *platform) got(id string) []api.CallbackEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls[id])
}

// TestCallbacks checks the callbacks of a daemon: of a judged job, of one that is cancelled while it waits, and of one
// whose attempts are used up by a kill -9; and jobs that are refused without a secret.
func TestCallbacks(t *testing.T) {
	t.Parallel() // measures nothing
	c := settings(t)
	p := newPlatform(t, &c)
	c.Queue.MaxDeliver = 1
	i := serving(t, c)
	call := &api.Callback{URL: p.URL + "/hook"}
	judged, busy, waiting := i.sum(1, false), i.busy(20_000), i.sum(2, false)
	judged.Callback, busy.Callback, waiting.Callback = call, call, call
	i.submit("judged", judged)
	i.finish("judged")
	i.submit("exhausted", busy)
	i.reach("exhausted", api.Running)
	i.submit("cancelled", waiting)
	if _, err := i.Cancel(i.ctx, "cancelled"); err != nil {
		t.Fatal(err)
	}
	arrive := func(id string, v api.Verdict) {
		t.Helper()
		testkit.WaitFor(t, patience, "the callback of "+id, func() bool { return len(p.got(id)) > 0 })
		if e := p.got(id)[0]; e.Data.Verdict != v || e.Data.Report != "/v1/jobs/"+id {
			t.Errorf("callback %+v, want %s", e, v)
		}
	}
	arrive("judged", api.Accepted)
	arrive("cancelled", api.Cancelled)
	i.kill()
	i = serving(t, c)
	arrive("exhausted", api.InternalError)
	testkit.WaitFor(t, patience, "the metric", func() bool {
		return values(i.scrape()["judged_callbacks_total"])["result=delivered"] >= 1
	})
	i.signal(syscall.SIGTERM)
	if code := i.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	c.Callbacks = config.Callbacks{}
	i = serving(t, c)
	_, err := i.Submit(i.ctx, "refused", judged)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusBadRequest || len(p.Errors) != 1 ||
		p.Errors[0].Field != "callback" {
		t.Errorf("without a secret: %v", err)
	}
	if r, err := i.Submit(i.ctx, "judged", judged); err != nil || r.State != api.Done {
		t.Errorf("the same job again: %s, %v", r.State, err)
	}
	i.drain()
}
