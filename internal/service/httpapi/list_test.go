package httpapi

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
)

// TestListFilters checks each filter of the list with the real store, and what is refused.
func TestListFilters(t *testing.T) {
	store := openStore(t)
	f := newFixture(t, func(o *Options) { o.Jobs = store })
	var created []time.Time
	for _, j := range []struct {
		id, tenant string
		job        api.Job
	}{
		{"a", "", api.Job{Problem: "sum", Language: "c"}},
		{"b", "x", api.Job{Problem: "sum", Language: "python3"}},
		{"c", "", api.Job{Problem: "path", Language: "c", Labels: map[string]string{"team": "7"}}},
	} {
		rec, _, err := store.Put(jobs.WithTenant(t.Context(), j.tenant), jobs.Submission{ID: j.id, Job: j.job})
		if err != nil {
			t.Fatal(err)
		}
		created = append(created, rec.Report.CreatedAt)
	}
	for _, v := range []api.Verdict{api.Accepted, api.WrongAnswer} {
		w, err := store.Take(t.Context(), api.Want{})
		if err == nil {
			err = store.Finish(t.Context(), w.Lease, api.Report{Verdict: v})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	second := url.QueryEscape(created[1].Format(time.RFC3339Nano))
	for query, want := range map[string]string{
		"": "c b a", "verdict=WA": "b", "verdict=WA&state=queued": "", "problem=sum": "b a", "language=c": "c a",
		"language=c&problem=path&label=team%3D7": "c", "language=java": "", "tenant=x": "b",
		"created_from=" + second: "c b", "created_to=" + second: "a", "created_from=" + second + "&verdict=AC": "",
		"created_from=2200-01-01T00:00:00Z": "", "created_to=1970-01-01T00:00:00%2B01:00": "an error",
		"verdict=wa": "an error", "verdict=NO": "an error", "problem=..": "an error", "language=c%20d": "an error",
		"created_from=today": "an error", "created_to=2300-01-01T00:00:00Z": "an error", "verdict=AC&verdict=WA": "an error",
		"user=1": "an error",
	} {
		w := f.ask("GET", "/v1/jobs?"+query, "")
		if want == "an error" {
			wantProblem(t, w, "bad-request")
			continue
		}
		ids := []string{}
		for _, j := range answer[jobList](t, w).Jobs {
			ids = append(ids, j.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestDeleteJob(t *testing.T) {
	f := queued(t)
	wantProblem(t, f.ask("POST", "/v1/jobs/a/delete", ""), "in-use")
	f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone})
	wantProblem(t, f.ask("POST", "/v1/jobs/a/delete", `{"x": 1}`), "bad-request")
	var got []int
	for range 2 {
		got = append(got, f.ask("POST", "/v1/jobs/a/delete", "").Code)
	}
	if diff := cmp.Diff([]int{204, 404}, got); diff != "" {
		t.Errorf("deleted and repeated (-want +got):\n%s", diff)
	}
	wantProblem(t, f.ask("GET", "/v1/jobs/a/delete", ""), "method")
}
