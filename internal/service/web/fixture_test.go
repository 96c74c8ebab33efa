package web

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/service/dispatch"
	"judged/internal/service/httpapi"
	"judged/internal/testkit"
	"judged/internal/timing/stats"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// The tokens of the fixture, by name.
var tokens = []string{"reader read", "writer submit", "boss read,admin", "guest read tenant-a"}

// fixture is a server with a real store.
type fixture struct {
	t      testing.TB
	store  *jobs.Store
	pool   *slots.Pool
	ready  error
	doctor api.DoctorReport
	server *httptest.Server
	host   machine.Topology
	log    *strings.Builder
	now    time.Time // zero: the real time
	db     *sql.DB   // the database of store
}

type poolSlots struct{ *slots.Pool }

func (p poolSlots) Drain(cpus cpuset.Set, reason string) error {
	return p.Hold(cpus, slots.Hold{Cause: api.HoldOperator, Reason: reason})
}

func (p poolSlots) Undrain(cpus cpuset.Set) error { return p.Lift(cpus) }

func newFixture(t testing.TB, change ...func(*httpapi.Options)) *fixture {
	t.Helper()
	return newFixtureIn(t, jobs.Options{File: filepath.Join(t.TempDir(), "judged.db")}, change...)
}

// newFixtureIn is newFixture with a certain database.
func newFixtureIn(t testing.TB, in jobs.Options, change ...func(*httpapi.Options)) *fixture {
	t.Helper()
	in.Tenants = []config.Tenant{{Name: "tenant-a", Weight: 1}}
	store, err := jobs.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	driver, source := "sqlite", in.File
	if in.URL != "" {
		driver, source = "pgx", in.URL
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: store, db: db, host: bigHost(), doctor: fitHost(), log: &strings.Builder{},
		pool: slots.NewPool([]slots.Slot{{CPUs: cpuset.New(2), Node: 0}, {CPUs: cpuset.New(40, 41), Node: 1}}, time.Now)}
	door, err := Door(Options{Key: []byte("a key of the test"), Owner: "host:/data",
		Topology: func() machine.Topology { return f.host },
		Doctor:   func() api.DoctorReport { return f.doctor }, Charts: chartsOf,
		Checks: func(context.Context) (api.DoctorReport, error) { return f.doctor, nil }})
	if err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{Config: config.Default(), Tokens: parseTokens(t), Jobs: store, Slots: poolSlots{f.pool},
		Doors: []httpapi.Door{door}, Ready: func() error { return f.ready }, Accepts: func() error { return f.ready },
		Now: func() time.Time {
			if f.now.IsZero() {
				return time.Now()
			}
			return f.now
		},
		Log: slog.New(slog.NewTextHandler(f.log, nil))}
	for _, c := range change {
		c(&o)
	}
	server := httpapi.New(o)
	f.server = httptest.NewServer(server)
	t.Cleanup(func() {
		server.EndStreams()
		f.server.Close()
		if err := errors.Join(db.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func parseTokens(t testing.TB) *httpapi.Tokens {
	t.Helper()
	var lines []string
	for _, line := range tokens {
		name, rest, _ := strings.Cut(line, " ")
		scopes, tenant, _ := strings.Cut(rest, " ")
		sum := sha256.Sum256([]byte("token of " + name))
		line = fmt.Sprintf("%s %s %s %s", name, scopes, hex.EncodeToString(sum[:]), tenant)
		lines = append(lines, strings.TrimSpace(line))
	}
	parsed, err := httpapi.ParseTokens(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// reader is a browser without a script.
type reader struct {
	f *fixture
	http.Client
}

// signIn returns a reader that has signed in with a token, or has not if name is "".
func (f *fixture) signIn(name string) *reader {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r := &reader{f, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
	if name != "" {
		a := r.post("/sign-in", url.Values{"token": {"token of " + name}, "next": {"/"}})
		if a.status != http.StatusSeeOther {
			f.t.Fatalf("sign in as %s: %d %s", name, a.status, a.body)
		}
	}
	return r
}

type answer struct {
	status int
	body   string
	header http.Header
}

func (r *reader) get(path string) answer {
	r.f.t.Helper()
	return r.send(http.MethodGet, path, nil)
}

func (r *reader) post(path string, form url.Values) answer {
	r.f.t.Helper()
	return r.send(http.MethodPost, path, form)
}

func (r *reader) send(method, path string, form url.Values) answer {
	r.f.t.Helper()
	body := strings.NewReader(form.Encode())
	request, err := http.NewRequestWithContext(r.f.t.Context(), method, r.f.server.URL+path, body)
	if err != nil {
		r.f.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := r.Do(request)
	if err != nil {
		r.f.t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	buffer := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	return answer{response.StatusCode, b.String(), response.Header}
}

// judge stores a job with a report. Its labels and state are those of the report.
func (f *fixture) judge(tenant string, r api.Report) {
	f.t.Helper()
	ctx := jobs.WithTenant(f.t.Context(), tenant)
	n := jobs.Submission{ID: r.ID, BodyDigest: r.ID, Tenant: tenant, Job: api.Job{Priority: api.Contest, Labels: r.Labels}}
	if r.Problem != nil {
		n.Job.Problem = r.Problem.ID
	}
	if _, _, err := f.store.Put(ctx, n); err != nil {
		f.t.Fatal(err)
	}
	if r.State == api.Queued {
		return
	}
	w, err := f.store.Take(context.WithoutCancel(f.t.Context()), api.Want{Host: "host:/data", CPUs: "2"})
	if err != nil {
		f.t.Fatal(err)
	}
	if r.State == api.Running {
		return
	}
	if err := f.store.Finish(f.t.Context(), w.Lease, r); err != nil {
		f.t.Fatal(err)
	}
}

const ms = time.Millisecond

// timedTest returns a test with a limit of one second and runs of these times in milliseconds. A negative time is of a
// run that noise disturbed and that was set aside.
func timedTest(name string, v api.Verdict, times ...int) api.TestReport {
	t := api.TestReport{Name: name, Verdict: v, MemoryPeak: new(units.Bytes(12 << 20)),
		Timing: &api.Timing{Limit: time.Second, Guard: 10 * ms, Policy: api.Confirm,
			DecidedBy: api.ByFirst, Statistic: "single", Confidence: api.OneRun}}
	for _, n := range times {
		run := api.Run{CPUTime: time.Duration(max(n, -n)) * ms, WallTime: time.Duration(max(n, -n)+3) * ms, CPUs: "2",
			Disturbed: []api.Cause{}, Kept: n > 0}
		if n < 0 {
			run.Disturbed = []api.Cause{api.CauseForeign}
			run.Explained.Add(api.CauseForeign, 30*ms, 30*ms)
		} else {
			t.Timing.N++
			t.CPUTime, t.WallTime = new(run.CPUTime), new(run.WallTime)
		}
		t.Runs = append(t.Runs, run)
	}
	if t.CPUTime != nil {
		t.Timing.MarginRatio = 1 - t.CPUTime.Seconds()
	}
	return t
}

func finished(id string, v api.Verdict, tests ...api.TestReport) api.Report {
	r := api.Report{ID: id, State: api.Done, Verdict: v, JudgementType: v.JudgementType(), Tests: tests,
		Host: &api.HostReport{Name: "judge-7", Kernel: "6.1", CPUModel: "Example CPU", Isolation: "isolcpus", Turbo: "off",
			Doctor: &api.DoctorHost{Ready: true, Failed: []string{}}}}
	for _, t := range tests {
		if t.CPUTime != nil && (r.CPUTime == nil || *t.CPUTime > *r.CPUTime) {
			r.CPUTime, r.MemoryPeak = t.CPUTime, t.MemoryPeak
		}
	}
	return r
}

// bigHost has two sockets of a node each, with 32 cores of two threads.
func bigHost() machine.Topology {
	t := machine.Topology{Model: "Example CPU 9000", Kernel: "6.1.0"}
	for node := range 2 {
		var cpus cpuset.Set
		for core := range 32 {
			id := node*32 + core
			siblings := cpuset.New(id, id+64)
			cpus = cpus.Union(siblings)
			for _, cpu := range siblings {
				first := node*32 + core/8*8
				var cache cpuset.Set
				for i := range 8 {
					cache = cache.Union(cpuset.New(first+i, first+i+64))
				}
				t.CPUs = append(t.CPUs, machine.CPU{ID: cpu, Core: id, Package: node, Node: node, Siblings: siblings,
					L3: cache, L3Size: 32 << 20})
			}
		}
		t.Nodes = append(t.Nodes, machine.Node{ID: node, CPUs: cpus, MemTotal: 128 << 30})
	}
	return t
}

// chartsOf returns a day of a kernel that has become slower.
func chartsOf(string) []dispatch.Chart {
	c := dispatch.Chart{Kernel: "alu", State: stats.Shifted, Shift: stats.Slower,
		Baseline: stats.Baseline{Center: 100 * ms, Sigma: 0.004, Guard: 0.012}}
	for i := range 300 {
		t := 100*ms + time.Duration(i*7919%800-400)*time.Microsecond
		if i > 260 {
			t += 7 * ms
		}
		c.Points = append(c.Points, dispatch.ChartPoint{At: time.Unix(1_800_000_000+int64(i)*60, 0), CPUTime: t,
			Disturbed: i%50 == 7})
	}
	return []dispatch.Chart{c, {Kernel: "chase"}}
}

func fitHost() api.DoctorReport {
	return api.DoctorReport{Schema: 1, Ready: true, Checks: []api.DoctorCheck{
		{ID: "turbo-off", Title: "turbo", Severity: api.SeverityS1, Status: api.DoctorPass, Found: "off", Wanted: "off"},
		{ID: "swap", Title: "swap", Severity: api.SeverityS1, Status: api.DoctorPass, Found: "none", Wanted: "none"}}}
}
