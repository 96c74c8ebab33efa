package jobs

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// label returns a short form of an event.
func label(e api.Event) string {
	text := fmt.Sprintf("%d+%d %s", e.Seq>>attemptBits, e.Seq&lastOfAttempt, e.Type)
	switch {
	case e.Test != nil:
		text += " " + e.Test.Name
	case e.Report != nil:
		text += fmt.Sprintf(" %s, %d tests", e.Report.Verdict, len(e.Report.Tests))
	case e.CPUs != "":
		text += " on " + e.CPUs
	}
	return text
}

func eventsOf(s *bench, id string, after uint64) (labels []string, numbers []uint64) {
	s.t.Helper()
	for e, err := range s.Events(s.ctx(), id, after) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Job != id || e.At.IsZero() || e.Test != nil && e.Test.Runs != nil {
			s.t.Errorf("event %+v", e)
		}
		labels, numbers = append(labels, label(e)), append(numbers, e.Seq)
	}
	return labels, numbers
}

func testEvents(t *testing.T, b backend) {
	// Notifications of the same process arrive without a poll.
	s := b.open(t, func(o *Options) { o.poll = time.Hour })
	o := s.o
	o.poll = 10 * time.Millisecond
	other := reopen(t, o, s.clock)
	s.put("a", nil)
	want := []string{"0+1 queued", "1+0 running on 1", "1+1 test 1", "1+2 test 2", "1+1048575 done WA, 2 tests"}
	read := make(chan struct{}, len(want))
	// A reader in each process, from the start.
	ends := make(chan []string, 2)
	for _, r := range []*bench{s, other} {
		go func() {
			var got []string
			for e, err := range r.Events(s.ctx(), "a", 0) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, label(e))
				if r == s {
					read <- struct{}{}
				}
			}
			ends <- got
		}()
	}
	<-read
	l := s.take().Lease
	<-read
	rep := sampleReport(api.WrongAnswer)
	s.must(s.Emit(l, 1, rep.Tests[0]))
	<-read // live, before the job ends
	s.finish(l, api.WrongAnswer)
	for range cap(ends) {
		if diff := cmp.Diff(want, <-ends); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	testkit.WaitFor(t, time.Minute, "the test events to be deleted, which the report has", func() bool {
		var n int
		s.must(s.read.QueryRow(`SELECT COUNT(*) FROM events`).Scan(&n))
		return n == 0
	})
	got, numbers := eventsOf(s, "a", 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of a job that has ended (-want +got):\n%s", diff)
	}
	for i, n := range numbers {
		got, _ := eventsOf(other, "a", n)
		if diff := cmp.Diff(want[i+1:], append([]string{}, got...)); diff != "" {
			t.Errorf("resumed after %d (-want +got):\n%s", n, diff)
		}
	}
	s.put("cancelled", nil)
	_, err := s.Cancel(s.ctx(), "cancelled")
	s.must(err)
	if got, _ := eventsOf(s, "cancelled", 0); !cmp.Equal(got, []string{"0+1 queued", "0+1048575 cancelled CX, 0 tests"}) {
		t.Errorf("events of a cancelled job: %v", got)
	}
	for range s.Events(s.ctx(), "a", 0) {
		break
	}
}

// TestOutboxLimit checks that the number of events in memory is limited while the database is down.
func TestOutboxLimit(t *testing.T) {
	o := outbox{wake: make(chan struct{}, 1)}
	for i := range int64(maxBuffered + 10) {
		o.put(bufferedEvent{number: i})
		o.deleteLater(i)
	}
	events, ended := o.empty()
	if len(events) != maxBuffered || len(ended) != maxBuffered {
		t.Errorf("%d events and %d jobs are buffered, want %d each", len(events), len(ended), maxBuffered)
	}
}

// testStaleEvents checks that test events of an attempt that has lost the job are not yielded, and that numbers rise
// from attempt to attempt.
func testStaleEvents(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	first := s.take()
	s.must(s.Emit(first.Lease, 1, api.TestReport{Name: "first"}))
	events := func() (n int) {
		s.must(s.read.QueryRow(`SELECT COUNT(*) FROM events`).Scan(&n))
		return n
	}
	testkit.WaitFor(t, time.Minute, "the first event", func() bool { return events() == 1 })
	s.clock.advance(time.Hour)
	second := s.take()
	s.must(s.Emit(first.Lease, 2, api.TestReport{Name: "stale"}))
	s.must(s.Emit(second.Lease, 1, api.TestReport{Name: "second"}))
	s.must(s.Emit(second.Lease, 1, api.TestReport{Name: "second, again"}))
	testkit.WaitFor(t, time.Minute, "the second event", func() bool { return events() == 2 })
	var got []string
	for e, err := range s.Events(s.ctx(), "a", number(1, 1)) {
		s.must(err)
		if got = append(got, label(e)); len(got) == 2 {
			break
		}
	}
	if diff := cmp.Diff([]string{"2+0 running on 1", "2+1 test second"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// Events of a job that has ended are not stored either.
	s.put("b", nil)
	s.finish(second.Lease, api.Accepted)
	testkit.WaitFor(t, time.Minute, "the events to be deleted", func() bool { return events() == 0 })
	s.must(s.Emit(second.Lease, 2, api.TestReport{Name: "late"}))
	s.must(s.Emit(s.take().Lease, 1, api.TestReport{Name: "of another job"}))
	testkit.WaitFor(t, time.Minute, "the events of the next job alone", func() bool { return events() == 1 })
	for _, n := range []int{0, -1, lastOfAttempt} {
		if err := s.Emit(second.Lease, n, api.TestReport{}); err == nil {
			t.Errorf("test %d is emitted", n)
		}
	}
}
