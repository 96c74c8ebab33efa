package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// fakeCallbacks refuses all callbacks with its findings.
type fakeCallbacks struct{ found intake.Errors }

func (f *fakeCallbacks) Check(context.Context, string, api.Callback) (intake.Errors, error) {
	return f.found, nil
}

// callbackJob is small with a callback.
var callbackJob = strings.Replace(small, "{", `{"callback": {"url": "https://platform.example/hook"}, `, 1)

// TestCallbackRefused checks that the response names the member.
func TestCallbackRefused(t *testing.T) {
	check := &fakeCallbacks{}
	f := newFixture(t, func(o *Options) { o.Callbacks = check })
	wantProblem(t, f.submit("PUT", "/v1/jobs/a", strings.Replace(callbackJob, "https:", "ftp:", 1)), "invalid-job")
	check.found = intake.Errors{{Field: "callback.url", Detail: "disabled"}}
	w := f.submit("PUT", "/v1/jobs/b", callbackJob)
	wantProblem(t, w, "invalid-job")
	if diff := cmp.Diff([]api.FieldError(check.found), answer[Problem](t, w).Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// TestReceivers follows a callback whose receiver is disabled and enabled again, as its tenant and as another.
func TestReceivers(t *testing.T) {
	f := newTenantFixture(t)
	f.intake.Callbacks = &fakeCallbacks{}
	if w := f.as("ann", "PUT", "/v1/jobs/called", callbackJob); w.Code != http.StatusAccepted {
		t.Fatal(w)
	}
	list := func(name string) callbackList {
		t.Helper()
		w := f.submit("GET", "/v1/jobs/called/callbacks", "", "Authorization: Bearer "+name)
		if name == "bob" {
			wantProblem(t, w, "not-found")
			return callbackList{}
		}
		return answer[callbackList](t, w)
	}
	call := api.Callback{URL: "https://platform.example/hook"}
	want := callbackList{[]api.CallbackLog{{URL: call.URL, State: api.CallbackWaiting, Tries: []api.CallbackTry{}}}}
	if diff := cmp.Diff(want, list("ann")); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if err := playJudge(t.Context(), f.store); err != nil {
		t.Fatal(err)
	}
	receiver := jobs.ReceiverID("a", call)
	claimed, err := f.store.ClaimCallbacks(t.Context(), receiver, 1, time.Minute)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	until := f.store.Now().Add(time.Hour)
	if _, err := f.store.FinishCallback(t.Context(), claimed[0], jobs.TriedCallback{
		Try:      api.CallbackTry{Number: 1, Result: api.TryGivenUp, Status: 410, Error: "gone"},
		Receiver: func(int) (time.Time, bool) { return until, true }, Origin: call.Origin(), Tenant: "a"}); err != nil {
		t.Fatal(err)
	}
	log := list("ann").Callbacks[0]
	if log.State != api.CallbackGivenUp || log.Receiver == nil || !log.Receiver.Disabled || len(log.Tries) != 1 ||
		!cmp.Equal(list("ann"), list("ops")) {
		t.Errorf("log %+v", log)
	}
	list("bob")
	page := func(name, query string) api.ReceiverList {
		t.Helper()
		return answer[api.ReceiverList](t, f.submit("GET", "/v1/receivers"+query, "", "Authorization: Bearer "+name))
	}
	for name, want := range map[string]int{"ann": 1, "ops": 1, "bob": 0} {
		if got := page(name, "?limit=1"); len(got.Receivers) != want || got.Next != "" {
			t.Errorf("receivers of %s: %+v", name, got)
		}
	}
	bad := func(method, path, kind string) {
		t.Helper()
		wantProblem(t, f.submit(method, path, "", "Authorization: Bearer bob"), kind)
	}
	bad("GET", "/v1/receivers?after=x", "bad-request")
	bad("GET", "/v1/receivers?limit=0", "bad-request")
	bad("GET", "/v1/jobs/called/callbacks?x=1", "bad-request")
	bad("GET", "/v1/jobs/none/callbacks", "not-found")
	bad("POST", "/v1/receivers/"+receiver+"/enable", "not-found")
	bad("POST", "/v1/receivers/%00/enable", "not-found")
	w := f.submit("POST", "/v1/receivers/"+receiver+"/enable", "", "Authorization: Bearer ann")
	if got := answer[api.Receiver](t, w); got.Disabled || got.ID != receiver || got.Failures != 1 {
		t.Errorf("enabled: %d %s", w.Code, w.Body)
	}
	if log := list("ann").Callbacks[0]; log.Receiver == nil || log.Receiver.Disabled {
		t.Errorf("log of an enabled receiver: %+v", log)
	}
}
