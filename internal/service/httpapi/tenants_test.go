package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/intake"
)

// tenantFixture has a real store and the tokens ann and bob of the tenants a and b, and ops without a tenant. Each has
// the scopes submit, read and admin, and a job of its name that is done.
type tenantFixture struct {
	*fixture
	store *jobs.Store
	blobs *blobs.Store
}

func newTenantFixture(t *testing.T) *tenantFixture {
	t.Helper()
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := ParseTokens(strings.NewReader("ann submit,read,admin " + digestText("ann") + " a\n" +
		"bob submit,read,admin " + digestText("bob") + " b\nops submit,read,admin " + digestText("ops")))
	if err != nil {
		t.Fatal(err)
	}
	f := &tenantFixture{newFixture(t, func(o *Options) {
		o.Jobs, o.Blobs, o.Tokens = store, files, tokens
		o.Work, o.Nodes = noWork{}, noNodes{}
	}), store, files}
	for _, name := range []string{"ann", "bob", "ops"} {
		if w := f.as(name, "PUT", "/v1/jobs/"+name, small); w.Code != http.StatusAccepted {
			t.Fatalf("job of %s: %d %s", name, w.Code, w.Body)
		}
		if err := playJudge(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// noWork and noNodes panic in every call.
type (
	noWork  struct{ Work }
	fleet   = Nodes
	noNodes struct{ fleet }
)

// answered is a response.
type answered struct {
	Code int
	Body string
}

// as sends a request with a token.
func (f *tenantFixture) as(name, method, target, body string) answered {
	w := f.submit(method, target, body, "Authorization: Bearer "+name)
	return answered{w.Code, w.Body.String()}
}

// TestTenantsAreApart checks that what belongs to another tenant gives the same answer as what does not exist, in every
// route that names a job, a problem or a rejudging.
func TestTenantsAreApart(t *testing.T) {
	f := newTenantFixture(t)
	for _, name := range []string{"ann", "ops"} {
		if w := f.as(name, "POST", "/v1/rejudgings", `{"id": "`+name+`", "jobs": ["`+name+`"]}`); w.Code != 201 {
			t.Fatalf("rejudging of %s: %+v", name, w)
		}
		ctx := jobs.WithTenant(t.Context(), map[string]string{"ann": "a"}[name])
		if _, _, err := f.store.PutProblem(ctx, api.Problem{ID: name}, jobs.Editor{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	routes := []struct{ method, path string }{
		{"GET", "/v1/jobs/%"}, {"GET", "/v1/jobs/%?wait=1ms"}, {"GET", "/v1/jobs/%/events"}, {"DELETE", "/v1/jobs/%"},
		{"GET", "/v1/problems/%"}, {"DELETE", "/v1/problems/%"},
		{"GET", "/v1/rejudgings/%"}, {"POST", "/v1/rejudgings/%/apply"}, {"DELETE", "/v1/rejudgings/%"},
	}
	for _, r := range routes {
		unknown := f.as("bob", r.method, strings.ReplaceAll(r.path, "%", "none"), "")
		if unknown.Code != http.StatusNotFound {
			t.Errorf("%s %s of an unknown one: %+v", r.method, r.path, unknown)
		}
		other := f.as("bob", r.method, strings.ReplaceAll(r.path, "%", "ann"), "")
		if diff := cmp.Diff(unknown, other); diff != "" {
			t.Errorf("%s %s of another tenant (-unknown +other):\n%s", r.method, r.path, diff)
		}
		for _, name := range []string{"ops", "ann"} { // the last ones delete
			if own := f.as(name, r.method, strings.ReplaceAll(r.path, "%", "ann"), ""); own.Code == http.StatusNotFound &&
				!(name == "ann" && r.path == "/v1/problems/%" && r.method == "DELETE") {
				t.Errorf("%s: %s %s: %+v", name, r.method, r.path, own)
			}
		}
	}
	if w := f.as("bob", "GET", "/v1/problems/ops", ""); w.Code != http.StatusOK {
		t.Errorf("a problem without a tenant: %+v", w)
	}
}

// TestTenantsShareIDs checks that an ID that another tenant has is taken, without a word about the job.
func TestTenantsShareIDs(t *testing.T) {
	f := newTenantFixture(t)
	other := strings.Replace(small, `"1"`, `"2"`, 1)
	want := f.as("ann", "PUT", "/v1/jobs/ann", other) // another body under an own ID
	for _, body := range []string{small, other} {
		got := f.as("bob", "PUT", "/v1/jobs/ann", body)
		if diff := cmp.Diff(want, got); diff != "" || got.Code != http.StatusConflict {
			t.Errorf("status %d (-own +other):\n%s", got.Code, diff)
		}
	}
	for name, want := range map[string]int{"ann": http.StatusOK, "ops": http.StatusOK} {
		if got := f.as(name, "PUT", "/v1/jobs/ann", small); got.Code != want {
			t.Errorf("%s repeats it: %+v", name, got)
		}
	}
	for _, name := range []string{"ann", "bob"} {
		w := f.submit("POST", "/v1/jobs", small, "Authorization: Bearer "+name, "Idempotency-Key: one")
		if w.Code != http.StatusAccepted || answer[api.Report](t, w).Tenant != name[:1] {
			t.Errorf("%s with a key: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestTenantsList(t *testing.T) {
	f := newTenantFixture(t)
	for _, tt := range []struct{ name, query, want string }{
		{"ops", "", "ops of , bob of b, ann of a"}, {"ops", "?tenant=a", "ann of a"}, {"ops", "?tenant=c", ""},
		{"ann", "", "ann of a"}, {"ann", "?tenant=a", "ann of a"}, {"ann", "?tenant=b", ""},
		{"ann", "?label=%40tenant%3Db", ""},
	} {
		w := f.ask("GET", "/v1/jobs"+tt.query, "", "Authorization: Bearer "+tt.name)
		var got []string
		for _, rep := range answer[jobList](t, w).Jobs {
			got = append(got, rep.ID+" of "+rep.Tenant)
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s lists %q%s, want %q", tt.name, got, tt.query, tt.want)
		}
	}
	wantProblem(t, f.ask("GET", "/v1/jobs?tenant=a%20b", "", "Authorization: Bearer ops"), "bad-request")
}

// TestTenantsRejudge checks that a set has only jobs of its tenant, whether it names or filters them.
func TestTenantsRejudge(t *testing.T) {
	f := newTenantFixture(t)
	for id, body := range map[string]string{"named": `"jobs": ["ann", "bob", "none"]`, "filtered": `"filter": {"created_from": "1970-01-01T00:00:00Z"}`} {
		if w := f.as("ann", "POST", "/v1/rejudgings", `{"id": "`+id+`", `+body+`}`); w.Code != http.StatusCreated {
			t.Fatalf("%s: %+v", id, w)
		}
	}
	filler := intake.NewRejudger(intake.RejudgerOptions{Store: f.store, Blobs: f.blobs, Holder: "test",
		Config: func() config.Config { return f.config }, Log: slog.New(slog.DiscardHandler)})
	for busy := true; busy; {
		var err error
		if busy, err = filler.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for id, skipped := range map[string]string{"named": "[{bob no such job} {none no such job}]", "filtered": "[]"} {
		v, err := f.store.Rejudging(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.store.Get(t.Context(), jobs.RejudgeID(id, "ann"))
		if v.Jobs != 1 || v.Tenant != "a" || err != nil || again.Report.Tenant != "a" {
			t.Errorf("%s: %+v, copy of %q, %v", id, v, again.Report.Tenant, err)
		}
		if got := strings.Join(strings.Fields(fmt.Sprint(v.Skipped)), " "); got != skipped {
			t.Errorf("%s skipped %s, want %s", id, got, skipped)
		}
	}
}

// TestTenantsAndTheHost checks that a token of a tenant sees and changes nothing that concerns all tenants.
func TestTenantsAndTheHost(t *testing.T) {
	f := newTenantFixture(t)
	doctor := route{"GET", "/v1/doctor", nil, nil}
	for _, r := range slices.Concat([]route{doctor}, f.slotRoutes(), f.nodeRoutes()) {
		if r.path() == "/v1/pools" {
			continue // jobs name pools
		}
		path := strings.NewReplacer("{cpus}", "2-3", "{name}", "n", "{pool}", "default").Replace(r.path())
		if w := f.as("ann", r.method, path, ""); w.Code != http.StatusForbidden {
			t.Errorf("%s %s: %+v", r.method, path, w)
		}
	}
	if w := f.as("ops", "GET", "/v1/slots", ""); w.Code != http.StatusOK {
		t.Errorf("an operator: %+v", w)
	}
}

// TestTenantsOfStreams checks that a stream of a job of another tenant is refused before it waits.
func TestTenantsOfStreams(t *testing.T) {
	f := newTenantFixture(t)
	if w := f.as("ann", "PUT", "/v1/jobs/queued", small); w.Code != http.StatusAccepted {
		t.Fatalf("%+v", w)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, path := range []string{"/v1/jobs/queued?wait=60s", "/v1/jobs/queued/events"} {
		if w := f.as("bob", "GET", path, ""); w.Code != http.StatusNotFound || ctx.Err() != nil {
			t.Errorf("%s: %+v", path, w)
		}
	}
}

// TestTenantsQuotas checks that a 429 names the quota and when to try again, in every way to submit a job, and that a
// tenant sees only its own.
func TestTenantsQuotas(t *testing.T) {
	f := newTenantFixture(t)
	f.store.SetTenants([]config.Tenant{{Name: "a", Weight: 2, MaxWaiting: 1, CPUTimePerDay: time.Hour},
		{Name: "b", Weight: 1}})
	if w := f.as("ann", "PUT", "/v1/jobs/first", small); w.Code != http.StatusAccepted {
		t.Fatalf("%+v", w)
	}
	for _, r := range []struct{ method, path string }{{"PUT", "/v1/jobs/second"}, {"POST", "/v1/jobs"}} {
		w := f.submit(r.method, r.path, small, "Authorization: Bearer ann")
		p := wantProblem(t, w, "quota")
		if p.Detail != "tenant a has used up max_waiting, which is 1" || w.Header().Get("Retry-After") != "5" {
			t.Errorf("%s %s: %+v, Retry-After %s", r.method, r.path, p, w.Header().Get("Retry-After"))
		}
	}
	if w := f.as("ann", "PUT", "/v1/jobs/first", small); w.Code != http.StatusOK {
		t.Errorf("the same job again: %+v", w)
	}
	for _, name := range []string{"bob", "ops"} {
		if w := f.as(name, "PUT", "/v1/jobs/of-"+name, small); w.Code != http.StatusAccepted {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for name, want := range map[string]string{"ann": "a 1", "bob": "b 1", "ops": "a 1, b 1"} {
		var got []string
		w := f.ask("GET", "/v1/tenants", "", "Authorization: Bearer "+name)
		for _, tenant := range answer[api.TenantList](t, w).Tenants {
			got = append(got, fmt.Sprint(tenant.Name, " ", tenant.Waiting))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s sees %v, want %s", name, got, want)
		}
	}
	f.store.SetTenants([]config.Tenant{{Name: "a", Weight: 1, CPUTimePerDay: 1, BlobsPerDay: 1}})
	f.store.ChargeBlobs(jobs.WithTenant(t.Context(), "a"), 1)
	if err := f.store.CheckUpload(jobs.WithTenant(t.Context(), "a")); problemOf(err).Status != http.StatusTooManyRequests ||
		!strings.Contains(err.Error(), "blobs_per_day, which is 1B") {
		t.Errorf("upload: %v", err)
	}
}
