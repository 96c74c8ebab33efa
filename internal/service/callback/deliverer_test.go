package callback

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// triesOf returns the results and statuses of a callback.
func triesOf(l api.CallbackLog) (all []string) {
	for _, t := range l.Tries {
		all = append(all, fmt.Sprintf("%d %s %d", t.Number, t.Result, t.Status))
	}
	return all
}

// TestDeliver checks the requests that a receiver gets. The first one is sent alone.
func TestDeliver(t *testing.T) {
	f, r := open(t, jobs.Options{}), receive(t, nil)
	for n := range 3 {
		f.judge(fmt.Sprint("job-", n), r.URL+"/hook?key=1")
	}
	f.put("waiting", r.URL)
	f.run(f.deliverer(settings(t, "127.0.0.1")))
	for n := range 3 {
		f.reach(fmt.Sprint("job-", n), api.CallbackDelivered)
	}
	var order []string
	for _, c := range r.got() {
		var e api.CallbackEvent
		if err := json.Unmarshal([]byte(c.body), &e); err != nil {
			t.Fatal(err)
		}
		order = append(order, e.Data.ID)
	}
	slices.Sort(order[1:]) // concurrent, because the first was delivered
	if diff := cmp.Diff([]string{"job-0", "job-1", "job-2"}, order); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	rec, err := f.store.Get(t.Context(), "job-0")
	if err != nil {
		t.Fatal(err)
	}
	var got api.CallbackEvent
	if err := json.Unmarshal([]byte(r.got()[0].body), &got); err != nil {
		t.Fatal(err)
	}
	rep := rec.Report
	want := api.CallbackEvent{Type: "job.done", Time: rep.FinishedAt, Data: api.CallbackJob{ID: "job-0", State: api.Done,
		Verdict: api.WrongAnswer, JudgementType: "WA", Message: "no", Labels: map[string]string{"team": "7"}, Attempt: 1,
		CreatedAt: rep.CreatedAt, StartedAt: rep.StartedAt, FinishedAt: rep.FinishedAt, Report: "/v1/jobs/job-0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	log := f.callback("job-0")
	wantLog := api.CallbackLog{ID: r.got()[0].id, URL: r.URL + "/hook?key=1", State: api.CallbackDelivered,
		CreatedAt: rep.FinishedAt, Tries: []api.CallbackTry{{Number: 1, Result: api.TryDelivered, Status: 204}}}
	if diff := cmp.Diff(wantLog, log, cmpopts.IgnoreFields(api.CallbackTry{}, "StartedAt", "Took")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if l := f.callback("waiting"); l.State != api.CallbackWaiting || l.ID != "" {
		t.Errorf("the callback of a waiting job: %+v", l)
	}
	if _, err := f.store.Cancel(t.Context(), "waiting"); err != nil {
		t.Fatal(err)
	}
	f.reach("waiting", api.CallbackDelivered)
	if last := r.got()[3]; !strings.Contains(last.body, `"type":"job.cancelled"`) {
		t.Errorf("the callback of a cancelled job: %s", last.body)
	}
}

// TestRetries checks receivers that fail. Each has one job.
func TestRetries(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) }) // after the parallel tests
	for _, tt := range []struct {
		name   string
		url    string // URL of the callback; "" means that of the receiver
		allow  string
		answer func(n int, w http.ResponseWriter, r *http.Request) int
		want   []string
		error  string // of the first try
		state  api.CallbackState
	}{
		{"500, then 200", "", "127.0.0.0/8", func(n int, _ http.ResponseWriter, _ *http.Request) int {
			return []int{500, 404, 200}[n-1]
		}, []string{"1 failed 500", "2 failed 404", "3 delivered 200"}, "the answer has status 500", api.CallbackDelivered},
		{"always 500", "", "127.0.0.1", func(int, http.ResponseWriter, *http.Request) int { return 500 },
			[]string{"1 failed 500", "2 failed 500", "3 failed 500", "4 failed 500", "5 given_up 500"}, "status 500",
			api.CallbackGivenUp},
		{"timeout", "", "127.0.0.1", func(n int, _ http.ResponseWriter, r *http.Request) int {
			if n == 1 {
				select {
				case <-r.Context().Done():
				case <-hang:
				}
			}
			return 200
		}, []string{"1 failed 0", "2 delivered 200"}, "context deadline exceeded", api.CallbackDelivered},
		{"gone", "", "127.0.0.1", func(int, http.ResponseWriter, *http.Request) int { return 410 },
			[]string{"1 given_up 410"}, "status 410", api.CallbackGivenUp},
		{"redirect to link-local", "", "127.0.0.1", func(n int, w http.ResponseWriter, r *http.Request) int {
			if n > 1 {
				return 200
			}
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
			return 0
		}, []string{"1 failed 307", "2 delivered 200"}, "status 307, and redirects are not followed",
			api.CallbackDelivered},
		{"redirect to no URL", "", "127.0.0.1", func(n int, w http.ResponseWriter, _ *http.Request) int {
			w.Header().Set("Location", "://secret")
			return []int{302, 200}[n-1]
		}, []string{"1 failed 302", "2 delivered 200"}, "status 302, and redirects are not followed",
			api.CallbackDelivered},
		{"no HTTP", "", "127.0.0.1", saying("220 secret.example ESMTP\r\n"), []string{"1 failed 0", "2 delivered 200"},
			errAnswer.Error(), api.CallbackDelivered},
		{"no header", "", "127.0.0.1", saying("HTTP/1.1 200 OK\r\nsecret\r\n\r\n"), []string{"1 failed 0",
			"2 delivered 200"}, errAnswer.Error(), api.CallbackDelivered},
		{"cut off", "", "127.0.0.1", saying("HTTP/1.1 200"), []string{"1 failed 0", "2 delivered 200"}, "unexpected EOF",
			api.CallbackDelivered},
		{"closed port", "http://" + closed.Addr().String(), "127.0.0.1", nil, []string{"1 failed 0", "2 failed 0",
			"3 failed 0", "4 failed 0", "5 given_up 0"}, "connection refused", api.CallbackGivenUp},
		{"address that is not listed", "", "10.0.0.0/8", nil, []string{"1 failed 0", "2 failed 0", "3 failed 0",
			"4 failed 0", "5 given_up 0"}, "address 127.0.0.1 is not public and not in callbacks.allow",
			api.CallbackGivenUp},
		{"name of loopback", "http://localhost:1/", "127.0.0.2", nil, []string{"1 failed 0", "2 failed 0", "3 failed 0",
			"4 failed 0", "5 given_up 0"}, "is not public and not in callbacks.allow", api.CallbackGivenUp},
		{"long header", "", "127.0.0.1", func(n int, w http.ResponseWriter, _ *http.Request) int {
			if n == 1 {
				w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
			}
			return 200
		}, []string{"1 failed 0", "2 delivered 200"}, errAnswer.Error(), api.CallbackDelivered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, r := open(t, jobs.Options{}), receive(t, tt.answer)
			url := r.URL
			if tt.url != "" {
				url = tt.url
			}
			f.judge("job", url)
			d := f.deliverer(settings(t, tt.allow))
			if strings.HasPrefix(tt.name, "timeout") {
				d.o.standard.Limit = 2 * time.Second // also the time of the try that succeeds
			}
			f.run(d)
			log := f.reach("job", tt.state)
			if diff := cmp.Diff(tt.want, triesOf(log)); diff != "" {
				t.Errorf("tries (-want +got):\n%s", diff)
			}
			if got := log.Tries[0].Error; !strings.Contains(got, tt.error) || strings.Contains(got, "secret") {
				t.Errorf("error %q, want one with %q and without what the receiver says", got, tt.error)
			}
			for _, c := range r.got() {
				if c.id != log.ID || c.body != r.got()[0].body {
					t.Errorf("call %q with the body %s, want %q in all calls", c.id, c.body, log.ID)
				}
			}
		})
	}
}

