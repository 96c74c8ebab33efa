package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// Sizes of the benchmarks. The large ones take minutes to create.
const (
	fewWaiting   = 100
	manyWaiting  = 100_000
	manyFinished = 1_000_000
)

// BenchmarkPutTakeFinish reports the median of each step with few and with many jobs in the queue. The two alternate,
// so that both run under the same conditions. The ratio of the medians must not grow.
func BenchmarkPutTakeFinish(b *testing.B) {
	for _, backend := range benchBackends(b) {
		b.Run(backend.name, func(b *testing.B) {
			few, many := seeded(b, backend, fewWaiting, 0), seeded(b, backend, manyWaiting, 0)
			var times [2][3][]time.Duration
			var bare []time.Duration
			synced, err := os.Create(filepath.Join(b.TempDir(), "synced"))
			if err != nil {
				b.Fatal(err)
			}
			defer synced.Close()
			n := 0
			for b.Loop() {
				bare = append(bare, syncedWrite(b, synced))
				for i, s := range []*Store{few, many} {
					for step, d := range cycle(b, s, n) {
						times[i][step] = append(times[i][step], d)
					}
				}
				n++
			}
			for step, name := range []string{"put", "take", "finish"} {
				a, z := median(times[0][step]), median(times[1][step])
				b.ReportMetric(a.Seconds()*1e3, name+"-few-p50-ms")
				b.ReportMetric(z.Seconds()*1e3, name+"-many-p50-ms")
				b.ReportMetric(z.Seconds()/a.Seconds(), name+"-ratio")
			}
			b.ReportMetric(median(bare).Seconds()*1e3, "synced-write-p50-ms")
		})
	}
}

