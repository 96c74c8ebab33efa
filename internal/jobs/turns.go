package jobs

import (
	"maps"
	"sync"

	"judged/internal/base/config"
)

// turns gives each job its turn: the jobs of a pool and priority are taken in the order of their turns. It is
// start-time fair queueing (Goyal et al., 1996): the virtual time of a queue is the turn of the job that was taken last.
// The turn of a job is the virtual time, or a step after that of the job before it of the same tenant, whichever is
// later. The step is shorter the more weight the tenant has. So a tenant gets its share while others wait, whatever is
// in the queue before its jobs, and has no advantage from a time in which it had none. Jobs without a tenant count as
// those of one tenant.
//
// A process knows the turns that it assigns and takes, and learns those of others when it counts the queue. Until then,
// a tenant that submits to several fronts may get a larger share.
type turns struct {
	mu     sync.Mutex // guards the rest
	steps  map[string]int64
	now    map[lane]int64 // virtual time
	next   map[flow]int64 // a step after the last turn of the tenant
	flying map[flow]int64 // jobs that have a turn and may still not be stored
}

// lane is a queue that is ordered by turns.
type lane struct {
	pool     string
	priority int
}

// flow is the part of a tenant of a queue.
type flow struct {
	lane
	tenant string
}

// turnStep is the step of a tenant with the weight 1.
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

// assign returns the turn of a new job. The caller calls settle when the job is stored or not.
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

// settle ends what assign began.
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

// seenTurns are the turns of the unfinished jobs.
type seenTurns struct {
	last           map[flow]int64
	taken, waiting map[lane]int64 // the last and the first one
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

// learn learns from the unfinished jobs, and forgets what makes no difference any more. If no job of a queue runs, its
// first one is the next.
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

// settle ends the assignment of a turn, and makes takers look at the job.
func (s *Store) settle(f flow, turn int64, stored bool) {
	s.turns.settle(f, turn, stored)
	if stored {
		s.notifier.back(f.pool, f.priority, position{turn: turn})
	}
}
