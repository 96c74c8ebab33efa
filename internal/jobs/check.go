package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// check caches the result of Check.
type check struct {
	state poll.Value[error]
	grown atomic.Int64 // last time when the database grew or could grow, in nanoseconds since 1970
	full  atomic.Bool  // an operation has failed since then because the disk was full
}

const (
	// checkAge is how long a result of Check is valid.
	checkAge = time.Second
	// checkTimeout is the time after which a database that does not respond counts as down.
	checkTimeout = 2 * time.Second
	// growEvery is how often Check writes growBytes. A server with a full disk still accepts a few bytes into existing
	// pages.
	growEvery = 10 * time.Second
	growBytes = 64 << 10
)

// checked is the value that Check writes. Its random bytes do not compress.
type checked struct {
	At     time.Time `json:"at"`
	Filler []byte    `json:"filler,omitempty"`
}

// Check writes to the database and returns the error. It writes at most once a second and takes at most two seconds.
func (s *Store) Check() error {
	state, err := s.check.state.Get(context.Background(), time.Now, checkAge,
		func(ctx context.Context) (error, error) { return s.writeCheck(ctx), nil })
	return cmp.Or(err, state)
}

// writeCheck writes to the database. Only one call runs at a time.
func (s *Store) writeCheck(ctx context.Context) error {
	c, now := &s.check, time.Now()
	v := checked{At: now}
	grow := s.driver.diskHidden && (now.Sub(time.Unix(0, c.grown.Load())) > growEvery || c.full.Swap(false))
	if grow {
		c.grown.Store(0)
		v.Filler = make([]byte, growBytes)
		_, _ = rand.Read(v.Filler) // never fails, see crypto/rand
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := s.SetValue(ctx, v, "check")
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: no answer within %v; check that %s is up and its disk is not stalled",
			api.ErrUnavailable, checkTimeout, s.driver.name)
	}
	if grow && err == nil {
		c.grown.Store(now.UnixNano())
	}
	return err
}
