package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/store"
)

// told is the short form of a feed: types, and names of tests.
func told(t *testing.T, p *parts, id string, after uint64) (short []string, events []job.Event) {
	t.Helper()
	for e, err := range p.store.Events(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		short, events = append(short, name(e)), append(events, e)
	}
	return short, events
}

func name(e job.Event) string {
	if e.Test != nil {
		return "test " + e.Test.Name
	}
	return string(e.Type)
}

func emit(t *testing.T, p *parts, r store.Record, rep job.Report) {
	t.Helper()
	for _, test := range rep.Tests {
		if err := p.store.Emit(context.Background(), r, test); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEventsReplay tells a finished job's events again, all of them and from
// each one on. Of a job that is older than the process every attempt is in the
// stream; of another one the first attempt is not, and is forgotten when a
// second one has followed.
func TestEventsReplay(t *testing.T) {
	tests := []string{"test 0", "test 1", "test 2", "done"}
	for _, tt := range []struct {
		name     string
		old      bool
		attempts int
		want     []string
	}{
		{"new", false, 1, append([]string{"queued", "running"}, tests...)},
		{"new, begun twice", false, 2, append([]string{"queued", "running"}, tests...)},
		{"old", true, 1, append([]string{"queued", "running"}, tests...)},
		{"old, begun twice", true, 2, append([]string{"queued", "running", "running"}, tests...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := openEmbedded(t, store.Options{Now: func() time.Time { return created }})
			rep := sampleReport(3, 2)
			p.create(t, "a.b")
			if tt.old {
				p.reopen(t)
			}
			for n := range tt.attempts - 1 { // given up
				emit(t, p, p.begin(t, "a.b", n+1), sampleReport(2, 1))
			}
			r := p.begin(t, "a.b", tt.attempts)
			emit(t, p, r, rep)
			if err := p.store.Finish(t.Context(), r, rep); err != nil {
				t.Fatal(err)
			}
			short, events := told(t, p, "a.b", 0)
			if diff := cmp.Diff(tt.want, short); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			last := len(events) - 1
			if diff := cmp.Diff(get(t, p, "a.b").Report, *events[last].Report); diff != "" {
				t.Errorf("final report (-want +got):\n%s", diff)
			}
			if events[1].CPUs != "2" || !events[0].At.Equal(created) || events[last-1].Test.Runs != nil {
				t.Errorf("events %+v", events)
			}
			for i, e := range events {
				if i > 0 && e.Seq <= events[i-1].Seq {
					t.Errorf("event %d: number %d after %d", i, e.Seq, events[i-1].Seq)
				}
				if rest, _ := told(t, p, "a.b", e.Seq); !cmp.Equal(append([]string(nil), tt.want[i+1:]...), rest) {
					t.Errorf("after event %d: %v", i, rest)
				}
			}
		})
	}
}

// TestEventsLive reads while the job goes on, from several readers that join
// at different times, one of them reconnecting after every event.
func TestEventsLive(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	p.create(t, "a")
	const tests = 200 // more than a reader buffers
	rep := sampleReport(tests, 1)
	want := []string{"queued", "running"}
	for i := range tests {
		want = append(want, fmt.Sprint("test ", i))
	}
	want = append(want, "done")
	results := make(chan []string)
	read := func(reconnect bool) {
		var got []string
		after := uint64(0)
		for len(got) == 0 || got[len(got)-1] != "done" {
			for e, err := range p.store.Events(context.Background(), "a", after) {
				if err != nil {
					got = append(got, err.Error(), "done")
					break
				}
				got, after = append(got, name(e)), e.Seq
				if reconnect {
					break
				}
			}
		}
		results <- got
	}
	go read(false)
	go read(true)
	r := p.begin(t, "a", 1)
	half := rep
	half.Tests = rep.Tests[:tests/2]
	emit(t, p, r, half)
	go read(false)
	go read(true)
	half.Tests = rep.Tests[tests/2:]
	emit(t, p, r, half)
	if err := p.store.Finish(t.Context(), r, rep); err != nil {
		t.Fatal(err)
	}
	go read(false)
	for range 5 {
		if diff := cmp.Diff(want, <-results); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestEventsEnd(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	p.create(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for e, err := range p.store.Events(ctx, "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name(e))
		cancel()
	}
	if diff := cmp.Diff([]string{"queued"}, got); diff != "" {
		t.Errorf("until the context is done (-want +got):\n%s", diff)
	}
	if _, err := p.store.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	short, events := told(t, p, "a", 0)
	if diff := cmp.Diff([]string{"queued", "cancelled"}, short); diff != "" {
		t.Errorf("cancelled (-want +got):\n%s", diff)
	}
	if rep := events[1].Report; rep == nil || rep.Verdict != job.Cancelled {
		t.Errorf("report %+v", rep)
	}
	for _, err := range p.store.Events(t.Context(), "b", 0) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no job: error %v", err)
		}
	}
}

// TestEventsOfTwoAttempts replays while both attempts' tests are still stored.
func TestEventsOfTwoAttempts(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	p.create(t, "a")
	p.reopen(t)
	emit(t, p, p.begin(t, "a", 1), sampleReport(2, 1))
	emit(t, p, p.begin(t, "a", 2), sampleReport(3, 1))
	want := []string{"queued", "running", "test 0", "test 1", "running", "test 0", "test 1", "test 2"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string
	for e, err := range p.store.Events(ctx, "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, name(e)); len(got) == len(want) {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTestsSoFar holds that the report of a running job has the tests of its
// attempt that are over, and that a job which is cancelled keeps them.
func TestTestsSoFar(t *testing.T) {
	for _, tt := range []struct {
		name string
		old  bool // its attempts are in the stream
	}{{"new", false}, {"old", true}} {
		t.Run(tt.name, func(t *testing.T) {
			p := openEmbedded(t, store.Options{Now: func() time.Time { return created }})
			p.create(t, "a")
			if tt.old {
				p.reopen(t)
			}
			over, cancelled := context.WithCancel(t.Context())
			cancelled()
			has := func(when string, want []job.TestReport) {
				t.Helper()
				if diff := cmp.Diff(want, get(t, p, "a").Report.Tests); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				report, err := p.store.Wait(over, "a")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, report.Tests); diff != "" {
					t.Errorf("%s, waited for (-want +got):\n%s", when, diff)
				}
			}
			emit(t, p, p.begin(t, "a", 1), sampleReport(3, 1))
			has("in the first attempt", sampleReport(3, 1).Tests)
			second := p.begin(t, "a", 2)
			has("in the second attempt", nil)
			want := sampleReport(2, 2)
			for i := range want.Tests {
				emit(t, p, second, job.Report{Tests: want.Tests[i : i+1]})
				has("while it runs", want.Tests[:i+1])
			}
			report, err := p.store.Cancel(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Tests, report.Tests); diff != "" {
				t.Errorf("when cancelled (-want +got):\n%s", diff)
			}
			p.reopen(t)
			has("cancelled, after a restart", want.Tests)
			short, _ := told(t, p, "a", 0)
			if n := len(short); n < 4 || !cmp.Equal(short[n-4:], []string{"running", "test 0", "test 1", "cancelled"}) {
				t.Errorf("events %v", short)
			}
		})
	}
}
