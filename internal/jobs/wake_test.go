package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestLinesAreForgotten checks that the lines of pools without takers are eventually deleted.
func TestLinesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h notifier
		used := h.join(slotClass{pool: "used"})
		for i := range 1000 {
			h.leave(h.join(slotClass{pool: fmt.Sprint("p", i)}))
		}
		again := h.join(slotClass{pool: "p1"})
		h.leave(again)
		time.Sleep(lineAge)
		if h.join(slotClass{pool: "p1"}) != again || len(h.works) != 1001 {
			t.Errorf("%d lines before their time", len(h.works))
		}
		time.Sleep(time.Nanosecond)
		h.join(slotClass{pool: "new"})
		if len(h.works) != 3 || h.line(slotClass{pool: "used"}) != used {
			t.Errorf("%d lines, want those of used, p1 and new", len(h.works))
		}
	})
}

// testWaitReadsOnce checks that Wait reads the record of a job only at its end, so that a damaged record has no effect
// until then.
func testWaitReadsOnce(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.poll = time.Millisecond })
	b.put("a", nil)
	w := b.take()
	var body []byte
	b.must(b.read.QueryRow(`SELECT job FROM jobs`).Scan(&body))
	set := func(body []byte) {
		t.Helper()
		_, err := b.exec(b.ctx(), "put job", `UPDATE jobs SET job = ?1`, body)
		b.must(err)
	}
	set([]byte{77})
	ctx, cancel := context.WithTimeout(b.ctx(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Wait(ctx, "a"); err == nil || ctx.Err() == nil {
		t.Errorf("got %v after the time was over: %v; want an error at the end", err, ctx.Err())
	}
	got := make(chan api.Report)
	go func() {
		rep, err := b.Wait(b.ctx(), "a")
		if err != nil {
			t.Error(err)
		}
		got <- rep
	}()
	set(body)
	b.finish(w.Lease, api.Accepted)
	if diff := cmp.Diff(b.get("a").Report, <-got); diff != "" {
		t.Errorf("waited for (-want +got):\n%s", diff)
	}
}

// testLateStatement checks a report that is stored after that of a job that ended later.
func testLateStatement(t *testing.T, be backend) {
	b := be.open(t, nil)
	start := b.LastPosition()
	b.put("late", nil)
	late := b.take()
	early := b.Store.now().UnixNano()
	b.put("next", nil)
	b.finish(b.take().Lease, api.Accepted)
	b.clock.advance(b.opts.Timeout)
	if ended, err := b.EndedSince(b.ctx(), start, 10); len(ended) > 0 || err != nil {
		t.Errorf("ended %+v, %v, while an earlier report may be on its way", ended, err)
	}
	b.finish(late.Lease, api.Accepted)
	_, err := b.exec(b.ctx(), "finish job", `UPDATE jobs SET finished = ?1 WHERE id = 'late'`, early)
	b.must(err)
	b.clock.advance(2 * endedLag)
	ended, err := b.EndedSince(b.ctx(), start, 10)
	if len(ended) != 2 || err != nil || ended[0].ID != "late" || ended[1].ID != "next" {
		t.Errorf("ended %+v, %v, want the late one first", ended, err)
	}
}

// testExpected checks that a caller gets the report of the job that it put, and reads nothing if this process judges it.
func testExpected(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.poll = 20 * time.Millisecond })
	other := b.again()
	if b.driver.listen != nil { // everybody reads when it begins to listen
		testkit.WaitFor(t, time.Minute, "the store to listen", func() bool { return b.notifier.deletions.Load() > 0 })
	}
	// judged puts a job and ends it, and returns what a caller gets who looks only then.
	judged := func(id string, end func(api.Lease)) (api.Report, error) {
		wait, release := b.Expect(id)
		defer release()
		put := b.put(id, func(j *api.Job) { j.Labels = map[string]string{"team": "t"} }).Report
		end(b.take().Lease)
		return wait(b.ctx(), put)
	}
	finish := func(l api.Lease) {
		held, stop := context.WithCancel(b.ctx())
		defer stop()
		go b.Lost(held, l)
		rep := sampleReport(api.Accepted)
		rep.Message = "\xff"
		b.must(b.Finish(b.ctx(), l, rep))
	}
	got, err := judged("a", finish)
	b.must(err)
	b.prepared.Lock()
	for key := range b.prepared.statements {
		if strings.HasPrefix(key.text, "SELECT seq, id") {
			t.Errorf("a job was read: %s", key.text)
		}
	}
	b.prepared.Unlock()
	if diff := cmp.Diff(b.get("a").Report, got); diff != "" {
		t.Errorf("got (-stored +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		end  func(api.Lease)
		want api.State
	}{
		{"elsewhere", func(l api.Lease) { other.finish(l, api.Accepted) }, api.Done},
		{"cancelled", func(l api.Lease) { _, err := b.Cancel(b.ctx(), l.ID); b.must(err) }, api.CancelledState},
		{"deleted", func(l api.Lease) { finish(l); b.must(b.Delete(b.ctx(), l.ID)) }, ""},
	} {
		if got, err := judged(tt.name, tt.end); got.State != tt.want || errors.Is(err, api.ErrNotFound) != (tt.want == "") {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got.State, err, tt.want)
		}
	}
	b.put("again", nil)
	old := b.take()
	wait, release := b.Expect("again")
	defer release()
	finish(old.Lease)
	b.must(other.Delete(b.ctx(), "again"))
	ctx, cancel := context.WithTimeout(b.ctx(), 50*time.Millisecond)
	defer cancel()
	if got, err := wait(ctx, b.put("again", nil).Report); got.State != api.Queued || err != nil {
		t.Errorf("got %q, %v, want the new job", got.State, err)
	}
}
