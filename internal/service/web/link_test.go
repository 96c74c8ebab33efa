package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"judged/internal/api"
)

// link asks the interface for a link with a token.
func (f *fixture) link(name, job string) (api.Link, int) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost,
		f.server.URL+"/v1/jobs/"+job+"/link?valid_seconds=3600", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer token of "+name)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	var l api.Link
	if err := json.NewDecoder(response.Body).Decode(&l); err != nil {
		f.t.Fatal(err)
	}
	return l, response.StatusCode
}

// TestLink checks that a link shows the page of its job to anyone until it ends, and nothing that is not for contestants.
func TestLink(t *testing.T) {
	f := newFixture(t)
	r := finished("mine", api.TimeLimit, timedTest("1", api.TimeLimit, 1012, 1015))
	r.Labels = map[string]string{"team": "secret-label"}
	r.Tests[0].Checker = &api.CheckReport{Verdict: api.WrongAnswer, Message: "secret-message", TeamMessage: "for you",
		Stderr: "secret-stderr"}
	r.Tests[0].StderrHead, r.Tests[0].StdoutHead = new("secret-err"), new("secret-out")
	r.Tests[0].Transcript = &api.Transcript{Note: "secret-talk"}
	r.Host.Name = "secret-host"
	r.Rejudging = &api.AppliedRejudging{ID: "secret-set", Job: "secret-job"}
	r.CrossCheck = &api.CrossCheck{Decision: api.HostsAgree, Hosts: []api.CrossCheckedHost{{Node: "secret-node"}}}
	f.judge("tenant-a", r)
	f.judge("", finished("theirs", api.Accepted))
	l, status := f.link("guest", "mine")
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	stranger := f.signIn("")
	a := stranger.get(l.Path)
	if a.status != 200 || !strings.Contains(a.body, "two of two runs were over 1.000 s") ||
		!strings.Contains(a.body, "for you") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, unwanted := range []string{"secret", "tenant-a", `href="/"`, `href="/jobs`, "report.json"} {
		if at := strings.Index(a.body, unwanted); at >= 0 {
			t.Errorf("the page has %q: %s", unwanted, a.body[max(0, at-80):at+40])
		}
	}
	if a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("headers %v", a.header)
	}

	for name, path := range map[string]string{
		"another job":       strings.Replace(l.Path, "mine", "theirs", 1),
		"no job":            strings.Replace(l.Path, "mine", "none", 1),
		"a later end":       strings.Replace(l.Path, "until=1", "until=2", 1),
		"no signature":      "/link/mine?until=9999999999",
		"an empty one":      "/link/mine?until=9999999999&signature=",
		"nothing":           "/link/mine",
		"no number":         "/link/mine?until=x&signature=x",
		"another signature": strings.Replace(l.Path, "signature=", "signature=A", 1),
	} {
		if a := stranger.get(path); a.status != 404 || !strings.Contains(a.body, "This link is not valid") ||
			strings.Contains(a.body, "<a href") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for job, want := range map[string]int{"theirs": 404, "none": 404} {
		if _, status := f.link("guest", job); status != want {
			t.Errorf("a tenant links %s: %d, want %d", job, status, want)
		}
	}
	if _, status := f.link("writer", "mine"); status != 403 {
		t.Errorf("without the scope read: %d", status)
	}
	f.now = l.Until
	if a := stranger.get(l.Path); a.status != 410 || !strings.Contains(a.body, "This link has ended") {
		t.Errorf("at its end: %d %s", a.status, a.body)
	}
}

// TestGuestsSeeNoFaultsOfTheJury checks what an IE shows.
func TestGuestsSeeNoFaultsOfTheJury(t *testing.T) {
	for _, fault := range []api.Fault{api.JuryFault, api.ProblemFault, api.HostFault, api.NoiseFault} {
		r := api.Report{State: api.Done, Verdict: api.InternalError, Fault: fault, Message: "why",
			Compilation: &api.Compilation{Program: "checker", Output: "its source"},
			Tests:       []api.TestReport{{Verdict: api.InternalError, Fault: fault, Message: "why"}}}
		got := forGuest(r)
		want := ""
		if fault == api.NoiseFault {
			want = "why"
		}
		if got.Message != want || got.Tests[0].Message != want || got.Compilation != nil {
			t.Errorf("%s: %+v", fault, got)
		}
		if r.Tests[0].Message != "why" {
			t.Error("the report itself has changed")
		}
	}
}

// TestGuestsSeeNoDigests checks the page of a job that waits for a file, or was cancelled meanwhile.
func TestGuestsSeeNoDigests(t *testing.T) {
	for _, state := range []api.State{api.Queued, api.Running, api.CancelledState} {
		if got := forGuest(api.Report{State: state, Message: "waits for a file: 0123abcd"}); got.Message != "" {
			t.Errorf("%s: %q", state, got.Message)
		}
	}
}
