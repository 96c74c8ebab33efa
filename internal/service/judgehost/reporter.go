package judgehost

import (
	"context"
	"sync"

	"judged/internal/api"
)

// reporter sends the results of correct tests in order while the next test runs.
type reporter struct {
	*host
	ctx   context.Context
	end   context.CancelCauseFunc // ends the batch
	queue chan run
	ended chan struct{}

	open sync.WaitGroup // results that have not been sent
	mu   sync.Mutex     // guards err
	err  error
}

// waitingResults is the number of unsent results at which the next test has to wait.
const waitingResults = 32

func newReporter(ctx context.Context, h *host, end context.CancelCauseFunc) *reporter {
	r := &reporter{host: h, ctx: ctx, end: end, queue: make(chan run, waitingResults), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for x := range r.queue {
			r.later(x)
		}
	}()
	return r
}

// later sends a result in the background. It ends the batch if that fails or the server needs no more results.
func (r *reporter) later(x run) {
	defer r.open.Done()
	if err := r.send(x); err != nil {
		r.mu.Lock()
		if r.err == nil {
			r.err = err
		}
		r.mu.Unlock()
		r.end(err)
	}
}

// maxWaitingBytes is how much a result may have that waits together with others.
const maxWaitingBytes = 1 << 20

// add sends a result in the background. Only small ones wait in memory together.
func (r *reporter) add(x run) {
	if len(x.kept(api.StdoutStream).Content)+len(x.kept(api.StderrStream).Content) > maxWaitingBytes {
		r.open.Wait()
	}
	r.open.Add(1)
	r.queue <- x
}

// send sends a result. It returns errDecided if the server needs no more results.
func (r *reporter) send(x run) error {
	r.remember(x)
	more, err := r.client.addRun(r.ctx, r.name, x.task.ID, x.form(r.name, r.stored))
	switch {
	case isRejected(err):
		r.log.Warn("the server does not need a result", "judgetask", string(x.task.ID), "error", err)
		return errTakenBack
	case err != nil:
		return err
	}
	r.log.Info("judged", "judgetask", string(x.task.ID), "job", string(x.task.Job), "result", x.result,
		"cpu_time_ns", or(x.report.CPUTime).Nanoseconds(), "runs", len(x.report.Runs))
	if !more {
		return errDecided
	}
	return nil
}

// flush waits until all results are sent. It returns the first error.
func (r *reporter) flush() error {
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *reporter) close() {
	close(r.queue)
	<-r.ended
}
