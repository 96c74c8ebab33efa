package judgehost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"judged/internal/base/linux"
	"judged/internal/host/slots"
)

// host is a slot that is registered as a judgehost. Only one goroutine uses it.
type host struct {
	*Service
	name  string
	slot  slots.Slot
	lease *slots.Lease // of slot, while it works
	log   *slog.Logger
	stale bool // the server may have assigned work to this host; register again before asking for more
	polls int  // requests for work without an answer since the last work
	// enabled is whether the server has enabled this host, nil while that is unknown.
	enabled atomic.Pointer[bool]

	last lastJob
}

// lastJob is the job of the last batch. The next batch may continue it.
type lastJob struct {
	job, uuid stringOrNumber
	program   program
}

// forget releases the resources of the last job.
func (h *host) forget() {
	h.last.program.close()
	h.last = lastJob{}
}

// run asks for work and judges it until drain is done.
func (h *host) run(drain, abort context.Context) {
	defer h.forget()
	wait, failed := time.Duration(0), firstWait
	for drain.Err() == nil {
		if h.stale && !h.giveBack(drain) {
			return
		}
		if wait == 0 && !h.hasSpace(drain) {
			wait = longestWait
		}
		tasks, err := h.work(drain, abort)
		if err == nil {
			failed = firstWait
		}
		switch {
		case drain.Err() != nil:
		case err != nil:
			h.log.Warn("cannot fetch work; registering again to return tasks that may have been assigned", "error", err)
			h.client.server.Pause(drain, failed)
			failed = min(2*failed, longestWait)
		case tasks == 0:
			wait = h.waitForWork(drain, wait)
		default:
			wait = 0
		}
	}
	if h.stale {
		h.leave()
	}
}

// work leases the slot, asks for tasks and does them. It returns how many there were. While the slot is out of use, it
// waits.
func (h *host) work(drain, abort context.Context) (tasks int, err error) {
	lease, err := h.pool.LeaseOf(drain, h.slot.CPUs)
	if err != nil {
		return 0, err
	}
	defer lease.Release()
	list, err := h.client.fetchWork(drain, h.name)
	switch {
	case err != nil || drain.Err() != nil:
		h.stale = true // the server may have assigned work meanwhile
	case len(list) > 0:
		h.enabled.Store(new(true)) // others get nothing
		h.lease = lease
		h.stale = h.handle(drain, abort, list)
	}
	return len(list), err
}

// waitForWork waits before the next request for work, and returns the next, longer wait.
func (h *host) waitForWork(ctx context.Context, wait time.Duration) time.Duration {
	if wait == 0 {
		h.forget()
		h.polls, wait = 0, firstWait
	}
	if h.polls%askEvery == 0 {
		h.askEnabled(ctx)
	}
	h.polls++
	h.client.server.Pause(ctx, wait)
	return min(2*wait, longestWait)
}

// askEvery is the number of requests without work after which a host asks whether it is still enabled: once a minute.
const askEvery = int(time.Minute / longestWait)

// askEnabled asks whether the server has enabled this host. It logs the answer once after work, and when it changes.
func (h *host) askEnabled(ctx context.Context) {
	on, err := h.client.enabled(ctx, h.name)
	if err != nil {
		h.enabled.Store(nil)
		if ctx.Err() == nil {
			h.log.Warn("no work, and cannot read whether this judgehost is enabled; waiting", "error", err)
		}
		return
	}
	before := h.enabled.Swap(&on)
	switch {
	case h.polls > 0 && before != nil && *before == on:
	case on:
		h.log.Info("no work; waiting")
	default:
		h.log.Warn("no work: this judgehost is not enabled; enable it in the web interface of the server")
	}
}

// giveBack registers the host until that succeeds; registering returns all of its unfinished tasks. It returns false
// when ctx is done.
func (h *host) giveBack(ctx context.Context) bool {
	for pause := registerPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		given, err := h.client.register(ctx, h.name)
		if err == nil {
			for _, u := range given {
				h.log.Warn("returned an unfinished judging", "job", string(u.Job), "submission", string(u.Submission))
			}
			h.stale = false
			return true
		}
		if ctx.Err() != nil {
			break
		}
		h.log.Error("cannot register at the DOMjudge server; retrying", "error", err)
		h.client.server.Pause(ctx, pause+rand.N(pause/4))
	}
	return false
}