// saying returns an answer that sends text as it is to the first call, and 200 to others.
func saying(text string) func(int, http.ResponseWriter, *http.Request) int {
	return func(n int, w http.ResponseWriter, _ *http.Request) int {
		if n > 1 {
			return 200
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return 500
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
		return 0
	}
}

// busyStore has more proven receivers with due callbacks than get tries at once. Each try takes until release, then its
// job is gone.
type busyStore struct {
	Store
	receivers []jobs.CallbackReceiver
	release   chan struct{}
	claimed   []string // receivers
}

func (s *busyStore) Now() time.Time { return time.Unix(1, 0) }

func (s *busyStore) DueReceivers(_ context.Context, after string, _ int) ([]jobs.CallbackReceiver, error) {
	return slices.DeleteFunc(slices.Clone(s.receivers), func(r jobs.CallbackReceiver) bool { return r.ID <= after }), nil
}

func (s *busyStore) ClaimCallbacks(_ context.Context, receiver string, n int, _ time.Duration) (
	[]jobs.ClaimedCallback, error) {
	s.claimed = append(s.claimed, slices.Repeat([]string{receiver}, n)...)
	return slices.Repeat([]jobs.ClaimedCallback{{Receiver: receiver}}, n), nil
}

func (s *busyStore) CallbackJob(context.Context, jobs.ClaimedCallback, bool) (jobs.Callback, error) {
	<-s.release
	return jobs.Callback{}, api.ErrNotFound
}

func (s *busyStore) DeleteCallback(context.Context, jobs.ClaimedCallback) error { return nil }

// TestReceiversTakeTurns checks that slow receivers with many callbacks do not keep tries from those behind them in the
// list.
func TestReceiversTakeTurns(t *testing.T) {
	s := &busyStore{release: make(chan struct{})}
	for i := range atOnce/ofReceiver + 2 {
		s.receivers = append(s.receivers, jobs.CallbackReceiver{ID: fmt.Sprintf("%02d", i), Proven: true})
	}
	d := New(Options{Store: s, Log: slog.New(slog.DiscardHandler)})
	defer d.tries.Wait()
	defer close(s.release)
	pass := func() []string {
		t.Helper()
		s.claimed = nil
		if _, err := d.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.claimed
	}
	if first := pass(); len(first) != atOnce || first[atOnce-1] != "15" {
		t.Fatalf("first pass: %q", first)
	}
	for _, want := range []string{"16", "17"} {
		s.release <- struct{}{}
		<-d.freed
		if got := pass(); !slices.Equal(got, []string{want}) {
			t.Errorf("a free try is for %q, want %s", got, want)
		}
	}
	s.release <- struct{}{}
	<-d.freed
	if got := pass(); len(got) != 1 || got[0] > "15" {
		t.Errorf("after the last one: %q, want one of the others", got)
	}
}

// TestAllowedName checks that a listed name permits its addresses.
func TestAllowedName(t *testing.T) {
	f, r := open(t, jobs.Options{}), receive(t, nil)
	f.judge("job", strings.Replace(r.URL, "127.0.0.1", "LocalHost", 1))
	f.run(f.deliverer(settings(t, "localhost")))
	f.reach("job", api.CallbackDelivered)
}

// TestSlowReceiver checks that receivers that never respond do not delay others.
func TestSlowReceiver(t *testing.T) {
	f := open(t, jobs.Options{})
	release := make(chan struct{})
	defer close(release)
	quick := receive(t, nil)
	f.judge("first", quick.URL)
	d := f.deliverer(settings(t, "127.0.0.1"))
	f.run(d)
	f.reach("first", api.CallbackDelivered) // it is proven now
	for n := range 2 * atOnce / 2 {
		slow := receive(t, func(_ int, _ http.ResponseWriter, r *http.Request) int {
			select {
			case <-r.Context().Done():
			case <-release:
			}
			return 200
		})
		f.judge(fmt.Sprint("slow", n), slow.URL)
		f.judge(fmt.Sprint("more", n), slow.URL)
	}
	testkit.WaitFor(t, patience, "the slow receivers to have their share", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.unproven == atOnce/2
	})
	for n := range 20 {
		f.judge(fmt.Sprint("quick", n), quick.URL)
	}
	for n := range 20 {
		f.reach(fmt.Sprint("quick", n), api.CallbackDelivered)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unproven != atOnce/2 {
		t.Errorf("%d tries of the slow receivers have ended", atOnce/2-d.unproven)
	}
	for id, n := range d.busy {
		if n > 1 {
			t.Errorf("receiver %s has %d tries at once before one has succeeded", id, n)
		}
	}
}

// TestFilesAway checks that a try for which files of the report cannot be read for a while does not count.
func TestFilesAway(t *testing.T) {
	f := open(t, jobs.Options{})
	d := f.deliverer(settings(t))
	format := Format{Pauses: []time.Duration{time.Second, 5 * time.Second}}
	for name, tt := range map[string]struct {
		err  error
		want api.CallbackResult
	}{
		"bucket away":  {blobs.ErrAway, api.TryInterrupted},
		"disk is full": {fmt.Errorf("create upload: %w", syscall.ENOSPC), api.TryInterrupted},
		"no such file": {blobs.ErrNotFound, api.TryGivenUp},
		"other":        {errors.New("decode"), api.TryGivenUp},
	} {
		try := jobs.TriedCallback{Try: api.CallbackTry{Number: 3}}
		d.decide(&try, format, fmt.Errorf("%w: %w", errBody, tt.err), false)
		again := try.Next.Sub(f.store.Now()).Round(5*time.Second) > 0
		if try.Try.Result != tt.want || again != (tt.want == api.TryInterrupted) || try.Receiver != nil {
			t.Errorf("%s: %+v, want %s", name, try, tt.want)
		}
	}
}

// TestRestart checks that a callback whose tries are interrupted by shutdowns is delivered by the next deliverer, under
// the same ID, and that these tries do not count: more of them than a callback has tries leave room for a failed one.
func TestRestart(t *testing.T) {
	const restarts = 6
	f := open(t, jobs.Options{})
	arrived := make(chan struct{}, restarts)
	r := receive(t, func(n int, _ http.ResponseWriter, r *http.Request) int {
		switch {
		case n <= restarts:
			arrived <- struct{}{}
			<-r.Context().Done()
		case n == restarts+1:
			return 500
		}
		return 200
	})
	f.judge("job", r.URL)
	var want []string
	for range restarts {
		stop := f.run(f.deliverer(settings(t, "127.0.0.1")))
		<-arrived
		stop()
		want = append(want, "1 interrupted 0")
		log := f.callback("job")
		if log.State != api.CallbackPending || !slices.Equal(triesOf(log), want) || log.Receiver != nil {
			t.Fatalf("after the stop: %+v", log)
		}
	}
	f.run(f.deliverer(settings(t, "127.0.0.1")))
	testkit.WaitFor(t, patience, "the end of the callback", func() bool {
		return f.callback("job").State != api.CallbackPending
	})
	if diff := cmp.Diff(append(want, "1 failed 500", "2 delivered 200"), triesOf(f.callback("job"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ids := map[string]int{}
	for _, c := range r.got() {
		ids[c.id]++
	}
	if len(ids) != 1 || len(r.got()) != restarts+2 {
		t.Errorf("calls by ID: %v", ids)
	}
}

// TestTwoDeliverers checks that two daemons that share a database deliver each callback once.
func TestTwoDeliverers(t *testing.T) {
	o := jobs.Options{URL: testkit.StartPostgres(t, "fsync=off").Database(t)}
	one, two := open(t, o), open(t, o)
	receivers := []*receiver{receive(t, nil), receive(t, nil), receive(t, nil)}
	one.run(one.deliverer(settings(t, "127.0.0.1")))
	two.run(two.deliverer(settings(t, "127.0.0.1")))
	const n = 90
	for i := range n {
		one.judge(fmt.Sprint(i), receivers[i%len(receivers)].URL)
	}
	for i := range n {
		one.reach(fmt.Sprint(i), api.CallbackDelivered)
	}
	seen := map[string]int{}
	for _, r := range receivers {
		for _, c := range r.got() {
			seen[c.id]++
		}
	}
	for id, calls := range seen {
		if calls != 1 {
			t.Errorf("callback %s was delivered %d times", id, calls)
		}
	}
	if len(seen) != n {
		t.Errorf("%d callbacks were delivered, want %d", len(seen), n)
	}
	for name, f := range map[string]*fixture{"one": one, "two": two} {
		f.mu.Lock()
		if f.results[api.TryDelivered] == 0 {
			t.Errorf("deliverer %s has delivered nothing", name)
		}
		f.mu.Unlock()
	}
}

// TestDisabledReceiver checks that a receiver that responds with 410 gets nothing until it is enabled, and that new
// jobs for it are refused until then.
func TestDisabledReceiver(t *testing.T) {
	f := open(t, jobs.Options{})
	r := receive(t, func(n int, _ http.ResponseWriter, _ *http.Request) int {
		if n == 1 {
			return http.StatusGone
		}
		return 200
	})
	f.judge("1", r.URL+"/secret")
	f.judge("2", r.URL)
	d := f.deliverer(settings(t, "127.0.0.1"))
	stop := f.run(d)
	log := f.reach("1", api.CallbackGivenUp)
	if log.Receiver == nil || !log.Receiver.Disabled || log.Receiver.Origin != r.URL {
		t.Fatalf("receiver %+v", log.Receiver)
	}
	found, err := d.Check(t.Context(), "", api.Callback{URL: r.URL + "/other"})
	if err != nil || len(found) != 1 || found[0].Field != "callback.url" ||
		!strings.Contains(found[0].Detail, "POST /v1/receivers/"+log.Receiver.ID+"/enable") {
		t.Errorf("check: %v, %v", found, err)
	}
	if _, err := f.store.EnableReceiver(t.Context(), log.Receiver.ID); err != nil {
		t.Fatal(err)
	}
	f.reach("2", api.CallbackDelivered)
	stop()
	if n := len(r.got()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	if text := f.log.String(); !strings.Contains(text, "disabled a receiver") || !strings.Contains(text, log.Receiver.ID) ||
		strings.Contains(text, "/secret") {
		t.Errorf("log: %s", text)
	}
}

// TestPauses checks the pauses of a receiver until it is disabled.
func TestPauses(t *testing.T) {
	total := time.Duration(0)
	for failures := 1; failures < DisabledAfter; failures++ {
		pause, disabled := receiverPause(failures)
		if disabled || (pause > 0) != (failures >= pausedAfter) {
			t.Errorf("after %d failures: %v, disabled %t", failures, pause, disabled)
		}
		total += pause
	}
	if total < 12*time.Hour || total > 24*time.Hour {
		t.Errorf("disabled after %v, want about 18 hours", total)
	}
	if pause, disabled := receiverPause(DisabledAfter); !disabled || pause != DisabledFor {
		t.Errorf("after %d failures: %v, %t", DisabledAfter, pause, disabled)
	}
	total = 0
	for _, p := range standard.Pauses {
		total += p
	}
	if total < 23*time.Hour || total > 25*time.Hour {
		t.Errorf("the tries of a callback take %v, want a day", total)
	}
}

// TestOtherFormat checks that a format determines method, body and number of tries, and that callbacks of unknown
// formats are given up.
func TestOtherFormat(t *testing.T) {
	f := open(t, jobs.Options{})
	var methods []string
	plain := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method+" "+r.Header.Get("webhook-id"))
		w.WriteHeader(http.StatusTeapot)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = plain.Serve(l) }()
	defer plain.Close()
	j := api.Job{Tests: []api.Test{{Name: "1"}},
		Callback: &api.Callback{URL: "http://" + l.Addr().String(), Format: "other"}}
	if _, _, err := f.store.Put(t.Context(), jobs.Submission{ID: "job", Job: j}); err != nil {
		t.Fatal(err)
	}
	w, err := f.store.Take(t.Context(), api.Want{})
	if err == nil {
		err = f.store.Finish(t.Context(), w.Lease, api.Report{Verdict: api.Accepted, Tests: []api.TestReport{{Name: "1"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	d := f.deliverer(Settings{Policy: settings(t, "127.0.0.1").Policy})
	d.o.Formats = map[api.CallbackFormat]Format{"other": {Method: http.MethodPut, Tests: true, Limit: patience,
		Pauses: []time.Duration{time.Millisecond}, Body: func(r jobs.Record) ([]byte, error) {
			return fmt.Appendf(nil, `{"tests": %d}`, len(r.Report.Tests)), nil
		}}}
	if found, err := d.Check(t.Context(), "", *j.Callback); err != nil || len(found) > 0 {
		t.Errorf("a callback that is not signed needs a secret: %v, %v", found, err)
	}
	if _, err := d.Check(t.Context(), "", api.Callback{URL: j.Callback.URL, Format: "another"}); !errors.Is(err,
		errUnknownFormat) {
		t.Errorf("another format: %v, want %v", err, errUnknownFormat)
	}
	stop := f.run(d)
	log := f.reach("job", api.CallbackGivenUp)
	stop()
	if diff := cmp.Diff([]string{"1 failed 418", "2 given_up 418"}, triesOf(log)); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PUT ", "PUT "}, methods); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestWorstBody checks the maximum size of a body.
func TestWorstBody(t *testing.T) {
	labels := map[string]string{}
	for n := range 32 {
		labels[fmt.Sprintf("%063d", n)] = strings.Repeat(`"`, 128) + strings.Repeat("<", 127)
	}
	body, err := eventBody(jobs.Record{Report: api.Report{ID: strings.Repeat("i", 64), Tenant: strings.Repeat("t", 64),
		State: api.CancelledState, Labels: labels, Message: strings.Repeat("\x01", 1<<20),
		Problem: &api.ProblemVersion{ID: strings.Repeat("p", 64), Version: strings.Repeat("v", 64)}}})
	if err != nil || len(body) > MaxBody || len(body) < MaxBody/2 {
		t.Errorf("%d bytes, want up to %d, %v", len(body), MaxBody, err)
	}
}

// TestCheckSecret checks that a signed callback needs a secret of the tenant.
func TestCheckSecret(t *testing.T) {
	f := open(t, jobs.Options{})
	with := f.deliverer(settings(t))
	without := f.deliverer(Settings{})
	public := api.Callback{URL: "https://platform.example/hook"}
	for _, tt := range []struct {
		name   string
		d      *Deliverer
		tenant string
		c      api.Callback
		field  string // "" if nothing is wrong
	}{
		{"fine", with, "", public, ""},
		{"no secret", without, "", public, "callback"},
		{"no secret of the tenant", with, "a", public, "callback"},
		{"literal address", with, "", api.Callback{URL: "http://[::ffff:10.0.0.1]:80/"}, "callback.url"},
	} {
		found, err := tt.d.Check(context.Background(), tt.tenant, tt.c)
		field := ""
		if len(found) > 0 {
			field = found[0].Field
		}
		if err != nil || field != tt.field {
			t.Errorf("%s: %v, %v", tt.name, found, err)
		}
	}
}

// TestAnyAnswer checks a format of a judge that never looked at the status: a response below 500 is accepted, a receiver
// that fails is tried again, and jobs are accepted in any case.
func TestAnyAnswer(t *testing.T) {
	for status, want := range map[int][]string{
		200: {"1 delivered 200"}, 302: {"1 delivered 302"}, 404: {"1 delivered 404"}, 410: {"1 delivered 410"},
		502: {"1 failed 502", "2 given_up 502"},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := open(t, jobs.Options{})
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
			}))
			defer site.Close()
			d := f.deliverer(Settings{Policy: settings(t, "127.0.0.1").Policy})
			d.o.Formats = map[api.CallbackFormat]Format{"other": {Method: http.MethodPut, AnyAnswer: true, Limit: patience,
				Pauses: []time.Duration{time.Millisecond},
				Body:   func(jobs.Record) ([]byte, error) { return []byte("{}"), nil }}}
			c := api.Callback{URL: site.URL, Format: "other"}
			f.judgeFor("job", c)
			stop := f.run(d)
			log := f.reach("job", map[bool]api.CallbackState{true: api.CallbackDelivered,
				false: api.CallbackGivenUp}[len(want) == 1])
			stop()
			if diff := cmp.Diff(want, triesOf(log)); diff != "" {
				t.Errorf("tries (-want +got):\n%s", diff)
			}
			if failed := log.Receiver != nil; failed != (status >= 500) {
				t.Errorf("failing receiver %+v", log.Receiver)
			}
		})
	}
}

// TestAnyAnswerOfDisabled checks that a disabled receiver does not refuse jobs of such a format.
func TestAnyAnswerOfDisabled(t *testing.T) {
	f := open(t, jobs.Options{})
	r := receive(t, func(int, http.ResponseWriter, *http.Request) int { return http.StatusGone })
	f.judge("job", r.URL)
	d := f.deliverer(settings(t, "127.0.0.1"))
	d.o.Formats = map[api.CallbackFormat]Format{"other": {AnyAnswer: true}}
	stop := f.run(d)
	f.reach("job", api.CallbackGivenUp)
	stop()
	for format, want := range map[api.CallbackFormat]int{api.StandardWebhook: 1, "other": 0} {
		found, err := d.Check(t.Context(), "", api.Callback{URL: r.URL, Format: format})
		if err != nil || len(found) != want {
			t.Errorf("format %q: %v, %v", format, found, err)
		}
	}
}

// TestClosedConnection checks that a receiver that closes an idle connection just when a callback is sent on it has no
// failed try: the callback is sent again at once, on another connection.
func TestClosedConnection(t *testing.T) {
	f := open(t, jobs.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for n := range 2 {
				r, err := http.ReadRequest(in)
				if err == nil && n == 0 {
					_, err = io.Copy(io.Discard, r.Body)
				}
				if err != nil || n > 0 {
					conn.Close()
					break
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		}
	}()
	stop := f.run(f.deliverer(settings(t, "127.0.0.1")))
	for _, id := range []string{"first", "second"} {
		f.judge(id, "http://"+l.Addr().String())
		if got := triesOf(f.reach(id, api.CallbackDelivered)); !cmp.Equal(got, []string{"1 delivered 204"}) {
			t.Errorf("%s: %v", id, got)
		}
	}
	stop()
}
