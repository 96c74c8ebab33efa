package api

import (
	"errors"
	"time"
)

// Want describes a free slot.
type Want struct {
	Pool  string // "" is default
	Width int    // CPUs of the slot, the most that a job may ask for; 0 is 1
	Host  string // that has the slot
	Node  string // its name in the fleet: a node does not audit its own jobs, nor judge one again for a cross-check
	CPUs  string // kernel list of the slot, for the event
	// Contests means that only jobs of the priority contest are wanted.
	Contests bool
	// Key names the call, so that it can be repeated when its answer was lost: with
	// Repeated, Take returns the job that Host has for this Key, if there is one.
	Key      string
	Repeated bool
}

// Lease identifies one attempt at a job.
type Lease struct {
	ID      string
	Attempt int
}

// Work is a leased job. The lease ends with the report or when the job is put back. If it is not extended it expires, and
// the job is taken again.
type Work struct {
	Lease
	Job       Job
	Report    Report    // without tests; its attempt counts this one
	Last      bool      // no attempt may follow this one
	Exhausted bool      // one attempt too many: to be finished as IE without a run
	Until     time.Time // deadline of the lease, by the database's clock
}

// Returned is how a job is put back.
type Returned struct {
	Delay time.Duration // until it may be taken again
	// Uncounted means that the job was not at fault, because no host could start it or judged is shutting down: the
	// attempt does not count.
	Uncounted bool
	// Reason is the message of the report until the job is judged: what is missing. "" leaves the one that it has.
	Reason string
}

// What a queue answers in place of doing what it was asked. Only ErrUnavailable passes.
var (
	// ErrUnavailable means that the database or the front cannot be used at the moment: its disk is full, the file
	// system read-only, or the server down. The same call may succeed later.
	ErrUnavailable = errors.New("database unavailable")
	// ErrNotFound means that the job does not exist or was deleted.
	ErrNotFound = errors.New("no such job")
	// ErrFinal means that the job has ended and no longer changes.
	ErrFinal = errors.New("the job has ended")
	// ErrStale means that the lease was lost: another attempt has the job, or it is queued again.
	ErrStale = errors.New("another attempt has the job")
	// ErrRefused means that what was sent can never be taken as it is: repeating the call is useless.
	ErrRefused = errors.New("refused")
)
