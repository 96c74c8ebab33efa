package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
)

// calls returns a function that gives a job a callback.
func calls(url string) func(*api.Job) {
	return func(j *api.Job) { j.Callback = &api.Callback{URL: url} }
}

const (
	receiverA = "https://a.example/hook?x=1"
	receiverB = "http://b.example:8080/"
)

// claim claims callbacks and returns the IDs of their jobs, in order.
func (b *bench) claim(receiver string, n int) (all []ClaimedCallback, ids []string) {
	b.t.Helper()
	all, err := b.ClaimCallbacks(b.ctx(), ReceiverID("", api.Callback{URL: receiver}), n, time.Minute)
	b.must(err)
	for _, c := range all {
		call, err := b.CallbackJob(b.ctx(), c, false)
		b.must(err)
		ids = append(ids, call.Job.ID)
	}
	return all, ids
}

// waitingCalls returns the jobs whose callback is pending.
func (b *bench) waitingCalls(ids ...string) (waiting []string) {
	b.t.Helper()
	for _, id := range ids {
		list, err := b.Callbacks(b.ctx(), id)
		b.must(err)
		if len(list) == 1 && list[0].State == api.CallbackPending {
			waiting = append(waiting, id)
		}
	}
	return waiting
}

// testCallbacksOfEnds checks that each end of a job makes its callback due, once, and that no other change does.
func testCallbacksOfEnds(t *testing.T, b backend) {
	s := b.open(t, nil)
	ids := []string{"done", "queued", "running", "elsewhere", "again", "plain"}
	for _, id := range ids[:4] {
		s.put(id, calls(receiverA))
	}
	j := sampleJob()
	calls(receiverA)(&j)
	packed, err := s.Pack(s.ctx(), Submission{ID: "again", BodyDigest: "digest", Job: j})
	s.must(err)
	_, err = s.PutAll(s.ctx(), []Packed{packed})
	s.must(err)
	s.put("plain", nil)
	done := s.take()
	s.finish(done.Lease, api.Accepted)
	s.finish(done.Lease, api.Accepted)
	_, err = s.Cancel(s.ctx(), "queued")
	s.must(err)
	_, err = s.Cancel(s.ctx(), s.take().ID) // running
	s.must(err)
	forwarded := s.take()
	s.must(s.Forward(s.ctx(), s.get(forwarded.ID), sampleReport(api.Accepted), "metal", api.Screening{}))
	returned := s.take()
	s.must(s.Return(s.ctx(), returned.Lease, api.Returned{}))
	if diff := cmp.Diff([]string{"done", "queued", "running"}, s.waitingCalls(ids...)); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	metal, err := s.Take(s.ctx(), api.Want{Pool: "metal"})
	s.must(err)
	s.finish(metal.Lease, api.WrongAnswer)
	s.finish(s.take().Lease, api.InternalError) // ends again
	s.finish(s.take().Lease, api.Accepted)      // ends a job without a callback
	want := []string{"done", "queued", "running", "elsewhere", "again"}
	if _, ids := s.claim(receiverA, 10); cmp.Diff(want, ids) != "" {
		t.Errorf("claimed %q, want %q", ids, want)
	}
	for id, want := range map[string]int{"plain": 0, "done": 1} {
		if list, err := s.Callbacks(s.ctx(), id); err != nil || len(list) != want {
			t.Errorf("%s: %+v, %v", id, list, err)
		}
	}

	// Jobs that judged derives from others have no callback.
	_, err = s.PutAudit(s.ctx(), Audit{ID: OwnID("audit", "done"), Original: "done", Origin: "n1"}, s.get("done").Job)
	s.must(err)
	s.finish(s.take().Lease, api.Accepted)
	s.rejudging("set", map[string]api.Verdict{"done": api.Accepted})
	s.finish(s.take().Lease, api.WrongAnswer)
	s.must(s.ApplyRejudging(s.ctx(), "set"))
	if list, err := s.Callbacks(s.ctx(), OwnID("audit", "done")); err != nil || len(list) != 0 {
		t.Errorf("the audit has callbacks %+v, %v", list, err)
	}
	if all, err := s.ClaimCallbacks(s.ctx(), ReceiverID("", api.Callback{URL: receiverA}), 10, time.Minute); err != nil ||
		len(all) > 0 {
		t.Errorf("claimed %d more, %v", len(all), err)
	}
}