// syncedWrite returns the baseline: the time that the file system takes for a durable append of one page.
func syncedWrite(b *testing.B, f *os.File) time.Duration {
	start := time.Now()
	_, err := f.Write(make([]byte, 4096))
	if err := errors.Join(err, f.Sync()); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// cycle puts, takes and finishes one job. The length of the queue stays the same.
func cycle(b *testing.B, s *Store, n int) (times [3]time.Duration) {
	ctx := b.Context()
	start := time.Now()
	if _, _, err := s.Put(ctx, Submission{ID: fmt.Sprintf("bench-%d-%d", start.UnixNano(), n),
		Job: sampleJob()}); err != nil {
		b.Fatal(err)
	}
	times[0], start = time.Since(start), time.Now()
	w, err := s.Take(ctx, api.Want{Host: "host"})
	if err != nil {
		b.Fatal(err)
	}
	times[1], start = time.Since(start), time.Now()
	if err := s.Finish(ctx, w.Lease, sampleReport(api.Accepted)); err != nil {
		b.Fatal(err)
	}
	times[2] = time.Since(start)
	return times
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkLarge reports the cost of a database with many jobs: the time to open it, its memory, and the time for a
// page of each kind.
func BenchmarkLarge(b *testing.B) {
	for _, backend := range benchBackends(b) {
		b.Run(backend.name, func(b *testing.B) {
			s := seeded(b, backend, manyWaiting, manyFinished)
			o := s.opts
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.Run("open", func(b *testing.B) { benchOpen(b, o) })
			s, err := Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for name, f := range pages(manyFinished) {
				b.Run("page/"+name, func(b *testing.B) { benchPage(b, s, f) })
			}
			b.Run("depth", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Depth(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("sweep", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Sweep(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("cycle", func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					cycle(b, s, n)
				}
				b.ReportMetric(residentMiB(b), "resident-MiB")
			})
		})
	}
}

// BenchmarkBackup reports the times of a backup and its restore, and the size of the file. Its time per operation is that of
// both.
func BenchmarkBackup(b *testing.B) {
	for _, backend := range benchBackends(b) {
		for _, finished := range []int{manyFinished / 10, manyFinished} {
			b.Run(fmt.Sprintf("%s/%d", backend.name, finished), func(b *testing.B) {
				benchBackup(b, backend, finished)
			})
		}
	}
}

func benchBackup(b *testing.B, of backend, finished int) {
	s := seeded(b, of, fewWaiting, finished)
	var saved, restored time.Duration
	for b.Loop() {
		file, folder, o := filepath.Join(b.TempDir(), "backup"), b.TempDir(), of.fresh(b)
		start := time.Now()
		if _, err := Backup(b.Context(), s.opts, blobs.Attach(folder), file); err != nil {
			b.Fatal(err)
		}
		saved += time.Since(start)
		start = time.Now()
		a, err := Restore(b.Context(), o, within(folder), file, unlocked)
		if err != nil || a.Jobs != finished+fewWaiting {
			b.Fatalf("restored %d jobs, %v", a.Jobs, err)
		}
		restored += time.Since(start)
		info, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
		if err := os.Remove(file); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(saved.Seconds()/float64(b.N), "backup-s")
	b.ReportMetric(restored.Seconds()/float64(b.N), "restore-s")
}

func benchOpen(b *testing.B, o Options) {
	for b.Loop() {
		s, err := Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Check(); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	debug.FreeOSMemory()
}

// pages returns filters for a database with a number of finished jobs.
func pages(finished int) map[string]Filter {
	middle := seedTime(finished / 2)
	return map[string]Filter{
		"all":          {},
		"state":        {State: api.Done},
		"running":      {State: api.Running},
		"verdict":      {Verdict: api.TimeLimit},
		"rare verdict": {Verdict: api.SecurityViolation},
		"common label": {Label: map[string]string{"problem": "p3"}},
		"rare label":   {Label: map[string]string{"team": "t73"}},
		"tenant":       {Tenant: "a", State: api.Done},
		"two labels":   {Label: map[string]string{"problem": "p3", "team": "t73"}},
		"time":         {From: middle, To: middle.Add(time.Hour)},
		"time, done":   {From: middle, To: middle.Add(time.Hour), State: api.Done},
		"problem":      {Problem: "p"},
		"language":     {Language: "c", State: api.Done},
		"deep page":    {After: cursor(middle.UnixNano(), int64(finished)/2)},
		"other pool":   {Pool: "metal"},
		"priority":     {Priority: api.Contest},
		"originals":    {Originals: true},
	}
}

func benchPage(b *testing.B, s *Store, f Filter) {
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		if _, _, err := s.List(b.Context(), f); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	b.ReportMetric(median(times).Seconds()*1e3, "p50-ms")
}

func residentMiB(b *testing.B) float64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	b.Fatal("no RssAnon in /proc/self/status")
	return 0
}

func benchBackends(b *testing.B) []backend {
	backends := []backend{{"sqlite", func(t testing.TB) Options {
		return Options{File: filepath.Join(t.TempDir(), "judged.db")}
	}}}
	return append(backends, postgresBackend(testkit.StartPostgres(b)))
}

// seedTime returns the creation time of the i-th seeded job.
func seedTime(i int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(i) * time.Second)
}

// seeded returns a store with waiting and finished jobs. The database makes them by copying one row of each kind.
func seeded(b *testing.B, of backend, waiting, finished int) *Store {
	b.Helper()
	s, err := Open(b.Context(), of.fresh(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	seed(b, s, waiting, finished)
	return s
}

func seed(b testing.TB, s *Store, waiting, finished int) {
	b.Helper()
	timeout := s.opts.Timeout
	defer func() { s.opts.Timeout = timeout }()
	s.opts.Timeout = time.Hour
	body, err := packJSON(sampleJob())
	if err != nil {
		b.Fatal(err)
	}
	head, err := headOf(sampleReport(api.Accepted))
	if err != nil {
		b.Fatal(err)
	}
	tests, err := packJSON(sampleReport(api.Accepted).Tests)
	if err != nil {
		b.Fatal(err)
	}
	err = s.tx(b.Context(), "seed", func(ctx context.Context, tx *sql.Tx) error {
		const row = `INSERT INTO jobs (seq, id, digest, state, priority, pool, width, attempt, due, created, started, finished, verdict, labels, head, job, tests, turn)
SELECT i, 'seed' || i, '', %[1]s, 1 + i %% 3, CASE i %% 1000 WHEN 0 THEN 'metal' ELSE 'default' END, 1, 0, 0, ` +
			`CAST(1700000000000000000 + 1000000000 * CAST(i AS BIGINT) AS BIGINT), 0, %[2]s, %[3]s, '{"problem":"p3","team":"t77"}', CAST(?1 AS {blob}), ?2, CAST(?3 AS {blob}), CAST(i AS BIGINT) * 720720
FROM (%[4]s) AS numbers`
		for _, part := range []struct{ from, to, state int }{{1, finished, done},
			{finished + 1, finished + waiting, queued}} {
			if part.to < part.from {
				continue
			}
			numbers := fmt.Sprintf(
				`WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n`,
				part.from, part.to)
			end, verdict := "0", "''"
			if part.state == done {
				end = `CAST(1700000000000000000 + 1000000000 * CAST(i AS BIGINT) AS BIGINT)`
				verdict = `CASE i % 5000 WHEN 0 THEN 'SV' ELSE CASE i % 5 WHEN 0 THEN 'TLE' ELSE 'AC' END END`
			}
			text := fmt.Sprintf(row, fmt.Sprint(part.state), end, verdict, numbers)
			if _, err := tx.ExecContext(ctx, s.driver.sql(text), head, body, tests); err != nil {
				return err
			}
		}
		return seedLabels(ctx, tx, s)
	})
	if err != nil {
		b.Fatal(err)
	}
	after := `PRAGMA wal_checkpoint(TRUNCATE)`
	if s.driver.listen != nil {
		after = `SELECT setval(pg_get_serial_sequence('jobs', 'seq'), (SELECT MAX(seq) FROM jobs)); CHECKPOINT`
	}
	if _, err := s.write.ExecContext(b.Context(), after); err != nil {
		b.Fatal(err)
	}
	if s.driver.listen != nil { // autovacuum does this after some minutes
		if _, err := s.write.ExecContext(b.Context(), `VACUUM ANALYZE`); err != nil {
			b.Fatal(err)
		}
	}
}

// seedLabels assigns each job one of ten problems and one of a thousand teams.
func seedLabels(ctx context.Context, tx *sql.Tx, s *Store) error {
	if _, err := tx.ExecContext(ctx, s.driver.sql(
		`CREATE TABLE seed (n BIGINT PRIMARY KEY, label {blob})`)); err != nil {
		return err
	}
	for _, kind := range []struct {
		key, prefix string
		count       int
	}{{"problem", "p", 10}, {"team", "t", 1000}} {
		for n := range kind.count {
			if _, err := tx.ExecContext(ctx, s.driver.sql(`INSERT INTO seed VALUES (?1, ?2)`), n,
				labelHash(kind.key, fmt.Sprint(kind.prefix, n))); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, s.driver.sql(
			`INSERT INTO labels (label, created, job) SELECT s.label, j.created, j.seq FROM jobs j JOIN seed s ON s.n = j.seq % ?1`), kind.count); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM seed`); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `DROP TABLE seed`)
	return err
}
