package jobs

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/config"
)

// quotaOf returns the quota that an error names.
func quotaOf(err error) string {
	var quota *QuotaError
	if !errors.As(err, &quota) {
		return fmt.Sprint(err)
	}
	return quota.Tenant + " " + quota.Quota
}

// tries puts jobs with these IDs one by one, and returns the results.
func (b *bench) tries(tenant string, ids ...string) (results []string) {
	for _, id := range ids {
		_, created, err := b.Put(b.of(tenant), Submission{ID: id, BodyDigest: "digest", Job: sampleJob()})
		results = append(results, fmt.Sprint(created, " ", quotaOf(err)))
	}
	return results
}

// testWaitingQuota checks that only submissions of a tenant that has used up its quota are refused, and that repeated
// submissions are not.
func testWaitingQuota(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.Tenants = []config.Tenant{{Name: "a", Weight: 1, MaxWaiting: 2}} })
	want := []string{"true <nil>", "true <nil>", "false a max_waiting", "false <nil>"}
	if diff := cmp.Diff(want, b.tries("a", "1", "2", "3", "1")); diff != "" {
		t.Errorf("puts of a (-want +got):\n%s", diff)
	}
	if got := quotaOf(b.Room(b.of("a"))); got != "a max_waiting" {
		t.Errorf("room: %s", got)
	}
	for _, tenant := range []string{"", "b"} {
		b.must(b.Room(b.of(tenant)))
		if diff := cmp.Diff(want[:1], b.tries(tenant, "of-"+tenant)); diff != "" {
			t.Errorf("puts of %q (-want +got):\n%s", tenant, diff)
		}
	}
	var list []Packed
	for _, id := range []string{"2", "4"} {
		p, err := b.Pack(b.of("a"), Submission{ID: id, BodyDigest: "digest", Job: sampleJob()})
		b.must(err)
		list = append(list, p)
	}
	outcomes, err := b.PutAll(b.of("a"), list)
	b.must(err)
	if outcomes[0].Created || outcomes[0].Err != nil || quotaOf(outcomes[1].Err) != "a max_waiting" {
		t.Errorf("batch: %+v", outcomes)
	}
	b.want(outcomes[1].Err, ErrFull)
	b.take()
	if diff := cmp.Diff([]string{"true <nil>", "false a max_waiting"}, b.tries("a", "5", "6")); diff != "" {
		t.Errorf("puts after one was taken (-want +got):\n%s", diff)
	}
}

// testRejudgingQuota checks that the jobs of a rejudging take at most half of the places of a tenant: the others are for
// its contestants.
func testRejudgingQuota(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.Tenants = []config.Tenant{{Name: "a", Weight: 1, MaxWaiting: 4}} })
	var found []SelectedJob
	for _, id := range []string{"1", "2", "3"} {
		b.putOf("a", id, nil)
		b.finish(b.take().Lease, api.WrongAnswer)
		found = append(found, SelectedJob{ID: id, Verdict: api.WrongAnswer})
	}
	_, err := b.PutRejudging(b.ctx(), api.RejudgingRequest{ID: "set"}, "digest")
	b.must(err)
	b.must(b.SelectRejudged(b.ctx(), b.unfinished("set"), found, RejudgingProgress{Selected: true}))
	queue := func(f SelectedJob) error {
		n := again("set", f.ID)
		n.Tenant = "a"
		return b.QueueRejudged(b.ctx(), "set", f, n)
	}
	var got []string
	for _, f := range found {
		got = append(got, quotaOf(queue(f)))
	}
	if diff := cmp.Diff([]string{"<nil>", "<nil>", "a max_waiting"}, got); diff != "" {
		t.Errorf("jobs of the rejudging (-want +got):\n%s", diff)
	}
	want := []string{"true <nil>", "true <nil>", "false a max_waiting"}
	if diff := cmp.Diff(want, b.tries("a", "4", "5", "6")); diff != "" {
		t.Errorf("jobs of contestants (-want +got):\n%s", diff)
	}
}

