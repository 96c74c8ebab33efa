package jobs

import (
	"context"
	"math"
	"sync"
	"time"

	"judged/internal/api"
)

const (
	// unparkEvery is how often takers look for expired leases and delays while other jobs are queued.
	unparkEvery = 200 * time.Millisecond
	// unparkBatch is the number of jobs that one statement unparks.
	unparkBatch = 1000
	// unparkLag is how long a change may take to become visible after its time. The sweep finds later ones.
	unparkLag = 5 * time.Second
)

// atOnce is the due time of a job that can be taken immediately. The current time would not work, because the clock
// readings of two processes differ by part of a round trip. A taker whose reading is behind would not see the job when
// it is woken.
const atOnce = 0

// unparkJobs examines the jobs whose parked time is in a window and unparks those that are due. The lower bound
// excludes dead entries: while an old snapshot exists, such as that of a backup, PostgreSQL reads the entries of all
// jobs that have ended since.
const unparkJobs = `UPDATE jobs SET parked = CASE WHEN due <= ?1 THEN 0 ELSE due END
WHERE seq IN (SELECT seq FROM jobs WHERE parked > 0 AND parked >= ?2 AND parked <= ?1 ORDER BY parked LIMIT ?3 {lock})`

// unpark unparks jobs whose lease or delay has expired. It returns the number of examined jobs.
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

// position is a position in the queue of a pool and priority.
type position struct{ turn, seq int64 }

func (p position) before(q position) bool {
	return p.turn < q.turn || p.turn == q.turn && p.seq < q.seq
}

// positions are positions in the queue, by priority.
type positions [auditPriority + 1]position

// endOfLine is after all positions.
var endOfLine = position{turn: math.MaxInt64, seq: math.MaxInt64}

// or returns the earlier of two positions.
func (p position) or(q position) position {
	if q.before(p) {
		return q
	}
	return p
}

// lows holds the positions at which takers of a slot class start to search. No job before them can be taken, except for
// jobs that other processes have returned since, or have stored with a turn that is in the past here. So the whole
// queue is searched again from time to time. The positions keep takers from reading entries that they cannot take: jobs
// for wider slots or other nodes and, in PostgreSQL, jobs that have ended since the oldest snapshot. Only one search
// runs at a time.
type lows struct {
	mu    sync.Mutex // guards the fields below
	from  positions
	came  positions     // the first positions that were added since the search began
	moved int64         // value of notifier.moved when from was learned
	whole time.Time     // time of the last search of the whole queue
	took  time.Duration // duration of that search
}

const (
	// wholeShare limits the time spent searching the whole queue to a twentieth.
	wholeShare = 20
	// quick is the duration below which a search of the whole queue may follow each search that finds nothing.
	quick = 10 * time.Millisecond
)

// search is one search of the queue.
type search struct {
	from  positions
	moved int64
	start time.Time
}

// begin begins a search. It covers the whole queue if that is requested or due.
func (l *lows) begin(moved int64, whole bool) search {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := search{moved: moved, start: time.Now()}
	if !whole && moved == l.moved && time.Since(l.whole) <= max(pollEvery, wholeShare*l.took) {
		s.from = l.from
	}
	for p := range l.came {
		l.came[p] = endOfLine
	}
	return s
}

// noSearch is the duration until a search that is not needed.
const noSearch = time.Duration(math.MaxInt64)

// record stores the result of a search; the ID of r is "" if no job was found. It returns how long to wait before a
// search of the whole queue. alone means that no other process stores jobs.
func (l *lows) record(s search, r row, alone bool) (whole time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.from == (positions{}) {
		l.whole, l.took, l.from, l.moved = time.Now(), time.Since(s.start), positions{}, s.moved
	}
	switch {
	case r.id == "" && s.from == (positions{}):
		return noSearch
	case r.id == "" && l.took < quick:
		return 0
	case r.id == "":
		return max(0, wholeShare*l.took-time.Since(l.whole))
	}
	for p := range min(r.priority+1, auditPriority) { // other nodes may take different audits
		switch {
		case p == r.priority:
			l.raise(p, position{r.turn, r.seq})
		case alone:
			l.raise(p, endOfLine) // no job can be taken
		}
	}
	return noSearch
}

// raise raises a low, but not above positions that were added meanwhile. The caller must hold mu.
func (l *lows) raise(priority int, to position) {
	if to = to.or(l.came[priority]); l.from[priority].before(to) {
		l.from[priority] = to
	}
}

// back records that a job was stored or queued again.
func (l *lows) back(priority int, place position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came[priority] = l.came[priority].or(place)
	l.from[priority] = l.from[priority].or(place)
}

// takeLine takes the first job in the queue that fits a slot. If it finds none, it returns how long to wait before the
// next search, because part of the queue may not have been searched.
func (s *Store) takeLine(ctx context.Context, w api.Want) (work api.Work, again time.Duration, found bool, err error) {
	for whole := false; ; whole = true {
		l := s.newLookup(w, whole)
		work, err := s.lease(ctx, l)
		if err != nil {
			return api.Work{}, noSearch, false, err
		}
		if again := s.record(l); again > 0 {
			return work, again, l.row.id != "", nil
		}
	}
}

// newLookup begins a search of the queue.
func (s *Store) newLookup(w api.Want, whole bool) *lookup {
	l := &lookup{want: w, text: takeAny}
	if w.Contests {
		l.text = takeContest
	}
	l.search = s.low(w).begin(s.notifier.moved.Load(), whole)
	now := s.now()
	l.until = now.Add(s.opts.Lease)
	l.args = []any{l.until.UnixNano(), now.UnixNano(), w.Host, w.CPUs, w.Pool, w.Width, w.Node, w.Key}
	for p := range api.AllPriorities() {
		if p == 0 || !w.Contests {
			l.args = append(l.args, l.from[p].turn, l.from[p].seq)
		}
	}
	return l
}

// record stores the result of a search of the queue. It returns how long to wait before the next one.
func (s *Store) record(l *lookup) (again time.Duration) {
	if l.row.id != "" {
		s.turns.taken(lane{l.want.Pool, l.row.priority}, l.row.turn)
	}
	return s.low(l.want).record(l.search, l.row, s.driver.listen == nil)
}

func (s *Store) low(w api.Want) *lows {
	return &s.notifier.line(slotClass{w.Pool, w.Width, w.Contests}).low
}
