package web

import (
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// copyJob stores copies of a job with their labels, each a microsecond newer than the one before it.
func (f *fixture) copyJob(id string, n int) {
	f.t.Helper()
	for _, text := range []string{`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $2)
INSERT INTO jobs (id, digest, state, priority, pool, width, due, created, started, finished, verdict, labels, head, job,
	tests, turn)
SELECT id || '-' || n, digest, state, priority, pool, width, due, created + n * 1000, started, finished, verdict,
	labels, head, job, tests, turn + n FROM jobs, numbers WHERE id = $1`,
		`INSERT INTO labels (label, created, job) SELECT l.label, j.created, j.seq FROM labels l, jobs o, jobs j
WHERE o.id = $1 AND l.job = o.seq AND j.seq > o.seq AND j.id LIKE $1 || '-%' AND CAST($2 AS INTEGER) > 0`} {
		if _, err := f.db.ExecContext(f.t.Context(), text, id, n); err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestManyJobs reads all pages of a long list.
func TestManyJobs(t *testing.T) {
	const many = 10_000
	f := newFixture(t)
	done := finished("done", api.TimeLimit, timedTest("1", api.TimeLimit, 1012, 1015))
	done.Problem = &api.ProblemVersion{ID: "sum"}
	f.judge("", done)
	f.copyJob("done", many-1)
	f.judge("", api.Report{ID: "waiting", State: api.Queued})
	f.copyJob("waiting", many-1)
	r := f.signIn("boss")
	row, next := regexp.MustCompile(`<th scope="row"><a href="/jobs/([^"]+)"`), regexp.MustCompile(`rel="next" href="([^"]+)"`)
	for _, tt := range []struct{ path, first string }{{"/jobs?state=queued", "waiting-9999"},
		{"/jobs?problem=sum", "done-9999"}} {
		seen := map[string]bool{}
		for path, pages := tt.path, 0; path != "" && pages < 2*many/50; pages++ {
			body := r.get(path).body
			rows := row.FindAllStringSubmatch(body, -1)
			for _, job := range rows {
				seen[job[1]] = true
			}
			if len(rows) == 0 || len(rows) > 50 || !seen[tt.first] {
				t.Fatalf("%s has %d jobs, the first is %s: %t", path, len(rows), tt.first, seen[tt.first])
			}
			path = ""
			if found := next.FindStringSubmatch(body); found != nil {
				path = html.UnescapeString(found[1])
			}
		}
		if len(seen) != many {
			t.Errorf("the pages of %s have %d jobs, want %d", tt.path, len(seen), many)
		}
	}

	t.Run("in a browser", func(t *testing.T) {
		testkit.Need(t, testkit.Chromium, testkit.Axe)
		axe, tab := axeScript(t), openTab(t)
		tab.Go(f.server.URL + "/jobs?state=queued")
		signIn(tab, "token of boss")
		for _, tt := range []struct{ click, first, shown string }{
			{`a[rel=next]`, "waiting-9949", "Older jobs"},
			{`a[rel=next]`, "waiting-9899", "Older jobs"},
			{`a[href="/"]`, "waiting-9999", "contest 10000, the oldest from "},
		} {
			tab.Wait(`document.querySelector("footer time") && document.querySelector('` + tt.click + `')`)
			tab.Eval(`(document.querySelector('`+tt.click+`').click(), true)`, new(bool))
			tab.Wait(fmt.Sprintf(`document.querySelector("tbody th a[href='/jobs/%s']")`, tt.first))
			wantText(t, tab, tt.shown)
			nothingCut(t, tab, 1600, tt.first)
			checkUsable(t, tab, axe, tt.first)
		}
		shot(t, tab, "many-now")
		if errs := tab.Errors(); len(errs) > 0 {
			t.Errorf("the console has %q", errs)
		}
	})
}

// BenchmarkNow requests / while 100,000 jobs wait. It reports the median time, and the CPU time of judged and the client,
// which other programs change little.
func BenchmarkNow(b *testing.B) {
	server := testkit.StartPostgres(b)
	for name, in := range map[string]jobs.Options{"sqlite": {File: filepath.Join(b.TempDir(), "judged.db")},
		"postgres": {URL: server.Database(b)}} {
		b.Run(name, func(b *testing.B) { benchNow(b, in) })
	}
}

func benchNow(b *testing.B, in jobs.Options) {
	f := newFixtureIn(b, in)
	f.judge("", finished("done", api.Accepted, timedTest("1", api.Accepted, 100)))
	f.copyJob("done", 100_000)
	f.judge("", api.Report{ID: "waiting", State: api.Queued})
	f.copyJob("waiting", 100_000)
	r := f.signIn("boss")
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var times []time.Duration
	start := cpu()
	for b.Loop() {
		began := time.Now()
		if a := r.get("/"); a.status != 200 {
			b.Fatal(a.status)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64((cpu()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(times[len(times)/2].Seconds()*1e3, "p50-ms")
}
