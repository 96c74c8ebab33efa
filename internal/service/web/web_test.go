package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/service/httpapi"
)

func TestSignIn(t *testing.T) {
	f := newFixture(t)
	f.judge("", finished("a", api.Accepted))
	stranger := f.signIn("")
	if a := stranger.get("/jobs/a?x=1"); a.status != http.StatusSeeOther ||
		a.header.Get("Location") != "/sign-in?next=%2Fjobs%2Fa%3Fx%3D1" {
		t.Errorf("a stranger gets %d to %q", a.status, a.header.Get("Location"))
	}
	for _, tt := range []struct {
		name, token, next string
		status            int
		location, text    string
	}{
		{"an unknown token", "x", "/", 401, "", "The token is unknown"},
		{"no token", "", "/", 401, "", "This needs a token. Send a token."},
		{"another scope", "token of writer", "/", 403, "", "lacks the scope read"},
		{"a page", "token of reader", "/jobs/a?x=1", 303, "/jobs/a?x=1", ""},
		{"another host", "token of reader", "//example.org/", 303, "/", ""},
		{"another host with a backslash", "token of reader", `/\example.org/`, 303, "/", ""},
		{"another scheme", "token of reader", "https://example.org", 303, "/", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := f.signIn("")
			a := r.post("/sign-in", url.Values{"token": {tt.token}, "next": {tt.next}})
			if a.status != tt.status || a.header.Get("Location") != tt.location || !strings.Contains(a.body, tt.text) {
				t.Errorf("%d to %q: %s", a.status, a.header.Get("Location"), a.body)
			}
			cookie := a.header.Get("Set-Cookie")
			if (cookie != "") != (tt.status == 303) || strings.Contains(cookie, tt.token) && tt.token != "" {
				t.Errorf("cookie %q", cookie)
			}
		})
	}

	reader := f.signIn("reader")
	if a := reader.get("/jobs/a"); a.status != 200 || !strings.Contains(a.body, "Job <bdi>a</bdi>") {
		t.Errorf("signed in: %d %s", a.status, a.body)
	}
	a := reader.post("/sign-out", url.Values{})
	if a.status != 303 || a.header.Get("Location") != "/sign-in" {
		t.Errorf("sign out: %d %v", a.status, a.header)
	}
	if a := reader.get("/jobs/a"); a.status != 303 {
		t.Errorf("signed out: %d %s", a.status, a.body)
	}
}

func TestCookie(t *testing.T) {
	f := newFixture(t)
	a := f.signIn("").post("/sign-in", url.Values{"token": {"token of reader"}, "next": {"/"}})
	_, attributes, _ := strings.Cut(a.header.Get("Set-Cookie"), "; ")
	if want := "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"; attributes != want {
		t.Errorf("attributes %q, want %q", attributes, want)
	}
}

