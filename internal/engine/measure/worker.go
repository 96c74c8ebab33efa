package measure

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Worker is one slot, ready to run. Only one Test may run on it at a time.
type Worker struct {
	launcher   *sandbox.Launcher
	slot       sandbox.Slot
	reader     *evidence.Reader
	thresholds atomic.Pointer[evidence.Thresholds]
	guard      atomic.Pointer[stats.Guard] // nil is the default
	log        *slog.Logger

	mu     sync.Mutex // guards the rest, and is held while sandboxes are made and taken down
	next   *sandbox.Sandbox
	used   []*sandbox.Sandbox // nothing lives in them any more
	closed bool

	tidying sync.WaitGroup
}

// NewStand prepares the first sandbox in the background. The worker closes the reader. Runs on different
// workers are in different network namespaces and see different files.
func NewWorker(l *sandbox.Launcher, slot sandbox.Slot, reader *evidence.Reader, th evidence.Thresholds, log *slog.Logger) (*Worker, error) {
	var err error
	if slot.Network, err = sandbox.NewNetwork(); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	slot.Copies, slot.Trees = l.Copies(), l.NewTrees(slot)
	s := &Worker{launcher: l, slot: slot, reader: reader, log: log}
	s.SetThresholds(th)
	s.Tidy()
	return s, nil
}

// SetThresholds has the evidence of runs to come judged by th.
func (s *Worker) SetThresholds(th evidence.Thresholds) { s.thresholds.Store(&th) }

// Slot is where the worker runs programs.
func (s *Worker) Slot() sandbox.Slot { return s.slot }

// Preread gets ready what a program of runs to come loads from the host, off
// their clocks.
func (s *Worker) Preread(args []string, files []sandbox.File) {
	s.launcher.Preread(s.slot, args, files)
}

// Tidy takes used sandboxes down and prepares the next one, in the background.
// That is a millisecond of the housekeeping CPUs, so its place is where nobody
// waits: while a run lasts, and after a report is stored.
func (s *Worker) Tidy() {
	s.tidying.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			// The timer of the last run fired while it was stopped: it comes
			// after Close, when the launcher may be gone.
			return
		}
		s.closeUsed()
		if s.next != nil {
			return
		}
		next, err := s.launcher.Prepare(s.slot)
		if err != nil {
			// The run that needs it tries again and tells.
			s.log.Warn("cannot prepare a sandbox beforehand", "cpus", s.slot.CPUs.String(), "error", err)
			return
		}
		s.next = next
	})
}

// closeUsed needs the lock.
func (s *Worker) closeUsed() {
	for _, box := range s.used {
		if err := box.Close(); err != nil {
			s.log.Error("a sandbox left something behind; it is removed when judged starts again", "error", err)
		}
	}
	s.used = nil
}

// take returns a prepared sandbox.
func (s *Worker) take() (*sandbox.Sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if box := s.next; box != nil {
		s.next = nil
		return box, nil
	}
	s.closeUsed()
	return s.launcher.Prepare(s.slot)
}

// discard hands a sandbox over that was used.
func (s *Worker) discard(box *sandbox.Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, box)
}

// Settle returns when nothing of past runs is left.
func (s *Worker) Settle() {
	s.tidying.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeUsed()
	if err := s.slot.Group.Trim(); err != nil {
		s.log.Error("past runs left something behind; it is removed when judged starts again", "error", err)
	}
}

// Close takes the worker down and returns when nothing of it is left.
func (s *Worker) Close() error {
	s.Settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.next != nil {
		s.used = append(s.used, s.next)
		s.next = nil
		s.closeUsed()
	}
	return errors.Join(s.slot.Trees.Close(), s.slot.Network.Close(), s.reader.Close())
}
