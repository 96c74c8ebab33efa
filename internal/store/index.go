package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"judged/internal/base/job"
)

// index is what is known of every job without reading its record.
type index struct {
	mu       sync.RWMutex // guards all members and all entries
	byID     map[string]*entry
	order    []*entry // by created, id: lists walk it from the end
	finished int      // entries in a final state
}

type entry struct {
	id         string
	state      job.State
	created    time.Time
	finishedAt time.Time
	labels     map[string]string
	head       []byte // JSON of head: the report without tests, decoded when listed
	first      uint64 // sequences: of the creation, the last change, the last Begin
	last       uint64
	begun      uint64
	running    *Record          // its last Begin, where that is in memory only
	told       uint64           // events since the change of state at begun
	fed        bool             // whether there have been any
	tests      []job.TestReport // of the attempt at begun, which runs here
	changed    chan struct{}    // closed at the next change; nil while nobody waits
}

func newIndex() index { return index{byID: map[string]*entry{}} }

func entryOf(id string, h head, raw []byte, seq uint64) entry {
	first, begun := sequences(h, seq)
	return entry{
		id: id, state: h.Report.State, created: h.Report.CreatedAt, finishedAt: h.Report.FinishedAt,
		labels: h.Report.Labels, head: raw, first: first, last: seq, begun: begun,
	}
}

func (e *entry) compare(created time.Time, id string) int {
	return cmp.Or(e.created.Compare(created), cmp.Compare(e.id, id))
}

// apply takes in a record's state. An older one than known is ignored: own
// writes are applied at once and come again from the stream on a cluster.
func (x *index) apply(e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old, ok := x.byID[e.id]
	switch {
	case !ok:
		x.insert(&e)
	case old.last >= e.last:
		return
	default:
		x.replace(old, e)
	}
}

func (x *index) insert(e *entry) {
	at, _ := x.position(e.created, e.id)
	x.order = slices.Insert(x.order, at, e)
	x.byID[e.id] = e
	if e.state.Final() {
		x.finished++
	}
}

// replace keeps the place in the order: a record's creation time never changes.
func (x *index) replace(old *entry, e entry) {
	if e.state.Final() && !old.state.Final() {
		x.finished++
	}
	if e.begun == old.begun {
		e.told, e.tests = old.told, old.tests
	}
	if e.state.Final() {
		e.tests = nil // its record has them
	}
	e.fed = old.fed
	if old.changed != nil {
		close(old.changed)
	}
	*old = e
}

// begin takes in that a job runs, which is not in the stream. False: it has
// changed since r was read.
func (x *index) begin(r Record) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[r.ID]
	if !ok || e.last != r.Revision || e.running != nil {
		return false
	}
	e.state, e.begun, e.told, e.running, e.tests = job.Running, r.begun, 1, &r, nil
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
	return true
}

// runs returns the record of a job whose last Begin is in memory only.
func (x *index) runs(id string) (Record, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e, ok := x.byID[id]; ok && e.running != nil {
		return *e.running, true
	}
	return Record{}, false
}

// encoded is the JSON of the head as it is now.
func (e *entry) encoded() []byte {
	if e.running == nil {
		return e.head
	}
	h, _ := json.Marshal(headOf(*e.running)) // as it was when it was written
	return h
}

// position is where (created, id) is or would be in the order. New jobs are
// the latest almost always.
func (x *index) position(created time.Time, id string) (int, bool) {
	if n := len(x.order); n == 0 || x.order[n-1].compare(created, id) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(x.order, id, func(e *entry, id string) int { return e.compare(created, id) })
}

// remove forgets jobs and wakes who waits for them.
func (x *index) remove(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := map[*entry]bool{}
	for _, id := range ids {
		e, ok := x.byID[id]
		if !ok {
			continue
		}
		gone[e] = true
		delete(x.byID, id)
		if e.state.Final() {
			x.finished--
		}
		if e.changed != nil {
			close(e.changed)
		}
	}
	x.order = slices.DeleteFunc(x.order, func(e *entry) bool { return gone[e] })
}

// watch returns a job's summary and a channel that is closed when it changes.
func (x *index) watch(id string) (entry, <-chan struct{}, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[id]
	if !ok {
		return entry{}, nil, false
	}
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return *e, e.changed, true
}

func (x *index) summary(id string) (Summary, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.byID[id]
	if !ok {
		return Summary{}, false
	}
	return Summary{ID: e.id, State: e.state, CreatedAt: e.created, FinishedAt: e.finishedAt, Labels: e.labels, Revision: e.last}, true
}

func (x *index) unfinished() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var ids []string
	for _, e := range x.order {
		if !e.state.Final() {
			ids = append(ids, e.id)
		}
	}
	return ids
}

func (x *index) finishedCount() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.finished
}

// nextEvent keeps a test of the attempt that began at begun and numbers its
// event; false when a newer attempt has the job or it is over.
func (x *index) nextEvent(id string, begun uint64, t job.TestReport) (uint64, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[id]
	if !ok || e.state != job.Running || e.begun != begun {
		return 0, false
	}
	e.told++
	e.fed = true
	e.tests = append(e.tests, t)
	return e.told, true
}

// tests are those of a running attempt that are over, where it runs here.
func (x *index) tests(id string, begun uint64) []job.TestReport {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e, ok := x.byID[id]; ok && e.begun == begun {
		return slices.Clip(e.tests)
	}
	return nil
}

// wasFed reports whether the feed has test events of the job.
func (x *index) wasFed(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[id]
	return ok && e.fed
}
