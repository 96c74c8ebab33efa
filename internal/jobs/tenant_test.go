package jobs

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// callers are the tenants of the callers of the tests; "" is an operator.
var callers = []string{"", "a", "b"}

// of returns a context for the calls of a tenant.
func (b *bench) of(tenant string) context.Context { return WithTenant(b.ctx(), tenant) }

// putOf puts a job of a tenant.
func (b *bench) putOf(tenant, id string, edit func(*api.Job)) {
	b.t.Helper()
	j := sampleJob()
	if edit != nil {
		edit(&j)
	}
	rec, created, err := b.Put(b.of(tenant), Submission{ID: id, BodyDigest: "digest", Job: j})
	if err != nil || !created || rec.Report.Tenant != tenant {
		b.t.Fatalf("put %s of %q: created %v, %v, tenant %q", id, tenant, created, err, rec.Report.Tenant)
	}
}

// seen returns the jobs that a tenant can read, by each way to read them.
func (b *bench) seen(tenant string, ids ...string) map[string][]string {
	b.t.Helper()
	ways := map[string]func(context.Context, string) error{
		"get":   func(ctx context.Context, id string) error { _, err := b.Get(ctx, id); return err },
		"short": func(ctx context.Context, id string) error { _, err := b.GetShort(ctx, id); return err },
		"wait": func(ctx context.Context, id string) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := b.Wait(ctx, id)
			return err
		},
		"events": func(ctx context.Context, id string) error {
			for _, err := range b.Events(ctx, id, 0) {
				return err
			}
			return nil
		},
	}
	seen := map[string][]string{}
	for way, read := range ways {
		seen[way] = []string{}
		for _, id := range ids {
			err := read(b.of(tenant), id)
			if err == nil {
				seen[way] = append(seen[way], id)
			} else {
				b.want(err, api.ErrNotFound)
			}
		}
	}
	return seen
}

// listed returns the jobs of a page. For each it checks the tenant, and that the labels of judged are omitted.
func (b *bench) listed(tenant string, f Filter) []string {
	b.t.Helper()
	page, next, err := b.List(b.of(tenant), f)
	b.must(err)
	if next != "" {
		b.t.Errorf("another page after %d jobs", len(page))
	}
	ids := []string{}
	for _, rep := range page {
		ids = append(ids, rep.ID+" of "+rep.Tenant)
		if _, there := rep.Labels[TenantLabel]; there {
			b.t.Errorf("job %s has the label of its tenant", rep.ID)
		}
	}
	return ids
}

