package fleet

import (
	"time"

	"judged/internal/api"
)

// Protocols are the versions of the requests of this file that a judged speaks. A
// version that changes them speaks the one before, too, so that fronts and nodes can be
// updated one after the other.
type Protocols struct{ Oldest, Newest int }

// KnownProtocols are those of this judged.
func KnownProtocols() Protocols { return Protocols{Oldest: 1, Newest: 1} }

// Has reports whether a version is spoken.
func (p Protocols) Has(version int) bool { return p.Oldest <= version && version <= p.Newest }

// Caller is part of every request. With tokens, a node must have the name of its
// token. A front that does not speak the Protocol refuses the request; the node repeats
// it in an older version.
type Caller struct {
	Node string `json:"node"`
	// Unnamed means that Node is the host name, because no operator has named the node. A front with
	// tokens calls it by the name of its token.
	Unnamed  bool `json:"unnamed,omitempty"`
	Protocol int  `json:"protocol"`
}

// From returns the caller of a request.
func (c *Caller) From() *Caller { return c }

// Registration is the state of a node. A node sends it every RegisterEvery.
type Registration struct {
	Caller
	Version     string               `json:"version"`
	Pool        string               `json:"pool"`
	Fingerprint string               `json:"fingerprint"`
	Slots       []Slot               `json:"slots"`
	Languages   []api.LanguageStatus `json:"languages"` // null: not listed yet, those of before
	Ready       bool                 `json:"ready"`
	Reason      string               `json:"reason,omitempty"` // why it is not ready
	Time        time.Time            `json:"time"`             // the node's clock
	// Started is set until the front has answered for the first time: the jobs that
	// an earlier process of the node held are taken again.
	Started  bool              `json:"started,omitempty"`
	Prefetch *PrefetchProgress `json:"prefetch,omitempty"`
	// Hardware are the hard members of the fingerprint. They are set until the front has answered that it knows them.
	Hardware map[string]string `json:"hardware,omitempty"`
	// Kernels are its times of reference kernels, set until the front has answered that it knows them; nil if it does
	// not measure them. Without a time they are being measured.
	Kernels *api.KernelTimes `json:"kernels,omitempty"`
}

// Slot is a slot of a node and its state.
type Slot struct {
	CPUs  string `json:"cpus"`
	State string `json:"state"`
}

// Commands is the answer to a Registration.
type Commands struct {
	Node    string `json:"node,omitempty"`     // the name that the front has for the node
	Drained bool   `json:"drained"`            // the node gets no jobs
	KeptOut string `json:"kept_out,omitempty"` // why it is not in its pool, and gets no jobs either
	// HardwareKnown means that the front needs the node's hardware no more.
	HardwareKnown bool `json:"hardware_known,omitempty"`
	// KernelsKnown means the same of the times of reference kernels that the node has sent.
	KernelsKnown bool `json:"kernels_known,omitempty"`
	// Prefetch is what the pool is to have, if the node does not know it yet.
	Prefetch *Prefetch `json:"prefetch,omitempty"`
}

// TakeRequest asks for a job. The front answers after at most WaitMS.
type TakeRequest struct {
	Caller
	Pool   string `json:"pool"`
	Width  int    `json:"width"`
	CPUs   string `json:"cpus"`
	WaitMS int64  `json:"wait_ms"`
	// Key names the take. Repeated means that an earlier request with this key failed: its answer may have been a job.
	Key      string `json:"key,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
}

// TakeAnswer holds a job, or nothing when none was waiting.
type TakeAnswer struct {
	Work *Work `json:"work,omitempty"`
}

// Work is jobs.Work.
type Work struct {
	ID        string     `json:"id"`
	Attempt   int        `json:"attempt"`
	Job       api.Job    `json:"job"`
	Report    api.Report `json:"report"`
	Last      bool       `json:"last,omitempty"`
	Exhausted bool       `json:"exhausted,omitempty"`
}

// WorkOf converts from jobs.Work.
func WorkOf(w api.Work) *Work {
	return &Work{ID: w.ID, Attempt: w.Attempt, Job: w.Job, Report: w.Report, Last: w.Last, Exhausted: w.Exhausted}
}

func (w *Work) work() api.Work {
	return api.Work{Lease: api.Lease{ID: w.ID, Attempt: w.Attempt}, Job: w.Job, Report: w.Report, Last: w.Last,
		Exhausted: w.Exhausted}
}

// Hold names the attempt of a request.
type Hold struct {
	Caller
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
}

// Lease converts to jobs.Lease.
func (h Hold) Lease() api.Lease { return api.Lease{ID: h.ID, Attempt: h.Attempt} }

// ExtendRequest extends a lease. The front answers after WaitMS, or as soon as the
// lease is lost.
type ExtendRequest struct {
	Hold
	WaitMS int64 `json:"wait_ms,omitempty"`
}

// ExtendAnswer says how long the lease holds, by the front's clock.
type ExtendAnswer struct {
	Until time.Time `json:"until"`
}

// EmitRequest reports the N-th test of an attempt, from 1.
type EmitRequest struct {
	Hold
	N    int            `json:"n"`
	Test api.TestReport `json:"test"`
}

// FinishRequest hands in a report.
type FinishRequest struct {
	Hold
	Report api.Report `json:"report"`
}

// ReturnRequest puts a job back, see jobs.Returned.
type ReturnRequest struct {
	Hold
	DelayMS int64  `json:"delay_ms"`
	Excused bool   `json:"excused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// VerifyRequest asks a front to read a blob that reached the node damaged.
type VerifyRequest struct {
	Caller
	Blob string `json:"blob"`
}

// VerifyAnswer says whether the front has the blob. It deletes a damaged one.
type VerifyAnswer struct {
	Stored bool `json:"stored"`
}

// Nothing is an answer without content.
type Nothing struct{}

const (
	// RegisterEvery is the interval of registrations.
	RegisterEvery = 10 * time.Second
	// MaxWait is the longest that a front holds a request.
	MaxWait = 30 * time.Second
)
