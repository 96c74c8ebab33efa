package measure

import (
	"log/slog"
	"sync"

	"judged/internal/evidence"
	"judged/internal/hostfs"
	"judged/internal/sandbox"
)

// Stand is one slot, ready to run. Only one Test may run on it at a time.
type Stand struct {
	launcher   *sandbox.Launcher
	slot       sandbox.Slot
	reader     *evidence.Reader
	thresholds evidence.Thresholds
	log        *slog.Logger

	// next is the sandbox that was prepared while the last run was on. At
	// most one is in the making or in it.
	next    chan prepared
	pending bool
	closing sync.WaitGroup // sandboxes being taken down
}

type prepared struct {
	sandbox *sandbox.Sandbox
	err     error
}

// NewStand prepares the first sandbox in the background.
func NewStand(l *sandbox.Launcher, slot sandbox.Slot, fs hostfs.FS, th evidence.Thresholds, log *slog.Logger) (*Stand, error) {
	reader, err := evidence.NewReader(fs, slot.CPUs)
	if err != nil {
		return nil, err
	}
	s := &Stand{launcher: l, slot: slot, reader: reader, thresholds: th, log: log, next: make(chan prepared, 1)}
	s.prepareNext()
	return s, nil
}

// Slot is where the stand runs programs.
func (s *Stand) Slot() sandbox.Slot { return s.slot }

// prepareNext starts making a sandbox unless one is there.
func (s *Stand) prepareNext() {
	if s.pending {
		return
	}
	s.pending = true
	go func() {
		box, err := s.launcher.Prepare(s.slot)
		s.next <- prepared{box, err}
	}()
}

// take returns the prepared sandbox.
func (s *Stand) take() (*sandbox.Sandbox, error) {
	s.prepareNext()
	p := <-s.next
	s.pending = false
	return p.sandbox, p.err
}

// discard takes a sandbox down in the background: nothing in it lives any
// more, and the next run need not wait for its folders to be gone.
func (s *Stand) discard(box *sandbox.Sandbox) {
	s.closing.Add(1)
	go func() {
		defer s.closing.Done()
		if err := box.Close(); err != nil {
			s.log.Error("a sandbox left something behind; it is removed when judged starts again", "error", err)
		}
	}()
}

// Settle waits until nothing of past runs is left.
func (s *Stand) Settle() { s.closing.Wait() }

// Close takes the stand down and returns when nothing of it is left.
func (s *Stand) Close() error {
	if s.pending {
		if p := <-s.next; p.sandbox != nil {
			s.discard(p.sandbox)
		}
		s.pending = false
	}
	s.Settle()
	return s.reader.Close()
}