// testDailyQuotas checks that a tenant that has used up a daily quota is refused until the next day, also after a
// restart.
func testDailyQuotas(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) {
		o.Tenants = []config.Tenant{{Name: "a", Weight: 2, CPUTimePerDay: 10 * time.Millisecond, BlobsPerDay: 100},
			{Name: "b", Weight: 1}}
	})
	b.clock.advance(24*time.Hour - time.Duration(b.Store.now().UnixNano())%(24*time.Hour)) // midnight
	b.must(b.CheckUpload(b.of("a")))
	b.ChargeBlobs(b.of("a"), 100)
	b.putOf("a", "finished", nil)
	b.finish(b.take().Lease, api.Accepted) // 6 ms
	b.must(b.Room(b.of("a")))
	b.must(b.storeUsage(b.ctx()))
	b.putOf("a", "passed-on", nil)
	w := b.take()
	b.must(b.Recheck(b.ctx(), b.get(w.ID), sampleReport(api.TimeLimit), api.CrossCheck{}, b.Store.now())) // 6 ms
	b.must(b.storeUsage(b.ctx()))
	if be.name == "sqlite" {
		*b = *b.again()
	}
	for name, err := range map[string]error{"a cpu_time_per_day": b.Room(b.of("a")),
		"a blobs_per_day": b.CheckUpload(b.of("a"))} {
		var quota *QuotaError
		if quotaOf(err) != name || !errors.As(err, &quota) || quota.Reset <= 0 || quota.Reset > 24*time.Hour {
			t.Errorf("error %v, want %s", err, name)
		}
	}
	_, err := b.PutAudit(b.ctx(), Audit{ID: "@audit", Original: "finished", Origin: "n1", Tenant: "a"}, sampleJob())
	b.must(err)
	again := b.take()
	b.finish(b.take().Lease, api.Accepted) // the audit, which does not count for the tenant
	b.must(b.Return(b.ctx(), again.Lease, api.Returned{Uncounted: true}))
	want := []api.Tenant{{Name: "a", Weight: 2, Waiting: 1, BlobsToday: 100, BlobsPerDay: 100,
		CPUTimeToday: 12 * time.Millisecond, CPUTimePerDay: 10 * time.Millisecond}, {Name: "b", Weight: 1}}
	for tenant, want := range map[string][]api.Tenant{"": want, "a": want[:1], "b": want[1:], "c": {}} {
		got, err := b.Tenants(b.of(tenant))
		b.must(err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Tenant{}, "ResetsAt")); diff != "" {
			t.Errorf("%q sees (-want +got):\n%s", tenant, diff)
		}
	}
	for _, other := range []string{"", "b"} {
		b.must(errors.Join(b.Room(b.of(other)), b.CheckUpload(b.of(other))))
	}
	if be.name == "sqlite" { // the clock of a server cannot be set
		b.clock.advance(24 * time.Hour)
		b.must(errors.Join(b.Room(b.of("a")), b.CheckUpload(b.of("a"))))
	}
	if u := cpuOf(sampleReport(api.Accepted).Tests); u != (used{cpu: 6 * time.Millisecond}) {
		t.Errorf("a report has %+v", u)
	}
	passes := []api.PassReport{{Runs: []api.Run{{CPUTime: 1}, {CPUTime: 2}}}, {Runs: []api.Run{{CPUTime: 4}}}}
	if u := cpuOf([]api.TestReport{{Runs: passes[1].Runs, Pass: 2, Passes: passes}}); u != (used{cpu: 7}) {
		t.Errorf("a report with passes has %+v", u)
	}
}

// testAbsurdUsage checks that reports of a node that has been taken over, each with more CPU time than fits, do not
// give their tenant more to use, and do not keep the usage of others from being stored.
func testAbsurdUsage(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) {
		o.Tenants = []config.Tenant{{Name: "a", Weight: 1, CPUTimePerDay: time.Hour}, {Name: "b", Weight: 1}}
	})
	runs := make([]api.Run, 4000)
	for i := range runs {
		runs[i].CPUTime = 30 * 24 * time.Hour
	}
	absurd := sampleReport(api.Accepted)
	absurd.Tests[0].Runs = runs
	for _, id := range []string{"1", "2", "3", "4"} {
		b.charge("a", cpuOf(absurd.Tests))
		if id == "2" {
			continue // two before they are stored
		}
		b.charge("b", used{cpu: time.Millisecond})
		b.must(b.storeUsage(b.ctx()))
		if u, err := b.usedToday(b.ctx(), "a"); err != nil || u.cpu < 30*24*time.Hour {
			t.Errorf("after job %s, a has used %v, %v", id, u.cpu, err)
		}
	}
	if got := quotaOf(b.Room(b.of("a"))); got != "a cpu_time_per_day" {
		t.Errorf("room: %s", got)
	}
	if u, err := b.usedToday(b.ctx(), "b"); err != nil || u.cpu != 3*time.Millisecond {
		t.Errorf("b has used %v, %v", u.cpu, err)
	}
}
