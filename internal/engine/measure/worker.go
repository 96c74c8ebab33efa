package measure

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"judged/internal/base/cpuset"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Worker runs programs on one slot. Only one Test may run on it at a time.
type Worker struct {
	launcher   *sandbox.Launcher
	slot       sandbox.Resources
	reader     *evidence.Reader
	thresholds atomic.Pointer[evidence.Thresholds]
	guard      atomic.Pointer[stats.Guard] // nil selects the default
	log        *slog.Logger

	mu     sync.Mutex // guards the fields below, and is held while sandboxes are created and closed
	next   *sandbox.Sandbox
	used   []*sandbox.Sandbox  // without processes
	more   []sandbox.Resources // of additional concurrent runs, see further
	closed bool

	tidying sync.WaitGroup
}

// NewWorker returns a worker and prepares its first sandbox in the background. The worker closes the reader. Runs on
// different workers are in different network namespaces and see different files.
func NewWorker(l *sandbox.Launcher, slot sandbox.Resources, reader *evidence.Reader, th evidence.Thresholds,
	log *slog.Logger) (*Worker, error) {
	var err error
	if slot.Network, err = sandbox.NewNetwork(); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	slot.Copies, slot.Trees = l.Copies(), l.NewTrees(slot)
	w := &Worker{launcher: l, slot: slot, reader: reader, log: log}
	w.SetThresholds(th)
	w.Tidy()
	return w, nil
}

// SetThresholds sets the thresholds for evidence, from the next run on.
func (w *Worker) SetThresholds(th evidence.Thresholds) { w.thresholds.Store(&th) }

// Resources returns the resources on which the worker runs programs.
func (w *Worker) Resources() sandbox.Resources { return w.slot }

// CPUs returns the CPUs of the slot.
func (w *Worker) CPUs() cpuset.Set { return w.slot.CPUs }

// Tidy closes used sandboxes and prepares the next one, in the background. That takes a millisecond on a housekeeping
// CPU, so call it when no job waits for one: during a run, and after a report is stored.
func (w *Worker) Tidy() {
	w.tidying.Go(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.closed {
			// The timer of the last run fired while it was being stopped, after Close. The launcher may be gone.
			return
		}
		w.closeUsed()
		if w.next != nil {
			return
		}
		next, err := w.launcher.Prepare(w.slot)
		if err != nil {
			// The next run retries and returns the error.
			w.log.Warn("cannot prepare a sandbox in advance; the next run tries again", "cpus", w.slot.CPUs.String(),
				"error", err)
			return
		}
		w.next = next
	})
}

// closeUsed closes the used sandboxes. The caller must hold mu.
func (w *Worker) closeUsed() {
	for _, box := range w.used {
		if err := box.Close(); err != nil {
			w.log.Error("cannot remove all of a sandbox; the rest is removed when judged starts again", "error", err)
		}
	}
	w.used = nil
}

// acquire returns a prepared sandbox, or creates one.
func (w *Worker) acquire() (*sandbox.Sandbox, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if box := w.next; box != nil {
		w.next = nil
		return box, nil
	}
	w.closeUsed()
	return w.launcher.Prepare(w.slot)
}

// discard accepts a used sandbox, which is closed later.
func (w *Worker) discard(box *sandbox.Sandbox) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = append(w.used, box)
}

// Settle removes the remains of past runs, and returns when they are gone.
func (w *Worker) Settle() {
	w.tidying.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeUsed()
	if err := w.slot.Group.Trim(); err != nil {
		w.log.Error("cannot remove control groups of past runs; they are removed when judged starts again", "error",
			err)
	}
}

// Close removes everything that belongs to the worker.
func (w *Worker) Close() error {
	w.Settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.next != nil {
		w.used = append(w.used, w.next)
		w.next = nil
		w.closeUsed()
	}
	var closed error
	for _, s := range append(w.more, w.slot) {
		closed = errors.Join(closed, s.Trees.Close(), s.Network.Close())
	}
	return errors.Join(closed, w.reader.Close())
}
