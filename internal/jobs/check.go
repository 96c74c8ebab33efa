package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// check caches the result of Check.
type check struct {
	mu    sync.Mutex // guards at, grown and err; held while the database is queried
	at    time.Time
	grown time.Time // when the database could be made larger
	err   error
	full  atomic.Bool // an operation found the disk full since
}

const (
	// checkAge is how long a result of Check is valid.
	checkAge = time.Second
	// checkTimeout is after what time a database that does not answer counts as down.
	checkTimeout = 2 * time.Second
	// growEvery is how often Check writes growBytes. A server whose disk is full still takes a
	// few bytes, into pages that it has.
	growEvery = 10 * time.Second
	growBytes = 64 << 10
)

// checked is what Check writes. Random bytes are not compressed away.
type checked struct {
	At     time.Time `json:"at"`
	Filler []byte    `json:"filler,omitempty"`
}

// Check writes to the database and returns the error. It
// writes at most once a second, and takes two seconds at most.
func (s *Store) Check() error {
	c := &s.check
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.at) <= checkAge {
		return c.err
	}
	v := checked{At: now}
	grow := s.driver.diskHidden && (now.Sub(c.grown) > growEvery || c.full.Swap(false))
	if grow {
		c.grown = time.Time{}
		v.Filler = make([]byte, growBytes)
		_, _ = rand.Read(v.Filler) // never fails, see crypto/rand
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	c.err = s.SetValue(ctx, v, "check")
	if ctx.Err() != nil {
		c.err = fmt.Errorf("%w: no answer within %v; check that %s is up and its disk is not stalled",
			ErrUnavailable, checkTimeout, s.driver.name)
	}
	if grow && c.err == nil {
		c.grown = now
	}
	c.at = time.Now()
	return c.err
}
