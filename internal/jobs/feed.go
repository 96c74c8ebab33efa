package jobs

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// feed holds the newest events of all jobs in memory. While there are followers, one goroutine reads new events from
// the database for all of them. A follower that is further behind reads from the database by itself and does not delay
// the others.
type feed struct {
	catchUps  chan struct{} // limits the followers that read the database at the same time
	deletions int64         // value of notifier.deletions at the last read

	mu        sync.Mutex // guards the fields below
	followers int
	joined    int          // total number of followers so far, including closed ones
	live      bool         // the goroutine is reading
	start     int64        // all events after this position ...
	end       int64        // ... and up to this one are in memory
	events    []*FeedEvent // ordered by position; followers read parts of the array
	bytes     int          // size of their JSON in bytes
	// one channel for each group of followers; closed when there are new events
	changed [followerGroups]chan struct{}
}

const (
	catchUps = 2
	// feedEvery is the minimum time between two reads. A follower writes all events of one read at once.
	feedEvery = 50 * time.Millisecond
	// perFollower is added to feedEvery for each follower. It limits the CPU time of their writes, which take 10 to 20
	// us each, however many there are.
	perFollower = 250 * time.Microsecond
	// followerGroups is the number of groups of followers that are woken one after the other. Waking all at once would
	// delay other work of the daemon.
	followerGroups = 16
	// feedEvents and feedBytes limit the events in memory.
	feedEvents = 10_000
	feedBytes  = 32 << 20
	// followerBatch is the approximate number of events that a follower gets at once.
	followerBatch = 256
)

// fillFeed reads new events while there are followers, until life is done.
func (s *Store) fillFeed(life context.Context) {
	poll := time.NewTicker(s.opts.poll)
	defer poll.Stop()
	failed := false
	for {
		select {
		case <-life.Done():
			return
		case <-s.notifier.feed:
		case <-poll.C:
		}
		err := s.readFeed(life)
		if err != nil && !failed && life.Err() == nil {
			s.opts.Log.Warn("cannot read the events of all jobs; their followers wait", "error", err)
		}
		failed = err != nil
		s.feed.announce(life)
	}
}

// readFeed reads all new events from the database.
func (s *Store) readFeed(ctx context.Context) error {
	f := &s.feed
	if n := s.notifier.deletions.Load(); n != f.deletions {
		f.deletions = n
		f.stop()
	}
	followed, live, at := f.state()
	if !followed {
		f.stop()
		return nil
	}
	if !live {
		newest, err := s.newestInFeed(ctx)
		if err == nil {
			f.restart(newest)
		}
		return err
	}
	upTo, err := s.settled(ctx)
	for more := true; more && err == nil; {
		var part feedRange
		var events []*FeedEvent
		if part, more, err = s.feedPage(ctx, at, upTo); err == nil {
			events, err = s.feedEvents(ctx, part)
		}
		if err == nil {
			f.append(part.last, events)
			at = part.last
		}
	}
	if errors.Is(err, ErrNoPosition) { // deleted meanwhile; the followers get the same error
		f.stop()
	}
	return err
}

func (f *feed) state() (followed, live bool, end int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.followers > 0, f.live, f.end
}

func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live, f.events, f.bytes = false, nil, 0
}

// restart discards all events and continues after a position.
func (f *feed) restart(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live, f.start, f.end, f.events, f.bytes = true, at, at, nil, 0
}

// append adds the events up to a position, and drops the oldest ones beyond the limits.
func (f *feed) append(end int64, events []*FeedEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = end
	f.events = append(f.events, events...)
	for _, e := range events {
		f.bytes += len(e.JSON)
	}
	dropped := 0
	for _, e := range f.events {
		if len(f.events)-dropped <= feedEvents && f.bytes <= feedBytes && e.Row != f.start {
			break
		}
		f.start = e.Row
		f.bytes -= len(e.JSON)
		dropped++
	}
	f.events = f.events[dropped:]
}

// announce wakes the followers group by group, and waits until the next read is allowed.
func (f *feed) announce(ctx context.Context) {
	f.mu.Lock()
	followers := f.followers
	f.mu.Unlock()
	if followers == 0 {
		poll.Sleep(ctx, feedEvery)
		return
	}
	pause := (feedEvery + time.Duration(followers)*perFollower) / followerGroups
	for group := range f.changed {
		f.mu.Lock()
		close(f.changed[group])
		f.changed[group] = make(chan struct{})
		f.mu.Unlock()
		poll.Sleep(ctx, pause)
	}
}