// testCallbackClaims checks that two processes never try a callback at the same time, and that the claims of a process
// that has exited expire.
func testCallbackClaims(t *testing.T, b backend) {
	s := b.open(t, nil)
	other := s.again()
	for n := range 4 {
		s.put(fmt.Sprint("a", n), calls(receiverA))
		s.finish(s.take().Lease, api.Accepted)
	}
	s.put("b", calls(receiverB))
	s.finish(s.take().Lease, api.Accepted)
	s.forward(time.Second) // the stores' estimates of the server's clock differ by up to the duration of a query
	receivers, err := s.DueReceivers(s.ctx(), "", 10)
	s.must(err)
	want := []string{ReceiverID("", api.Callback{URL: receiverA}), ReceiverID("", api.Callback{URL: receiverB})}
	slices.Sort(want)
	var got []string
	for _, r := range receivers {
		got = append(got, r.ID)
		if r.Proven || r.Due.After(s.Store.now()) {
			t.Errorf("receiver %+v: it was never tried", r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("receivers (-want +got):\n%s", diff)
	}
	if next, err := s.DueReceivers(s.ctx(), want[0], 10); err != nil || len(next) != 1 || next[0].ID != want[1] {
		t.Errorf("after the first: %+v, %v", next, err)
	}
	if first, err := s.DueReceivers(s.ctx(), "", 1); err != nil || len(first) != 1 || first[0].ID != want[0] {
		t.Errorf("one: %+v, %v", first, err)
	}
	mine, ids := s.claim(receiverA, 3)
	if diff := cmp.Diff([]string{"a0", "a1", "a2"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ids := other.claim(receiverA, 3); cmp.Diff([]string{"a3"}, ids) != "" {
		t.Errorf("the other process claimed %q, want a3", ids)
	}
	if _, ids := other.claim(receiverA, 3); len(ids) > 0 {
		t.Errorf("claimed %q twice", ids)
	}
	s.forward(2 * time.Minute)
	theirs, ids := other.claim(receiverA, 4)
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"a0", "a1", "a2", "a3"}, ids); diff != "" {
		t.Fatalf("after the lease (-want +got):\n%s", diff)
	}
	first := slices.IndexFunc(theirs, func(c ClaimedCallback) bool { return c.job == mine[0].job })
	if theirs[first].Number != 2 {
		t.Errorf("after the lease: try %d", theirs[first].Number)
	}
	tried := func(s *bench, c ClaimedCallback) {
		t.Helper()
		_, err := s.FinishCallback(s.ctx(), c, TriedCallback{Try: api.CallbackTry{Number: c.Number,
			Result: api.TryDelivered}, Receiver: never})
		s.must(err)
	}
	tried(s, mine[0]) // the claim has expired
	if w := s.waitingCalls("a0"); len(w) != 1 {
		t.Error("a lost claim ended a callback")
	}
	tried(other, theirs[first])
	list, err := s.Callbacks(s.ctx(), "a0")
	s.must(err)
	wantLog := []api.CallbackLog{{URL: receiverA, State: api.CallbackDelivered, Tries: []api.CallbackTry{
		{Number: 1, Result: api.TryInterrupted}, {Number: 2, Result: api.TryDelivered}}}}
	if diff := cmp.Diff(wantLog, list, cmpopts.IgnoreFields(api.CallbackLog{}, "ID", "CreatedAt")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// testUnknownCallbacks checks that an unknown result or state is an error. Otherwise the callback would be pending but
// never due.
func testUnknownCallbacks(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", calls(receiverA))
	s.finish(s.take().Lease, api.Accepted)
	claimed, _ := s.claim(receiverA, 1)
	for _, try := range []TriedCallback{{Next: time.Now(), Try: api.CallbackTry{Number: 1}},
		{Next: time.Now(), Try: api.CallbackTry{Number: 1, Result: "new"}},
		{Try: api.CallbackTry{Number: 1, Result: api.TryFailed}}} {
		if _, err := s.FinishCallback(s.ctx(), claimed[0], try); err == nil {
			t.Errorf("%q with the next try at %v is stored", try.Try.Result, try.Next)
		}
	}
	_, err := s.write.Exec(`UPDATE callbacks SET state = 9`)
	s.must(err)
	if list, err := s.Callbacks(s.ctx(), "a"); err == nil || !strings.HasSuffix(err.Error(), "unknown state 9") {
		t.Errorf("callbacks %+v, %v", list, err)
	}
}

// forward advances the time of the database, so that claims expire.
func (b *bench) forward(by time.Duration) {
	b.t.Helper()
	_, err := b.write.Exec(b.driver.sql(`UPDATE callbacks SET due = due - ?1 WHERE due > 0`), by.Nanoseconds())
	b.must(err)
}

// never is the policy for a receiver that is never paused.
func never(int) (time.Time, bool) { return time.Time{}, false }

// testReceivers checks how tries change their receiver, and that each tenant has its own receivers.
func testReceivers(t *testing.T, b backend) {
	s := b.open(t, nil)
	ctx := s.ctx()
	put := func(tenant, id string) {
		j := sampleJob()
		calls(receiverA)(&j)
		_, _, err := s.Put(WithTenant(ctx, tenant), Submission{ID: id, Job: j})
		s.must(err)
		s.finish(s.take().Lease, api.Accepted)
	}
	until := s.Store.now().Add(time.Hour).Truncate(time.Microsecond)
	policy := func(failures int) (time.Time, bool) { return until, failures == 2 }
	try := func(tenant string, result api.CallbackResult) api.Receiver {
		t.Helper()
		all, err := s.ClaimCallbacks(ctx, ReceiverID(tenant, api.Callback{URL: receiverA}), 1, time.Minute)
		s.must(err)
		if len(all) != 1 {
			t.Fatalf("claimed %d callbacks, want one", len(all))
		}
		c := all[0]
		tried := TriedCallback{Try: api.CallbackTry{Number: c.Number, Result: result, Error: "no"}, Receiver: policy,
			Origin: "https://a.example", Tenant: tenant}
		if result == api.TryFailed {
			tried.Next = s.Store.now().Add(-time.Second)
		}
		r, err := s.FinishCallback(ctx, c, tried)
		s.must(err)
		return r
	}
	put("", "1")
	put("x", "2")
	try("", api.TryFailed)
	r := try("", api.TryFailed)
	want := api.Receiver{ID: ReceiverID("", api.Callback{URL: receiverA}), Origin: "https://a.example", Failures: 2,
		Paused: until, Disabled: true, LastError: "no"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("receiver (-want +got):\n%s", diff)
	}
	same := api.Callback{URL: "https://A.example:443/other"}
	if r, disabled, err := s.DisabledReceiver(ctx, "", same); err != nil || !disabled || cmp.Diff(want, r) != "" {
		t.Errorf("disabled %t, %+v, %v", disabled, r, err)
	}
	if _, disabled, err := s.DisabledReceiver(ctx, "x", api.Callback{URL: receiverA}); err != nil || disabled {
		t.Errorf("the receiver of another tenant is disabled: %t, %v", disabled, err)
	}
	try("x", api.TryGivenUp)
	for tenant, want := range map[string]int{"": 2, "x": 1, "y": 0} {
		if page, next, err := s.Receivers(WithTenant(ctx, tenant), "", 10); err != nil || len(page) != want || next != "" {
			t.Errorf("receivers of %q: %+v, %q, %v", tenant, page, next, err)
		}
	}
	page, next, err := s.Receivers(ctx, "", 1)
	s.must(err)
	if rest, last, err := s.Receivers(ctx, next, 1); err != nil || len(rest) != 1 || last != "" || rest[0].ID == page[0].ID {
		t.Errorf("second page: %+v, %q, %v", rest, last, err)
	}
	if n, err := s.DisabledReceivers(ctx); err != nil || n != 1 {
		t.Errorf("%d receivers are disabled, want 1, %v", n, err)
	}
	list, err := s.DueReceivers(ctx, "", 10)
	s.must(err)
	if len(list) != 1 || !list[0].Due.Equal(until) || list[0].Proven {
		t.Errorf("due %+v, want one at %v", list, until)
	}
	_, err = s.EnableReceiver(WithTenant(ctx, "x"), want.ID)
	s.want(err, ErrNoReceiver)
	enabled, err := s.EnableReceiver(ctx, want.ID)
	s.must(err)
	want.Failures, want.Paused, want.Disabled = 1, time.Time{}, false
	if diff := cmp.Diff(want, enabled); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	try("", api.TryDelivered)
	if page, _, err := s.Receivers(ctx, "", 10); err != nil || len(page) != 1 || page[0].Tenant != "x" {
		t.Errorf("after a delivery: %+v, %v", page, err)
	}
	put("", "3")
	if list, err := s.DueReceivers(ctx, "", 10); err != nil || len(list) != 1 || !list[0].Proven {
		t.Errorf("after a delivery: %+v, %v", list, err)
	}
}

// testSweepCallbacks checks that a callback is deleted with its job, and dropped if only the job was deleted.
func testSweepCallbacks(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxJobs = 1 })
	s.put("deleted", calls(receiverA))
	s.finish(s.take().Lease, api.Accepted)
	s.must(s.Delete(s.ctx(), "deleted"))
	left := 0
	s.must(s.read.QueryRow(`SELECT COUNT(*) FROM callbacks`).Scan(&left))
	if left > 0 {
		t.Errorf("%d callbacks are left of a deleted job", left)
	}
	for _, id := range []string{"old", "new"} {
		s.put(id, calls(receiverA))
		s.finish(s.take().Lease, api.Accepted)
	}
	_, err := s.Sweep(s.ctx())
	s.must(err)
	all, ids := s.claim(receiverA, 10)
	if diff := cmp.Diff([]string{"new"}, ids); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	_, err = s.write.Exec(`DELETE FROM jobs`)
	s.must(err)
	_, err = s.CallbackJob(s.ctx(), all[0], true)
	s.want(err, api.ErrNotFound)
	s.must(s.DeleteCallback(s.ctx(), all[0]))
	if list, err := s.DueReceivers(s.ctx(), "", 10); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestTriesAreBounded(t *testing.T) {
	var c ClaimedCallback
	for n := 1; n < 100; n += 3 {
		c.log = TriedCallback{Try: api.CallbackTry{Number: n, Result: api.TryFailed}}.log(c)
	}
	if len(c.log) != api.MaxCallbackTries || c.log[0].Number != 78 || c.log[len(c.log)-1].Number != 97 {
		t.Errorf("%d tries from %d to %d", len(c.log), c.log[0].Number, c.log[len(c.log)-1].Number)
	}
}
