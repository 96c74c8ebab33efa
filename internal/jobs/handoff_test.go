package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// taker starts a call of Take and waits until it offers to take a job of a Put. Without a job, it sends empty work.
func (b *bench) taker(ctx context.Context, w api.Want) <-chan api.Work {
	b.t.Helper()
	took := make(chan api.Work, 1)
	go func() {
		work, _ := b.Take(ctx, w)
		took <- work
	}()
	k := slotClass{cmpOr(w.Pool, defaultPool), max(w.Width, 1), w.Contests}
	testkit.WaitFor(b.t, time.Minute, "a taker that waits", func() bool {
		l := b.notifier.line(k)
		b.notifier.mu.Lock()
		defer b.notifier.mu.Unlock()
		return l.offered != nil
	})
	return took
}

// TestHandoff checks which waiting taker gets a job that is put, in which transaction, and that the others wait on.
func TestHandoff(t *testing.T) {
	wide, contest := func(j *api.Job) { j.CPUs = 2 }, func(j *api.Job) { j.Priority = api.Contest }
	type outcome struct {
		Taken   api.Lease
		By      int // index of the taker
		Commits uint32
	}
	by := func(taker int) outcome { return outcome{api.Lease{ID: "job", Attempt: 1}, taker, 1} }
	for name, tt := range map[string]struct {
		takers []api.Want
		job    func(*api.Job)
		want   outcome
	}{
		"one taker":            {[]api.Want{{}}, nil, by(0)},
		"the narrowest slot":   {[]api.Want{{Width: 3}, {Width: 2}, {Width: 1}}, wide, by(1)},
		"another pool":         {[]api.Want{{Pool: "other"}, {}}, nil, by(1)},
		"a slot for contests":  {[]api.Want{{Contests: true}}, contest, by(0)},
		"not a slot for those": {[]api.Want{{Contests: true}, {Width: 2}}, nil, by(1)},
	} {
		t.Run(name, func(t *testing.T) {
			b := sqliteBackend().open(t, func(o *Options) { o.poll = time.Hour })
			ctx, cancel := context.WithCancel(b.ctx())
			var took []<-chan api.Work
			for i, w := range tt.takers {
				w.Host = fmt.Sprint("host", i)
				took = append(took, b.taker(ctx, w))
			}
			before := b.commits()
			b.put("job", func(j *api.Job) {
				j.Labels = nil
				if tt.job != nil {
					tt.job(j)
				}
			})
			got := outcome{(<-took[tt.want.By]).Lease, tt.want.By, b.commits() - before}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			cancel()
			for i, c := range took {
				if i == tt.want.By {
					continue
				}
				if work := <-c; work.ID != "" {
					t.Errorf("taker %d took %s", i, work.ID)
				}
			}
			for k, l := range b.notifier.works {
				if l.takers != 0 || l.offered != nil {
					t.Errorf("line %+v has %d takers after the last one", k, l.takers)
				}
			}
		})
	}
}

// TestNoHandoff checks that a Put that stores nothing hands nothing over, and that its taker takes later jobs.
func TestNoHandoff(t *testing.T) {
	b := sqliteBackend().open(t, nil)
	b.put("old", nil)
	b.finish(b.take().Lease, api.Accepted)
	took := b.taker(b.ctx(), api.Want{Host: "host"})
	if _, created, err := b.Put(b.ctx(), Submission{ID: "old", BodyDigest: "digest", Job: sampleJob()}); created ||
		err != nil {
		t.Errorf("created %t again, %v", created, err)
	}
	b.must(b.tx(b.ctx(), "fail", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TRIGGER refuse AFTER INSERT ON jobs WHEN NEW.id = 'refused'
BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		return err
	}))
	if _, created, err := b.Put(b.ctx(), Submission{ID: "refused", Job: sampleJob()}); created || err == nil {
		t.Errorf("created %t, %v", created, err)
	}
	b.put("new", nil)
	if work := <-took; work.ID != "new" {
		t.Errorf("took %q", work.ID)
	}
	if rep := b.get("old").Report; rep.State != api.Done {
		t.Errorf("the old job is %s", rep.State)
	}
}
