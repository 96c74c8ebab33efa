package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// commits returns the number of transactions that SQLite has synced: the counter iChange of the index of its log.
func (b *bench) commits() uint32 {
	b.t.Helper()
	text, err := os.ReadFile(b.o.File + "-shm")
	b.must(err)
	return binary.NativeEndian.Uint32(text[8:])
}

// TestGroup checks that writes which wait for the writer share a transaction, and that one that fails changes nothing
// for the others.
func TestGroup(t *testing.T) {
	const puts = 4
	for name, tt := range map[string]struct {
		bad     string // text of one more write
		commits uint32
	}{
		"all succeed": {"", 2},
		"one fails":   {`INSERT INTO labels (label) VALUES (NULL)`, 2 + puts},
	} {
		t.Run(name, func(t *testing.T) {
			b := sqliteBackend().open(t, nil)
			b.put("taken", nil)
			taken := b.take()
			b.put("next", nil)
			held, err := b.write.Conn(b.ctx())
			b.must(err)
			results, started := make(chan error), 0
			start := func(f func() error) {
				go func() { results <- f() }()
				started++
				testkit.WaitFor(t, time.Minute, "a writer", func() bool {
					b.group.mu.Lock()
					defer b.group.mu.Unlock()
					return b.group.busy && len(b.group.waiting) == started-1
				})
			}
			start(func() error { return b.Finish(b.ctx(), taken.Lease, sampleReport(api.Accepted)) })
			for n := range puts {
				start(func() error {
					_, created, err := b.Put(b.ctx(), Submission{ID: fmt.Sprint(n), Job: sampleJob()})
					if err == nil && !created {
						err = errors.New("not created")
					}
					return err
				})
			}
			start(func() error {
				w, err := b.Take(b.ctx(), api.Want{Host: "host"})
				if err == nil && w.ID != "next" {
					err = fmt.Errorf("took %q", w.ID)
				}
				return err
			})
			if tt.bad != "" {
				start(func() error {
					err := b.share(b.ctx(), &write{operation: "put job", texts: []string{tt.bad},
						run: func(do statementRunner) error { return do(tt.bad, nil, nil) }})
					if err == nil || !strings.Contains(err.Error(), "NOT NULL") {
						return fmt.Errorf("got %v, want its own error", err)
					}
					return nil
				})
			}
			before := b.commits()
			b.must(held.Close())
			for range started {
				b.must(<-results)
			}
			if got := b.commits() - before; got != tt.commits {
				t.Errorf("%d commits, want %d", got, tt.commits)
			}
			other := b.again()
			for n := range puts {
				other.get(fmt.Sprint(n))
			}
			if got := other.get("taken").Report.State; got != api.Done {
				t.Errorf("the finished job is %s", got)
			}
		})
	}
}

// TestCostOfAJob limits what the store does for one job whose caller waits for it: synced transactions, and objects that
// are allocated. TestSQLite/expected checks that nothing is read.
func TestCostOfAJob(t *testing.T) {
	const jobs = 50
	b := sqliteBackend().open(t, nil)
	run := func(name string) {
		wait, release := b.Expect(name)
		defer release()
		put := b.put(name, func(j *api.Job) { j.Labels = nil }).Report
		b.finish(b.take().Lease, api.Accepted)
		if rep, err := wait(b.ctx(), put); err != nil || rep.Verdict != api.Accepted {
			t.Fatalf("verdict %q: %v", rep.Verdict, err)
		}
	}
	run("first") // prepares the statements
	var before, after runtime.MemStats
	commits := b.commits()
	runtime.ReadMemStats(&before)
	for n := range jobs {
		run(fmt.Sprint(n))
	}
	runtime.ReadMemStats(&after)
	synced, objects := b.commits()-commits, (after.Mallocs-before.Mallocs)/jobs
	t.Logf("%d synced transactions for %d jobs, %d objects for each", synced, jobs, objects)
	if synced > 3*jobs+5 || objects > 600 { // 5 in the background
		t.Errorf("want at most 3 transactions and 600 objects for each job")
	}
}