// after returns events after a position, the position of the last event that it considered, and a channel that is
// closed when there are more events for a group. here is false if some of the events are not in memory, or if nothing
// has been read yet.
func (f *feed) after(at int64, group int) (events []*FeedEvent, next int64, changed <-chan struct{}, here bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live || at < f.start {
		return nil, at, f.changed[group], false
	}
	from := sort.Search(len(f.events), func(i int) bool { return f.events[i].Row > at })
	to := min(from+followerBatch, len(f.events))
	for to < len(f.events) && f.events[to].Row == f.events[to-1].Row {
		to++
	}
	next = max(at, f.end)
	if to < len(f.events) {
		next = f.events[to-1].Row
	}
	return f.events[from:to], next, f.changed[group], true
}

// Positions at which a follower can start, besides the position of an event.
var (
	FeedOldest = FeedPosition{Row: 0}  // before the oldest available event
	FeedNow    = FeedPosition{Row: -1} // after all existing events
)

// FeedFilter selects events of the feed. Zero members do not restrict.
type FeedFilter struct {
	Label map[string]string // all of them must match
	Types []api.EventType   // any of them
}

func (f FeedFilter) accepts(e *FeedEvent) bool {
	for key, value := range f.Label {
		if got, found := e.Labels[key]; !found || got != value {
			return false
		}
	}
	return len(f.Types) == 0 || slices.Contains(f.Types, e.Type)
}

// Follower reads the feed. Only one goroutine may use it at a time.
type Follower struct {
	store  *Store
	filter FeedFilter
	tenant string
	at     int64
	group  int
	part   int // number of events of the row at position at that were returned; 0 means all
}

// Follow returns a reader of the events of all jobs after a position. It returns each event once, in the order in which
// the events became durable. The caller must close it. Follow returns ErrNoPosition if the feed does not have the
// position.
func (s *Store) Follow(ctx context.Context, after FeedPosition, filter FeedFilter) (*Follower, error) {
	at, err := after.Row, error(nil)
	switch after {
	case FeedOldest:
		at, err = s.oldestInFeed(ctx)
	case FeedNow:
		at, err = s.newestInFeed(ctx)
	default:
		_, _, err = s.feedPage(ctx, at, at)
	}
	if err != nil {
		return nil, err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.followers++
	s.feed.joined++
	wakeUp(s.notifier.feed)
	return &Follower{store: s, filter: filter, tenant: TenantOf(ctx), at: at, group: s.feed.joined % followerGroups,
		part: after.Part}, nil
}

// Close stops the follower.
func (f *Follower) Close() {
	f.store.feed.mu.Lock()
	defer f.store.feed.mu.Unlock()
	f.store.feed.followers--
}

// Position returns the position up to which the follower has read. It may be after the last event that the filter
// selected.
func (f *Follower) Position() FeedPosition { return FeedPosition{f.at, f.part} }

// Next waits for events that the filter selects and returns some of them, or none if ctx is done. It returns
// ErrNoPosition if events after its position have been deleted.
func (f *Follower) Next(ctx context.Context) ([]*FeedEvent, error) {
	for {
		events, next, changed, here := f.store.feed.after(f.at, f.group)
		read := here && f.part == 0
		var err error
		if _, live, end := f.store.feed.state(); live && !read {
			events, next, err = f.catchUp(ctx, end)
			read = true
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			return nil, err
		}
		more := next > f.at
		if read {
			f.at, f.part = next, 0
		} else {
			events = nil
		}
		if selected := f.selectFrom(events); len(selected) > 0 {
			return selected, nil
		}
		if more {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (f *Follower) selectFrom(events []*FeedEvent) (selected []*FeedEvent) {
	if f.tenant == "" && len(f.filter.Label)+len(f.filter.Types) == 0 {
		return events
	}
	for _, e := range events {
		if (f.tenant == "" || f.tenant == e.Tenant) && f.filter.accepts(e) {
			selected = append(selected, e)
		}
	}
	return selected
}

// catchUp reads the next events from the database.
func (f *Follower) catchUp(ctx context.Context, upTo int64) (events []*FeedEvent, next int64, err error) {
	select {
	case f.store.feed.catchUps <- struct{}{}:
		defer func() { <-f.store.feed.catchUps }()
	case <-ctx.Done():
		return nil, f.at, nil
	}
	part, _, err := f.store.feedPage(ctx, f.at, upTo)
	if err != nil {
		return nil, f.at, err
	}
	if f.part > 0 {
		part.after-- // read the row at f.at again
	}
	events, err = f.store.feedEvents(ctx, part)
	return slices.DeleteFunc(events, func(e *FeedEvent) bool {
		return e.Row == f.at && e.Part > 0 && e.Part <= f.part
	}), part.last, err
}
