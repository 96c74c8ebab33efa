package jobs

import (
	"maps"
	"sync"

	"judged/internal/base/config"
)

// turns gives each job its turn. Jobs of a pool and priority are taken in the order of their turns. This is start-time
// fair queueing (Goyal et al., 1996): the virtual time of a queue is the turn of the job that was taken last. The turn
// of a job is the virtual time, or one step after the turn of the previous job of the same tenant, whichever is later.
// The step is inversely proportional to the weight of the tenant. So a tenant gets its share while others wait,
// regardless of the jobs that are queued before, and gains nothing from a time without jobs. All jobs without a tenant
// share one queue.
//
// A process knows the turns that it assigns and takes. It learns those of other processes when it counts the queue.
// Until then, a tenant that submits to several fronts may get a larger share.
type turns struct {
	mu     sync.Mutex // guards the fields below
	steps  map[string]int64
	now    map[lane]int64 // virtual time
	next   map[flow]int64 // one step after the last turn of the tenant
	flying map[flow]int64 // jobs that have a turn but may not be stored yet
}

// lane is a queue that is ordered by turns.
type lane struct {
	pool     string
	priority int
}

// flow is the part of a queue that belongs to one tenant.
type flow struct {
	lane
	tenant string
}

// turnStep is the step of a tenant with weight 1.
const turnStep = 720_720 // divisible by all small weights

// flow returns the queue of a submission.
func (n Submission) flow() flow {
	return flow{lane{n.slotClass().pool, priorityNumber(n.Job.Priority)}, n.Tenant}
}

// setTenants sets the weights.
func (t *turns) setTenants(all []config.Tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = map[string]int64{}
	for _, tenant := range all {
		t.steps[tenant.Name] = turnStep / int64(tenant.Weight)
	}
}

// step returns the step of a tenant. The caller must hold mu.
func (t *turns) step(tenant string) int64 {
	if step, ok := t.steps[tenant]; ok {
		return step
	}
	return turnStep
}

// assign returns the turn of a new job. The caller must call settle when the job is stored, or has not been stored.
func (t *turns) assign(f flow) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying == nil {
		t.flying = map[flow]int64{}
	}
	turn := max(t.now[f.lane], t.next[f]) + t.flying[f]*t.step(f.tenant)
	t.flying[f]++
	return turn
}

// settle ends the assignment of a turn.
func (t *turns) settle(f flow, turn int64, stored bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying[f]--; t.flying[f] == 0 {
		delete(t.flying, f)
	}
	if stored {
		t.last(f, turn)
	}
}

// last records a turn of a stored job. The caller must hold mu.
func (t *turns) last(f flow, turn int64) {
	if t.next == nil {
		t.next = map[flow]int64{}
	}
	t.next[f] = max(t.next[f], turn+t.step(f.tenant))
}

// taken records that a job was taken.
func (t *turns) taken(l lane, turn int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[lane]int64{}
	}
	t.now[l] = max(t.now[l], turn)
}

// seenTurns holds the turns of unfinished jobs.
type seenTurns struct {
	last           map[flow]int64
	taken, waiting map[lane]int64 // the last turn of running jobs and the first turn of queued jobs
}

func newSeenTurns() seenTurns {
	return seenTurns{map[flow]int64{}, map[lane]int64{}, map[lane]int64{}}
}

// add adds the first and last turn of jobs in a state.
func (s seenTurns) add(f flow, state int, first, last int64) {
	s.last[f] = max(s.last[f], last)
	if state == running {
		s.taken[f.lane] = max(s.taken[f.lane], last)
		return
	}
	if turn, found := s.waiting[f.lane]; !found || first < turn {
		s.waiting[f.lane] = first
	}
}

// learn updates the turns from the unfinished jobs, and deletes entries that have no effect any more. If no job of a
// queue is running, its first job is the next.
func (t *turns) learn(found seenTurns) {
	for l, turn := range found.waiting {
		if _, runs := found.taken[l]; !runs {
			t.taken(l, turn)
		}
	}
	for l, turn := range found.taken {
		t.taken(l, turn)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for f, turn := range found.last {
		t.last(f, turn)
	}
	maps.DeleteFunc(t.next, func(f flow, next int64) bool { return next <= t.now[f.lane] })
}

// settle ends the assignment of a turn, and makes takers consider the job.
func (s *Store) settle(f flow, turn int64, stored bool) {
	s.turns.settle(f, turn, stored)
	if stored {
		s.notifier.back(f.pool, f.priority, position{turn: turn})
	}
}
