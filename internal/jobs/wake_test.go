package jobs

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestLinesAreForgotten checks that the lines of pools without takers are eventually deleted.
func TestLinesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h notifier
		used := h.line(slotClass{pool: "used"})
		for i := range 1000 {
			h.leave(h.line(slotClass{pool: fmt.Sprint("p", i)}))
		}
		again := h.line(slotClass{pool: "p1"})
		h.leave(again)
		time.Sleep(lineAge)
		if h.line(slotClass{pool: "p1"}) != again || len(h.works) != 1001 {
			t.Errorf("%d lines before their time", len(h.works))
		}
		time.Sleep(time.Nanosecond)
		h.line(slotClass{pool: "new"})
		if len(h.works) != 3 || h.line(slotClass{pool: "used"}) != used {
			t.Errorf("%d lines, want those of used, p1 and new", len(h.works))
		}
	})
}

// testWaitReadsOnce checks that Wait reads the record of a job only at its end: until then a damaged record does not
// matter.
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

// testLateStatement checks a report that is stored later than that of a job that ended after it.
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