func testTenants(t *testing.T, be backend) {
	b := be.open(t, nil)
	for _, tenant := range callers {
		b.putOf(tenant, "job-"+tenant, nil)
		b.putOf(tenant, "bare-"+tenant, func(j *api.Job) { j.Labels = nil })
	}
	for tenant, want := range map[string][]string{"": {"job-", "job-a", "job-b"}, "a": {"job-a"}, "b": {"job-b"}} {
		got := b.seen(tenant, "job-", "job-a", "job-b", "none")
		if diff := cmp.Diff(map[string][]string{"get": want, "short": want, "wait": want, "events": want}, got); diff != "" {
			t.Errorf("%q sees (-want +got):\n%s", tenant, diff)
		}
	}
	for _, tt := range []struct {
		name, tenant string
		filter       Filter
		want         []string
	}{
		{"all", "", Filter{}, []string{"bare-b of b", "job-b of b", "bare-a of a", "job-a of a", "bare- of ", "job- of "}},
		{"own", "a", Filter{}, []string{"bare-a of a", "job-a of a"}},
		{"own by name", "a", Filter{Tenant: "a"}, []string{"bare-a of a", "job-a of a"}},
		{"of another", "a", Filter{Tenant: "b"}, []string{}},
		{"of one", "", Filter{Tenant: "b"}, []string{"bare-b of b", "job-b of b"}},
		{"by label", "a", Filter{Label: map[string]string{"team": "7"}}, []string{"job-a of a"}},
		{"by the label of another", "a", Filter{Label: map[string]string{TenantLabel: "b"}}, []string{}},
	} {
		if diff := cmp.Diff(tt.want, b.listed(tt.tenant, tt.filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}

	for _, tenant := range callers {
		rec, created, err := b.Put(b.of(tenant), Submission{ID: "job-b", BodyDigest: "digest", Job: sampleJob()})
		if tenant == "a" {
			b.want(err, ErrConflict)
		} else if err != nil || rec.Report.Tenant != "b" {
			t.Errorf("%q puts it again: %v, %+v", tenant, err, rec)
		}
		if created || tenant == "a" && rec.ID != "" {
			t.Errorf("%q puts a job of b: created %t, %+v", tenant, created, rec)
		}
	}
	_, err := b.Cancel(b.of("a"), "job-b")
	b.want(err, api.ErrNotFound)
	for _, tenant := range []string{"b", ""} {
		rep, err := b.Cancel(b.of(tenant), "job-"+tenant)
		if err != nil || rep.Tenant != tenant {
			t.Errorf("%q cancels: %v, %+v", tenant, err, rep)
		}
	}

	for _, tenant := range []string{"a", ""} {
		w := b.take()
		rep := sampleReport(api.Accepted)
		rep.Tenant = "b" // as a judge may send it
		b.must(b.Finish(b.ctx(), w.Lease, rep))
		if got := b.get(w.ID).Report.Tenant; got != tenant || w.Report.Tenant != got {
			t.Errorf("tenant %q and %q of %s", w.Report.Tenant, got, w.ID)
		}
	}
}

// testCopiesOfTenants checks that the jobs that judged creates belong to the tenant of their original.
func testCopiesOfTenants(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.putOf("a", "job", nil)
	w := b.take()
	b.must(b.Recheck(b.ctx(), b.get("job"), sampleReport(api.TimeLimit), api.CrossCheck{}, b.Store.now()))
	again := b.take()
	b.must(b.Forward(b.ctx(), b.get("job"), sampleReport(api.TimeLimit), "metal", api.Screening{}))
	_, err := b.PutAudit(b.ctx(), Audit{ID: "@audit-1", Original: "job", Tenant: b.get("job").Report.Tenant}, w.Job)
	b.must(err)
	copies := []string{RecheckID(w.Lease), ScreeningID(again.Lease), "@audit-1"}
	for tenant, want := range map[string][]string{"": copies, "a": copies, "b": {}} {
		if diff := cmp.Diff(want, b.seen(tenant, copies...)["get"]); diff != "" {
			t.Errorf("%q sees (-want +got):\n%s", tenant, diff)
		}
	}
	if diff := cmp.Diff([]string{"@audit-1 of a"}, b.listed("a", Filter{Audits: true,
		Label: map[string]string{AuditLabel: "job"}})); diff != "" {
		t.Errorf("audits (-want +got):\n%s", diff)
	}
}

func testSetsOfTenants(t *testing.T, be backend) {
	b := be.open(t, nil)
	for _, tenant := range callers {
		created, err := b.PutRejudging(b.of(tenant), api.RejudgingRequest{ID: "set-" + tenant}, "digest")
		if err != nil || !created || b.unfinished("set-"+tenant).Tenant != tenant {
			t.Fatalf("%q: created %t, %v, %+v", tenant, created, err, b.unfinished("set-"+tenant))
		}
	}
	for tenant, want := range map[string][]string{"": {"set-b of b", "set-a of a", "set- of "}, "a": {"set-a of a"}} {
		page, next, err := b.Rejudgings(b.of(tenant), "", 10)
		b.must(err)
		var got []string
		for _, v := range page {
			got = append(got, v.ID+" of "+v.Tenant)
		}
		if diff := cmp.Diff(want, got); diff != "" || next != "" {
			t.Errorf("%q lists, next %q (-want +got):\n%s", tenant, next, diff)
		}
	}
	_, err := b.PutRejudging(b.of("a"), api.RejudgingRequest{ID: "set-b"}, "digest")
	b.want(err, ErrConflict)
	_, err = b.Rejudging(b.of("a"), "set-b")
	b.want(err, ErrNoRejudging)
	b.want(b.ApplyRejudging(b.of("a"), "set-b"), ErrNoRejudging)
	b.want(b.CancelRejudging(b.of("a"), "set-b"), ErrNoRejudging)
	if u := b.unfinished("set-b"); u.State != api.RejudgingFilling {
		t.Errorf("the set of b is %s after a has tried to cancel it", u.State)
	}
	b.must(b.CancelRejudging(b.of("b"), "set-b"))
	b.must(b.CancelRejudging(b.of(""), "set-a"))
}

func testProblemsOfTenants(t *testing.T, be backend) {
	b := be.open(t, nil)
	for _, tenant := range callers {
		p, created, err := b.PutProblem(b.of(tenant), api.Problem{ID: "p-" + tenant, Version: "1", Tenant: "forged"},
			Editor{Name: "token of " + tenant})
		if err != nil || !created || p.Tenant != tenant {
			t.Fatalf("%q: created %t, %v, %+v", tenant, created, err, p)
		}
	}
	for tenant, want := range map[string]string{"": "[p- p-a p-b]", "a": "[p- p-a]", "b": "[p- p-b]"} {
		var read, listed []string
		for _, id := range []string{"p-", "p-a", "p-b"} {
			if p, err := b.Problem(b.of(tenant), id); err == nil {
				read = append(read, p.ID)
			} else {
				b.want(err, ErrNoProblem)
			}
		}
		for after := ""; ; {
			page, next, err := b.Problems(b.of(tenant), after, 1)
			b.must(err)
			for _, p := range page {
				listed = append(listed, p.ID)
			}
			if after = next; next == "" {
				break
			}
		}
		if fmt.Sprint(read) != want || fmt.Sprint(listed) != want {
			t.Errorf("%q reads %v and lists %v, want %s", tenant, read, listed, want)
		}
	}
	for _, tt := range []struct {
		tenant, id string
		by         Editor
		put, del   error
	}{
		{"a", "p-b", Editor{Name: "token of b", Any: true}, ErrNotOwner, ErrNoProblem},
		{"a", "p-", Editor{Name: "token of ", Any: true}, ErrNotOwner, ErrNotOwner},
		{"a", "p-a", Editor{Name: "other"}, ErrNotOwner, ErrNotOwner},
		{"a", "p-a", Editor{Name: "other", Any: true}, nil, nil},
		{"", "p-b", Editor{Any: true}, nil, nil},
	} {
		p, _, err := b.PutProblem(b.of(tt.tenant), api.Problem{ID: tt.id, Version: "2"}, tt.by)
		b.want(err, tt.put)
		if owner := tt.id[len("p-"):]; err == nil && p.Tenant != owner {
			t.Errorf("%s has the tenant %q after an operator has replaced it", tt.id, p.Tenant)
		}
		b.want(b.DeleteProblem(b.of(tt.tenant), tt.id, tt.by), tt.del)
	}
}
