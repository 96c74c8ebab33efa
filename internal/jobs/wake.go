package jobs

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// notifier wakes callers that wait for work of a slot class, or for a change of a job.
type notifier struct {
	mu    sync.Mutex // guards the maps
	works map[slotClass]*line
	jobs  map[string]*watch

	feed      chan struct{} // holds a token when there may be new events of any job
	callbacks chan struct{} // holds a token when there may be new callbacks
	deletions atomic.Int64  // number of deletions; what is in memory since before one may be of a deleted job

	moved atomic.Int64 // number of times that jobs have become available again, see lows
}

// slotClass is a class of slots. They judge jobs of one pool with at most their width.
type slotClass struct {
	pool     string
	width    int
	contests bool // takes only contest jobs
}

// line is the queue of takers of one class. Only the first one queries the database. When it has a job, the next one
// follows.
type line struct {
	front chan struct{} // holds a token while a taker is in front
	wake  chan struct{} // holds a token when there may be work
	low   lows          // of the first taker

	offered *handoff  // by the first taker while it waits, nil if it does not
	takers  int       // number of takers that use it
	left    time.Time // time when the last taker left
}

// lineAge is how long a line without takers is kept. Nodes choose the names of pools, so there may be any number of
// classes.
const lineAge = 10 * time.Minute

type watch struct {
	changed chan struct{} // closed at the next change
	ended   chan struct{} // closed at the end of the job
	final   *finalReport  // set before ended is closed, if this process has stored the report
	readers int
}

// wakeUp puts a token into a channel of capacity 1.
func wakeUp(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// join returns the line of a slot class for a taker, until leave.
func (h *notifier) join(k slotClass) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.find(k)
	l.takers++
	return l
}

// line returns the line of a slot class.
func (h *notifier) line(k slotClass) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(k)
}

// find is line for callers that hold mu.
func (h *notifier) find(k slotClass) *line {
	if h.works == nil {
		h.works = map[slotClass]*line{}
	}
	l := h.works[k]
	if l == nil {
		maps.DeleteFunc(h.works, func(_ slotClass, old *line) bool {
			return old.takers == 0 && time.Since(old.left) > lineAge
		})
		l = &line{front: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
		h.works[k] = l
	}
	return l
}

func (h *notifier) leave(l *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.takers--
	l.left = time.Now()
}

// watch returns the watch of a job, its channel that is closed when the job changes, and a function that releases them.
// Both channels are closed if the notifier does not know what has changed.
func (h *notifier) watch(id string) (w *watch, changed <-chan struct{}, release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs == nil {
		h.jobs = map[string]*watch{}
	}
	if w = h.jobs[id]; w == nil {
		w = &watch{changed: make(chan struct{}), ended: make(chan struct{})}
		h.jobs[id] = w
	}
	w.readers++
	return w, w.changed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if w.readers--; w.readers == 0 && h.jobs[id] == w {
			delete(h.jobs, id)
		}
	}
}

func (h *notifier) changed(id string) {
	wakeUp(h.feed)
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.jobs[id]; w != nil {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// ended wakes the watchers of a job that has ended. final is nil if callers must read its report.
func (h *notifier) ended(id string, final *finalReport) {
	wakeUp(h.feed)
	wakeUp(h.callbacks)
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.jobs[id]; w != nil {
		w.final = final
		h.remove(id, w)
	}
}

// remove wakes and removes all watchers of a job. The caller must hold mu.
func (h *notifier) remove(id string, w *watch) {
	delete(h.jobs, id)
	close(w.changed)
	close(w.ended)
}

// back makes takers of a pool consider a job that is available again.
func (h *notifier) back(pool string, priority int, place position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, l := range h.works {
		if k.pool == pool {
			l.low.back(priority, place)
		}
	}
}

// everyLine wakes a taker of each class, which searches the whole queue.
func (h *notifier) everyLine() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines()
}

// lines is like everyLine. The caller must hold mu.
func (h *notifier) lines() {
	h.moved.Add(1)
	for _, l := range h.works {
		wakeUp(l.wake)
	}
}

// forget makes readers discard what is in memory.
func (h *notifier) forget() {
	h.deletions.Add(1)
	wakeUp(h.feed)
}

// everything wakes all callers.
func (h *notifier) everything() {
	wakeUp(h.feed)
	wakeUp(h.callbacks)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines()
	for id, w := range h.jobs {
		h.remove(id, w)
	}
}

// Messages between processes: "job ID", "end ID", "work WIDTH POOL" and "deleted".
const (
	aboutJob     = "job "
	aboutEnd     = "end "
	aboutWork    = "work "
	aboutDeleted = "deleted"
)

// receive handles a message of another process, or of this one.
func (h *notifier) receive(message string) {
	if id, ok := strings.CutPrefix(message, aboutJob); ok {
		h.changed(id)
		return
	}
	if id, ok := strings.CutPrefix(message, aboutEnd); ok {
		h.ended(id, nil)
		return
	}
	if message == aboutDeleted {
		h.forget()
		return
	}
	rest, _ := strings.CutPrefix(message, aboutWork)
	width, pool, _ := strings.Cut(rest, " ")
	if n, err := strconv.Atoi(width); err == nil {
		h.work(slotClass{pool: pool, width: n})
	}
}

// work wakes one taker of each width that can judge a job of this class. When a taker finds a job, the next one of its
// line queries the database.
func (h *notifier) work(k slotClass) {
	wakeUp(h.feed)
	h.mu.Lock()
	defer h.mu.Unlock()
	for slot, l := range h.works {
		if slot.pool == k.pool && slot.width >= k.width {
			wakeUp(l.wake)
		}
	}
}

// notifyJob wakes the watchers of a job in all processes.
func (s *Store) notifyJob(id string) {
	s.notifier.changed(id)
	s.driver.notify(aboutJob + id)
}

// notifyEnd wakes the watchers of a job, and callers that wait for its end, in all processes.
func (s *Store) notifyEnd(id string, final *finalReport) {
	s.notifier.ended(id, final)
	s.driver.notify(aboutEnd + id)
}

// notifyDeleted discards the events in memory of all processes. In this process, none of them is used after it returns.
func (s *Store) notifyDeleted() {
	s.feed.stop()
	s.notifier.forget()
	s.driver.notify(aboutDeleted)
}

// notifyWork wakes a taker in each process.
func (s *Store) notifyWork(k slotClass) {
	s.notifier.work(k)
	s.driver.notify(aboutWork + strconv.Itoa(k.width) + " " + k.pool)
}
