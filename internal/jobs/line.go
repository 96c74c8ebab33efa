package jobs

import (
	"context"
	"sync"
	"time"

	"judged/internal/api"
)

const (
	// unparkEvery is how often takers look for jobs whose lease or delay is over while there are others.
	unparkEvery = 200 * time.Millisecond
	// unparkBatch is the number of jobs that one statement puts back in line.
	unparkBatch = 1000
	// unparkLag is for how long a change may become visible after its time. The sweep finds what comes later.
	unparkLag = 5 * time.Second
)

// atOnce is when a job is due that anybody may take. The time of now would not do: what two processes know of the database's
// clock differs by a part of a round trip, and a taker whose clock is behind would not see the job when it is woken.
const atOnce = 0

// unparkJobs looks at the jobs that were parked until a time in a window, and puts those that are due back in line. The
// lower end leaves out what is gone: while somebody has an old snapshot, such as a backup, PostgreSQL reads the entry of
// every job that has ended since.
const unparkJobs = `UPDATE jobs SET parked = CASE WHEN due <= ?1 THEN 0 ELSE due END
WHERE seq IN (SELECT seq FROM jobs WHERE parked > 0 AND parked >= ?2 AND parked <= ?1 ORDER BY parked LIMIT ?3 {lock})`

// unpark puts jobs whose lease or delay is over back in line, and returns at how many it looked.
func (s *Store) unpark(ctx context.Context) (int64, error) {
	now := s.now().UnixNano()
	from := min(s.unparked.Load(), now) - int64(unparkLag)
	n, err := s.exec(ctx, "take a job", unparkJobs, now, from, unparkBatch)
	if n > 0 {
		s.notifier.everyLine()
	}
	if err == nil && n < unparkBatch {
		s.unparked.Store(now)
	}
	return n, err
}

// positions are places in line, by priority.
type positions [auditPriority + 1]int64

// lows are the positions at which takers of a class of slots begin to look. There is nothing for them before, except for
// jobs that other processes have put back since, or that were put in another order than their seq. So all are looked at
// again after some time. They keep a taker from reading what it cannot take each time: jobs for wider slots or other
// nodes, and in PostgreSQL the entries of jobs that have ended since the oldest snapshot.
type lows struct {
	mu    sync.Mutex // guards the rest
	seq   positions
	backs int           // how often a job came back
	moved int64         // notifier.moved when seq was learned
	whole time.Time     // when the whole line was looked at
	took  time.Duration // what that took
}

const (
	// wholeShare limits the time of looking at the whole line to a twentieth.
	wholeShare = 20
	// quick is when that takes so little that it may follow each search that finds nothing.
	quick = 10 * time.Millisecond
)

// search is one look at the line.
type search struct {
	from  positions
	backs int
	moved int64
	start time.Time
}

// begin begins a search, of the whole line if asked to or if it is time.
func (l *lows) begin(moved int64, whole bool) search {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := search{backs: l.backs, moved: moved, start: time.Now()}
	if !whole && moved == l.moved && time.Since(l.whole) <= max(pollEvery, wholeShare*l.took) {
		s.from = l.seq
	}
	return s
}

// end notes the job that a search has found; its ID is "" without one. It reports whether to search the whole line.
func (l *lows) end(s search, r row) (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.from == (positions{}) {
		l.whole, l.took, l.seq, l.moved = time.Now(), time.Since(s.start), positions{}, s.moved
	}
	if r.id == "" {
		return s.from != (positions{}) && (l.took < quick || time.Since(l.whole) > wholeShare*l.took)
	}
	if s.backs == l.backs {
		for p := range min(r.priority+1, auditPriority) { // each node may take other audits
			l.seq[p] = max(l.seq[p], r.seq)
		}
	}
	return false
}

// back notes that a job is in line again.
func (l *lows) back(r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backs++
	l.seq[r.priority] = min(l.seq[r.priority], r.seq)
}

// takeLine takes the first job in line for a slot.
func (s *Store) takeLine(ctx context.Context, w api.Want) (work api.Work, found bool, err error) {
	low := &s.notifier.line(slotClass{w.Pool, w.Width, w.Contests}).low
	text := takeAny
	if w.Contests {
		text = takeContest
	}
	for whole := false; ; whole = true {
		look, now := low.begin(s.notifier.moved.Load(), whole), s.now()
		until := now.Add(s.opts.Lease)
		args := []any{until.UnixNano(), now.UnixNano(), w.Host, w.CPUs, w.Pool, w.Width, w.Node, w.Key}
		for p := range api.AllPriorities() {
			if p == 0 || !w.Contests {
				args = append(args, look.from[p])
			}
		}
		work, r, err := s.lease(ctx, text, until, args)
		if err != nil {
			return api.Work{}, false, err
		}
		if again := low.end(look, r); !again {
			return work, r.id != "", nil
		}
	}
}
