package store

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
	"judged/internal/broker"
)

// late loses the answer to one message that is stored, as a disk does that stalls
// for longer than a write is waited for.
type late struct {
	jetstream.JetStream
	next bool
}

func (l *late) PublishMsg(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := l.JetStream.PublishMsg(ctx, m, o...)
	if l.next {
		l.next = false
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

func openLate(t *testing.T) (*Store, *late) {
	t.Helper()
	b, err := broker.Start(t.Context(), broker.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	l := &late{JetStream: s.js}
	s.js = l
	return s, l
}

// A job whose record is there although its writer was told that it is not is found
// when it is sent again, and judged.
func TestLateCreate(t *testing.T) {
	s, l := openLate(t)
	rec := Record{ID: "a", Job: job.Job{Priority: job.Practice}}
	l.next = true
	if _, err := s.Create(t.Context(), rec); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("create: %v", err)
	}
	if old, err := s.Create(t.Context(), rec); old == nil || err != nil {
		t.Fatalf("created again: %v, %v", old, err)
	}
	if got, ok := s.Summary("a"); !ok || got.State != job.Queued {
		t.Errorf("the index has %+v, %v", got, ok)
	}
	r, err := s.Begin(t.Context(), "a", 1, "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), r, job.Report{Verdict: job.Accepted}); err != nil {
		t.Error(err)
	}
}

// A report that is there although its writer was told that it is not is final.
func TestLateFinish(t *testing.T) {
	for name, next := range map[string]func(*Store) error{
		"begun again": func(s *Store) error { _, err := s.Begin(t.Context(), "a", 2, "1"); return err },
		"cancelled":   func(s *Store) error { _, err := s.Cancel(t.Context(), "a"); return err },
		"finished by another attempt": func(s *Store) error {
			r, ok := s.index.runs("a")
			if !ok {
				t.Error("the attempt is forgotten")
			}
			return s.Finish(t.Context(), r, job.Report{Verdict: job.WrongAnswer})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := openLate(t)
			if _, err := s.Create(t.Context(), Record{ID: "a", Job: job.Job{Priority: job.Practice}}); err != nil {
				t.Fatal(err)
			}
			r, err := s.Begin(t.Context(), "a", 1, "1")
			if err != nil {
				t.Fatal(err)
			}
			l.next = true
			if err := s.Finish(t.Context(), r, job.Report{Verdict: job.Accepted}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("finish: %v", err)
			}
			if err := next(s); !errors.Is(err, ErrFinal) {
				t.Errorf("got %v, want that it is final", err)
			}
			if got, err := s.Get(t.Context(), "a"); err != nil || got.Report.Verdict != job.Accepted {
				t.Errorf("the report is %+v, %v", got.Report, err)
			}
		})
	}
}