func TestSessionsEnd(t *testing.T) {
	seal := func(key string) *sealer {
		s, err := newSealer([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	end := time.Unix(1_800_000_000, 0)
	value := seal("key").seal("token", end)
	for _, tt := range []struct {
		name, key, value string
		now              time.Time
		want             string
	}{
		{"before the end", "key", value, end.Add(-time.Second), "token"},
		{"at the end", "key", value, end, ""},
		{"another key", "other", value, end.Add(-time.Second), ""},
		{"changed", "key", "A" + value[1:], end.Add(-time.Second), ""},
		{"not base64", "key", "?", end.Add(-time.Second), ""},
		{"empty", "key", "", end.Add(-time.Second), ""},
	} {
		if got := seal(tt.key).open(tt.value, tt.now); got != tt.want && !(tt.name == "changed" && value[0] == 'A') {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFormsOfOtherPages checks that a page of another origin changes nothing, although the browser has the cookie.
func TestFormsOfOtherPages(t *testing.T) {
	f := newFixture(t)
	for _, header := range []string{"Origin: https://example.org", "Sec-Fetch-Site: cross-site"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.server.URL+"/sign-out", nil)
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden || response.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d", header, response.StatusCode)
		}
	}
}

func TestPolicy(t *testing.T) {
	f := newFixture(t)
	f.judge("", finished("a", api.Accepted, timedTest("1", api.Accepted, 100)))
	r := f.signIn("reader")
	for _, path := range []string{"/", "/jobs", "/jobs/a", "/doctor", "/sign-in", "/jobs/none"} {
		a := r.get(path)
		if got := a.header.Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: policy %q", path, got)
		}
		for _, inline := range []string{"<style", " style=", "onclick", "javascript:", "http://", "https://"} {
			if strings.Contains(a.body, inline) {
				t.Errorf("%s has %q", path, inline)
			}
		}
	}
}

// TestTenant checks that a token of a tenant shows the jobs of the tenant, and nothing of the hosts.
func TestTenant(t *testing.T) {
	f := newFixture(t)
	f.judge("", finished("theirs", api.Accepted))
	f.judge("tenant-a", finished("mine", api.Accepted))
	r := f.signIn("guest")
	home := r.get("/")
	for _, wanted := range []string{"/jobs/mine", "shown to operators only"} {
		if !strings.Contains(home.body, wanted) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
	for _, unwanted := range []string{"theirs", "Example CPU", "NUMA node", "turbo-off", "Verdicts are safe"} {
		if strings.Contains(home.body, unwanted) {
			t.Errorf("the page has %q", unwanted)
		}
	}
	got := map[string]int{}
	for _, path := range []string{"/jobs/mine", "/jobs/theirs", "/jobs/theirs/report.json", "/jobs/theirs/runs.csv",
		"/doctor"} {
		got[path] = r.get(path).status
	}
	want := map[string]int{"/jobs/mine": 200, "/jobs/theirs": 404, "/jobs/theirs/report.json": 404,
		"/jobs/theirs/runs.csv": 404, "/doctor": 403}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// TestOpenDaemon checks that a daemon without tokens asks for none.
func TestOpenDaemon(t *testing.T) {
	f := newFixture(t, func(o *httpapi.Options) { o.Tokens = nil })
	if a := f.signIn("").get("/"); a.status != 200 || strings.Contains(a.body, "Sign out") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestSearch(t *testing.T) {
	f := newFixture(t)
	labelled := finished("a", api.TimeLimit)
	labelled.Labels = map[string]string{"team": "7"}
	f.judge("", labelled)
	f.judge("", finished("b", api.Accepted))
	r := f.signIn("reader")
	for _, tt := range []struct {
		query    string
		status   int
		has, not []string
	}{
		{"", 200, []string{"/jobs/a", "/jobs/b"}, nil},
		{"verdict=TLE&state=&problem=&label=&created_from=&created_to=", 200, []string{"/jobs/a"}, []string{"/jobs/b"}},
		{"label=team%3D7", 200, []string{"/jobs/a", `value="team=7"`}, []string{"/jobs/b"}},
		{"label=team%3D7+x%3Dy", 200, []string{"No job matches"}, []string{"/jobs/b"}},
		{"created_from=2100-01-01T00%3A00", 200, []string{"No job matches"}, nil},
		{"created_to=2100-01-01T00%3A00", 200, []string{"/jobs/a"}, nil},
		{"id=a", 303, nil, nil},
		{"id=c", 200, []string{"No job has the ID <bdi>c</bdi>"}, nil},
		{"verdict=XY", 400, []string{"Unknown verdict"}, nil},
		{"label=%3Cb%3E", 400, []string{"has no value"}, []string{"<b>"}},
	} {
		a := r.get("/jobs?" + tt.query)
		if a.status != tt.status {
			t.Errorf("%s: status %d: %s", tt.query, a.status, a.body)
		}
		for _, text := range tt.has {
			if !strings.Contains(a.body, text) {
				t.Errorf("%s: the page lacks %q", tt.query, text)
			}
		}
		for _, text := range tt.not {
			if strings.Contains(a.body, text) {
				t.Errorf("%s: the page has %q", tt.query, text)
			}
		}
	}
}

func TestRunsAsCSV(t *testing.T) {
	f := newFixture(t)
	f.judge("", finished("a", api.TimeLimit, timedTest("=1+1", api.TimeLimit, -1009, 1012)))
	a := f.signIn("reader").get("/jobs/a/runs.csv")
	want := "test,verdict,limit_ns,run,cpu_time_ns,wall_time_ns,explained_cpu_time_ns,kept,cpus,numa_node,disturbed\n" +
		"'=1+1,TLE,1000000000,1,1009000000,1012000000,30000000,false,2,0,foreign\n" +
		"'=1+1,TLE,1000000000,2,1012000000,1015000000,0,true,2,0,\n"
	if diff := cmp.Diff(want, a.body); diff != "" || a.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%v (-want +got):\n%s", a.header, diff)
	}
}

func TestSafety(t *testing.T) {
	fit := fitHost()
	check := func(id string, s api.Severity, status api.DoctorStatus) api.DoctorReport {
		r := fitHost()
		r.Checks = append(r.Checks, api.DoctorCheck{ID: id, Severity: s, Status: status})
		return r
	}
	slot := func(state, reason string) slotView {
		return slotView{SlotStatus: api.SlotStatus{CPUs: "2", State: state, Reason: reason}}
	}
	idle := []slotView{slot("idle", "")}
	const unsafe = "Verdicts near a time limit are not safe at this moment."
	const reserved = "Verdicts are given, with reservations."
	failed, minor, unknown := check("smt", api.SeverityS1, api.DoctorFail), check("thp", api.SeverityS3, api.DoctorFail),
		check("smt", api.SeverityS1, api.DoctorUnknown)
	deviating := api.Node{Name: "n", Up: true, Ready: true, Deviation: &api.Deviation{Ratio: 0.03, Deviates: true}}
	for _, tt := range []struct {
		name string
		k    known
		want safety
	}{
		{"all is well", known{Operator: true, Doctor: &fit, Slots: idle}, safety{"good", "Verdicts are safe at this moment.",
			[]string{"In use: 1 slot. None is quarantined or deviates.",
				"The host passes all checks of doctor that apply: 2."}}},
		{"a check fails", known{Operator: true, Doctor: &failed, Slots: idle}, safety{"bad", unsafe,
			[]string{"The host fails 1 check that can change a verdict: smt."}}},
		{"a check with a small effect fails", known{Operator: true, Doctor: &minor, Slots: idle}, safety{"odd", reserved,
			[]string{"The host fails 1 check with a smaller effect: thp."}}},
		{"a check is unknown", known{Operator: true, Doctor: &unknown, Slots: idle}, safety{"odd", reserved,
			[]string{"The state of 1 check is unknown: smt."}}},
		{"no checks", known{Operator: true, Doctor: &api.DoctorReport{Ready: true}, Slots: idle}, safety{"bad", unsafe,
			[]string{"Doctor has not examined the host."}}},
		{"not ready", known{Operator: true, Ready: errors.New("the disk is full"), Doctor: &fit, Slots: idle},
			safety{"bad", "Nothing is judged at this moment.", []string{"No job can be judged: the disk is full."}}},
		{"no slot judges", known{Operator: true, Doctor: &fit, Slots: []slotView{slot("quarantined", "it is slow")}},
			safety{"bad", unsafe, []string{"No slot judges.", "Slot 2 is quarantined: it is slow."}}},
		{"a node deviates", known{Operator: true, Nodes: []api.Node{deviating}}, safety{"bad", unsafe,
			[]string{"Node n judges, and its times deviate from its pool by 3.0 %."}}},
		{"a node is not ready", known{Operator: true, Nodes: []api.Node{{Name: "m", Up: true, Reason: "turbo is on"},
			{Name: "n", Up: true, Ready: true}}}, safety{"odd", reserved, []string{"Node m is not ready: turbo is on."}}},
		{"nothing is known", known{Operator: true}, safety{"bad", unsafe, []string{"No host is known that judges."}}},
		{"a tenant", known{}, safety{"odd", reserved, []string{"The state of the hosts is shown to operators only; the " +
			"report of each job has that of its host."}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, judgeSafety(tt.k)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrip(t *testing.T) {
	if got := plotRuns(api.TestReport{Runs: []api.Run{{}}}); got != nil {
		t.Errorf("without a limit: %+v", got)
	}
	got := plotRuns(timedTest("1", api.TimeLimit, -1020, 1012, 500))
	want := &strip{Low: "0 s", High: "1.072 s", LimitX: 272.9, BandX: 270.3, BandWidth: 5.3, From: 8, To: 292,
		Text: "CPU time of 3 runs against the limit of 1.000 s, guard band 10.0 ms: run 1: 1.020 s, disturbed by foreign " +
			"(at most 30.0 ms), set aside; run 2: 1.012 s; run 3: 500.0 ms",
		Marks: []mark{
			{X: 278.2, Y: 16, ExplainedX: 270.3, Class: "aside",
				Text: "run 1: 1.020 s, disturbed by foreign (at most 30.0 ms), set aside"},
			{X: 276.1, Y: 20, ExplainedX: 276.1, Class: "kept", Text: "run 2: 1.012 s"},
			{X: 140.5, Y: 16, ExplainedX: 140.5, Class: "kept", Text: "run 3: 500.0 ms"},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