// leaveTimeout bounds how long the shutdown of judged waits for a server that does not respond. Its tasks are returned
// when a host of this name registers again.
const leaveTimeout = 5 * time.Second

// leave returns unfinished tasks at shutdown.
func (h *host) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if _, err := h.client.register(ctx, h.name); err != nil {
		h.log.Warn("cannot return unfinished tasks; they are returned when judged starts again", "error", err)
	}
}

// hasSpace reports whether the file system of the cache has as much free space as the server requires. If not, it
// clears the cache first.
func (h *host) hasSpace(ctx context.Context) bool {
	want := int64(h.config().DiskSpace) << 10
	for try := range 2 {
		free, err := linux.FreeSpace(h.scratch)
		if err != nil {
			h.report(ctx, task{}, fmt.Errorf("read the free space: %w; check that the folder exists", err))
			return false
		}
		if free.Bytes < 0 || free.Bytes >= want { // the server requires no free space
			return true
		}
		if try == 0 {
			h.log.Warn("low on disk space; clearing the cache", "free_bytes", free.Bytes, "wanted_bytes", want)
			if err := h.store.Clear(); err != nil {
				h.log.Error("cannot clear the cache", "error", err)
			}
			continue
		}
		h.report(ctx, task{}, fmt.Errorf("low on disk space: %d bytes free; free some, or lower diskspace_error of the "+
			"server", free.Bytes))
	}
	return false
}

// handle processes the tasks of one response. It reports whether some may be unfinished.
func (h *host) handle(drain, abort context.Context, tasks []task) (unfinished bool) {
	kind := tasks[0].Type
	if kind == typeAgain {
		return false
	}
	for i := range tasks {
		err := tasks[i].decode()
		if err == nil && tasks[i].Type != kind {
			err = fmt.Errorf("the server sends tasks of types %q and %q together", kind, tasks[i].Type)
		}
		if err != nil {
			h.report(abort, task{}, err)
			return true
		}
	}
	switch kind {
	case typeRun:
		return h.judge(drain, abort, tasks)
	case typePrefetch:
		h.prefetch(drain, tasks)
		return false
	case typeDebug:
		h.debug(abort, tasks)
		return false
	}
	h.report(abort, tasks[0], fmt.Errorf("unsupported task type %q; see "+
		"deploy/DOMJUDGE.md for what it supports", kind))
	return true
}

// prefetch fetches executables and test cases that later tasks need.
func (h *host) prefetch(ctx context.Context, tasks []task) {
	for _, t := range tasks {
		if err := errors.Join(h.prefetchScript(ctx, "compile", t.CompileScript, t.compile.Hash),
			h.prefetchScript(ctx, "run", t.RunScript, t.run.Hash),
			h.prefetchScript(ctx, "compare", t.CompareScript, t.compare.Hash),
			h.prefetchTestcase(ctx, t)); err != nil {
			if ctx.Err() != nil {
				return
			}
			h.failPrefetch(ctx, t, err)
		}
	}
}

func (h *host) failPrefetch(ctx context.Context, t task, err error) {
	if f := new(fault); errors.As(err, &f) {
		h.report(ctx, t, err)
		return
	}
	h.log.Warn("cannot prefetch; fetching it later when a task needs it", "error", err)
}

func (h *host) prefetchScript(ctx context.Context, kind string, id stringOrNumber, hash string) error {
	if id == "" || hash == "" {
		return nil
	}
	x, err := h.executable(ctx, kind, id, hash)
	if err == nil {
		x.Release()
	}
	return err
}

func (h *host) prefetchTestcase(ctx context.Context, t task) error {
	if t.Testcase == "" || t.TestcaseHash == "" {
		return nil
	}
	x, err := h.testcase(ctx, t.Testcase, t.TestcaseHash)
	if err == nil {
		x.Release()
	}
	return err
}
