package api

import (
	"errors"
	"time"
)

// Want describes a free slot.
type Want struct {
	Pool  string // "" means default
	Width int    // CPUs of the slot, the most that a job may ask for; 0 means 1
	Host  string // host that has the slot
	Node  string // its name in the fleet: a node does not audit its own jobs, nor judge one again for a cross-check
	CPUs  string // kernel list of the slot, for the event
	// Contests means that only contest jobs are wanted.
	Contests bool
	// Key identifies the call, so that it can be repeated if its response was lost: with Repeated, Take returns the job
	// that Host already holds for this Key, if any.
	Key      string
	Repeated bool
}

// Lease identifies one attempt at a job.
type Lease struct {
	ID      string
	Attempt int
}

// Work is a leased job. The lease ends with the report or when the job is returned. If it is not extended, it expires,
// and the job is taken again.
type Work struct {
	Lease
	Job       Job
	Report    Report    // without tests; its attempt includes this one
	Last      bool      // no further attempt is allowed
	Exhausted bool      // one attempt too many: to be finished as IE without a run
	Until     time.Time // deadline of the lease, by the database's clock
}

// Returned describes how a job is returned.
type Returned struct {
	Delay time.Duration // until it may be taken again
	// Uncounted means that the attempt does not count, because the job was not at fault: no host could start it, or
	// judged is shutting down.
	Uncounted bool
	// Reason is the message of the report until the job is judged: what is missing. "" keeps the current message.
	Reason string
}

// Errors of a queue. Only ErrUnavailable is temporary.
var (
	// ErrUnavailable means that the database or the front cannot be used at the moment: its disk is full, the file
	// system read-only, or the server down. The same call may succeed later.
	ErrUnavailable = errors.New("database unavailable")
	// ErrNotFound means that the job does not exist or was deleted.
	ErrNotFound = errors.New("no such job")
	// ErrUnknownPool means that a pool is not configured and has no registered node.
	ErrUnknownPool = errors.New("no such pool")
	// ErrUnknownNode means that no node of this name has registered.
	ErrUnknownNode = errors.New("no such node")
	// ErrNodeInUse means that a node cannot be forgotten yet. The wrapping error says why.
	ErrNodeInUse = errors.New("the node is in use")
	// ErrFinal means that the job has ended and no longer changes.
	ErrFinal = errors.New("the job has ended")
	// ErrStale means that the lease was lost: another attempt has the job, or it is queued again.
	ErrStale = errors.New("another attempt has the job")
	// ErrRefused means that the request can never be accepted: repeating it is useless.
	ErrRefused = errors.New("refused")
)
