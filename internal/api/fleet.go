package api

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// PrefetchRequest names what the nodes of a pool should fetch before a job needs it. It replaces the previous request.
type PrefetchRequest struct {
	Problems []string `json:"problems,omitempty"`
	Blobs    []string `json:"blobs,omitempty"`
}

// Prefetch is a request as fronts store it and nodes receive it.
type Prefetch struct {
	ID    string    `json:"id"` // of the request
	At    time.Time `json:"at"`
	Blobs []Blob    `json:"blobs"`
}

// Blob is the digest of a blob and its size.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size_bytes"`
}

func (p Prefetch) Size() (total int64) {
	for _, b := range p.Blobs {
		total += b.Size
	}
	return total
}

// PrefetchProgress is a node's progress with the last request that it received.
type PrefetchProgress struct {
	ID    string `json:"id"`
	Blobs int    `json:"blobs"`           // number of the blobs that it has
	Error string `json:"error,omitempty"` // of the last attempt; the node retries
}

// PrefetchStatus is the progress of a pool. It is zero if there is no request.
type PrefetchStatus struct {
	Pool  string           `json:"pool"`
	At    time.Time        `json:"at,omitzero"` // of the request
	Blobs int              `json:"blobs"`
	Size  int64            `json:"size_bytes"`
	Nodes []PrefetchedNode `json:"nodes"`
}

// PrefetchedNode is the progress of a node of a pool.
type PrefetchedNode struct {
	Node  string `json:"node"`
	Up    bool   `json:"up"`
	Done  bool   `json:"done"`
	Blobs int    `json:"blobs"`
	Error string `json:"error,omitempty"`
}

// RejudgingSet lists the jobs that a drained node judged while its times deviated, if the deviation may have changed a
// verdict. An operator decides what is judged again.
type RejudgingSet struct {
	Node      string        `json:"node"`
	Since     time.Time     `json:"since"`
	Until     time.Time     `json:"until"`
	Deviation float64       `json:"deviation_ratio"`
	Window    float64       `json:"window_ratio"` // maximum distance of a test's time from its limit
	Jobs      []RejudgedJob `json:"jobs"`
	Truncated bool          `json:"truncated"` // there are more jobs
}

// RejudgedJob is a job with a test near its limit.
type RejudgedJob struct {
	ID      string        `json:"id"`
	Verdict Verdict       `json:"verdict"`
	Test    string        `json:"test"` // test nearest to its limit
	CPUTime time.Duration `json:"cpu_time_ns"`
	Limit   time.Duration `json:"limit_ns"`
}

// Protocols is the range of versions of the requests in this file that a judged supports. A version that changes the
// requests also supports the previous version, so that fronts and nodes can be upgraded one after the other.
type Protocols struct{ Oldest, Newest int }

// FleetProtocols returns the versions that this judged supports.
func FleetProtocols() Protocols { return Protocols{Oldest: 1, Newest: 1} }

// Has reports whether a version is supported.
func (p Protocols) Has(version int) bool { return p.Oldest <= version && version <= p.Newest }

// Caller is part of every request. With tokens, a node must have the name of its token. A front that does not support
// the Protocol refuses the request; the node repeats it in an older version.
type Caller struct {
	Node string `json:"node"`
	// Unnamed means that Node is the host name, because no operator has named the node. A front with tokens uses the
	// name of its token instead.
	Unnamed  bool `json:"unnamed,omitempty"`
	Protocol int  `json:"protocol"`
}

// From returns the caller of a request.
func (c *Caller) From() *Caller { return c }

// Registration is the state of a node. A node sends it every RegisterEvery.
type Registration struct {
	Caller
	Version     string           `json:"version"`
	Pool        string           `json:"pool"`
	Fingerprint string           `json:"fingerprint"`
	Slots       []NodeSlot       `json:"slots"`
	Languages   []LanguageStatus `json:"languages"` // null: not listed yet, the previous ones stay
	Ready       bool             `json:"ready"`
	Reason      string           `json:"reason,omitempty"` // why it is not ready
	Time        time.Time        `json:"time"`             // the node's clock
	// Started is set until the front has responded for the first time: the jobs that an earlier process of the node
	// held are taken again.
	Started  bool              `json:"started,omitempty"`
	Prefetch *PrefetchProgress `json:"prefetch,omitempty"`
	// Hardware has the hard members of the fingerprint. It is set until the front has responded that it has them.
	Hardware map[string]string `json:"hardware,omitempty"`
	// Kernels has the node's times of reference kernels. It is set until the front has responded that it has them; nil
	// if the node does not measure them. Without a time they are being measured.
	Kernels *KernelTimes `json:"kernels,omitempty"`
}

// NodeSlot is a slot of a node and its state.
type NodeSlot struct {
	CPUs  string `json:"cpus"`
	State string `json:"state"`
}

// NodeCommands is the response to a Registration.
type NodeCommands struct {
	Node    string `json:"node,omitempty"`     // name of the node at the front
	Drained bool   `json:"drained"`            // the node gets no jobs
	KeptOut string `json:"kept_out,omitempty"` // reason why it is not in its pool; such a node gets no jobs either
	// HardwareKnown means that the front has the node's hardware.
	HardwareKnown bool `json:"hardware_known,omitempty"`
	// KernelsKnown means that the front has the times of reference kernels that the node has sent.
	KernelsKnown bool `json:"kernels_known,omitempty"`
	// Prefetch is the request for the pool, if the node does not have it yet.
	Prefetch *Prefetch `json:"prefetch,omitempty"`
}

// TakeRequest asks for a job. The front responds after at most WaitMS.
type TakeRequest struct {
	Caller
	Pool   string `json:"pool"`
	Width  int    `json:"width"`
	CPUs   string `json:"cpus"`
	WaitMS int64  `json:"wait_ms"`
	// Key identifies the take. Repeated means that an earlier request with this key failed: its response may have been
	// a job.
	Key      string `json:"key,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
}

// TakeAnswer has a job, or nothing if none was waiting.
type TakeAnswer struct {
	Work *NodeWork `json:"work,omitempty"`
}

// NodeWork is Work in JSON.
type NodeWork struct {
	ID        string `json:"id"`
	Attempt   int    `json:"attempt"`
	Job       Job    `json:"job"`
	Report    Report `json:"report"`
	Last      bool   `json:"last,omitempty"`
	Exhausted bool   `json:"exhausted,omitempty"`
}

// NodeWorkOf converts from Work. A node runs programs of contestants, so it does not get the URL of the callback.
func NodeWorkOf(w Work) *NodeWork {
	w.Job.Callback = nil
	return &NodeWork{ID: w.ID, Attempt: w.Attempt, Job: w.Job, Report: w.Report, Last: w.Last, Exhausted: w.Exhausted}
}

func (w *NodeWork) Work() Work {
	return Work{Lease: Lease{ID: w.ID, Attempt: w.Attempt}, Job: w.Job, Report: w.Report, Last: w.Last,
		Exhausted: w.Exhausted}
}

// Hold identifies the attempt of a request.
type Hold struct {
	Caller
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
}

// Lease converts to Lease.
func (h Hold) Lease() Lease { return Lease{ID: h.ID, Attempt: h.Attempt} }

// ExtendRequest extends a lease. The front responds after WaitMS, or as soon as the lease is lost.
type ExtendRequest struct {
	Hold
	WaitMS int64 `json:"wait_ms,omitempty"`
}

// ExtendAnswer has the end of the lease, by the front's clock.
type ExtendAnswer struct {
	Until time.Time `json:"until"`
}

// EmitRequest reports the N-th test of an attempt, counted from 1.
type EmitRequest struct {
	Hold
	N    int        `json:"n"`
	Test TestReport `json:"test"`
}

// KeepRequest sends an output that the report of an attempt will name.
type KeepRequest struct {
	Hold
	SHA256  string `json:"sha256"`
	Content []byte `json:"content"`
}

// FinishRequest sends a report.
type FinishRequest struct {
	Hold
	Report Report `json:"report"`
}

// ReturnRequest returns a job to the queue, see Returned.
type ReturnRequest struct {
	Hold
	DelayMS   int64  `json:"delay_ms"`
	Uncounted bool   `json:"excused,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// VerifyRequest asks a front to verify a blob that reached the node damaged.
type VerifyRequest struct {
	Caller
	Blob string `json:"blob"`
}

// VerifyAnswer reports whether the front has the blob. The front deletes a damaged one.
type VerifyAnswer struct {
	Stored bool `json:"stored"`
}

// Nothing is a response without content.
type Nothing struct{}

// NodeDifference is a property that times depend on, or a time, in which a node differs from its pool.
type NodeDifference struct {
	Member string `json:"member"` // of the fingerprint, such as kernel
	Node   string `json:"node"`   // value of the node; "" if it is missing
	Pool   string `json:"pool"`   // value of the most similar node of the pool; for a time, the median
}

// maxShown limits the values in a message, in bytes.
const maxShown = 60

func (d NodeDifference) String() string {
	return fmt.Sprintf("%s: %.*q, in the pool %.*q", d.Member, maxShown, d.Node, maxShown, d.Pool)
}

// Check returns the reason why a registration is invalid, or nil.
func (g Registration) Check() error {
	if len(g.Slots) > maxSlots || len(g.Languages) > maxLanguages {
		return fmt.Errorf("%d slots and %d languages, want at most %d and %d", len(g.Slots), len(g.Languages), maxSlots,
			maxLanguages)
	}
	for _, s := range g.Slots {
		if err := checkCPUs(s.CPUs); err != nil {
			return err
		}
		if err := checkText("the state of a slot", s.State, maxLabel); err != nil {
			return err
		}
	}
	for _, l := range g.Languages {
		for _, text := range slices.Concat([]string{l.ID, l.Name, l.VariantOf, l.Version}, l.Extensions, l.CompileOptions) {
			if err := checkText("a language", text, maxLabel); err != nil {
				return err
			}
		}
		if err := checkText("the reason of a language", l.Reason, maxNodeReason); err != nil {
			return err
		}
	}
	for name := range g.Hardware { // a value may be any text of the firmware, and is shown quoted
		if err := checkText("the name of a property of the hardware", name, maxLabel); err != nil {
			return err
		}
	}
	if k := g.Kernels; k != nil {
		for _, text := range slices.AppendSeq([]string{k.Program}, maps.Keys(k.CPUTime)) {
			if err := checkText("a reference kernel", text, maxLabel); err != nil {
				return err
			}
		}
	}
	if p := g.Prefetch; p != nil {
		if p.Blobs < 0 {
			return fmt.Errorf("a prefetch has %d blobs", p.Blobs)
		}
		if err := checkText("the error of a prefetch", p.Error, maxNodeReason); err != nil {
			return err
		}
		if err := checkText("the id of a prefetch", p.ID, maxLabel); err != nil {
			return err
		}
	}
	if err := checkText("reason", g.Reason, maxNodeReason); err != nil {
		return err
	}
	if err := checkText("version", g.Version, maxLabel); err != nil {
		return err
	}
	return checkText("fingerprint", g.Fingerprint, maxLabel)
}

// Check returns the reason why no slot makes this request, or nil.
func (q TakeRequest) Check() error {
	if q.Width < 0 || q.Width > maxSlots {
		return fmt.Errorf("width %d, want 1 to %d", q.Width, maxSlots)
	}
	if err := checkText("key", q.Key, maxLabel); err != nil {
		return err
	}
	return checkCPUs(q.CPUs)
}

// Delay returns how long no node may take the job. It returns an error for an invalid delay.
func (q ReturnRequest) Delay() (time.Duration, error) {
	if q.DelayMS < 0 || q.DelayMS > maxDelay.Milliseconds() {
		return 0, fmt.Errorf("delay_ms %d, want 0 to %d", q.DelayMS, maxDelay.Milliseconds())
	}
	return time.Duration(q.DelayMS) * time.Millisecond, nil
}

// Node is the state of a judge node at the fronts.
type Node struct {
	Name        string           `json:"name"`
	Pool        string           `json:"pool"`
	Up          bool             `json:"up"`
	Drained     bool             `json:"drained"`
	Ready       bool             `json:"ready"`
	Reason      string           `json:"reason,omitempty"` // why it is not ready
	Version     string           `json:"version"`
	Fingerprint string           `json:"fingerprint"`
	Slots       []NodeSlot       `json:"slots"`
	Languages   []LanguageStatus `json:"languages"`
	ClockOffset int64            `json:"clock_offset_ns"` // node minus database, up to the one-way time
	SeenAt      time.Time        `json:"seen_at"`
	Deviation   *Deviation       `json:"deviation,omitempty"` // nil until it has been compared with others
	// Differs lists how the node differs from its pool; such a node gets no jobs.
	Differs  []NodeDifference  `json:"differs,omitempty"`
	Admitted bool              `json:"admitted,omitempty"` // by an operator, although it differs
	Prefetch *PrefetchProgress `json:"prefetch,omitempty"` // nil until the first request to its pool
}

// Deviation is by how much the times of a node differ from those of its pool, according to audits.
type Deviation struct {
	At        time.Time           `json:"at"`
	Ratio     float64             `json:"ratio"` // 0.02 means 2 % slower than the median node
	Low       float64             `json:"low_ratio"`
	High      float64             `json:"high_ratio"`      // Low and High are a 95 % interval
	Threshold float64             `json:"threshold_ratio"` // equal hosts differ by less
	Pairs     int                 `json:"pairs"`           // number of audits
	Deviates  bool                `json:"deviates"`
	ChangedAt time.Time           `json:"changed_at,omitzero"` // since when it has been slower or faster
	History   []DeviationEstimate `json:"history"`             // of the last month, a few per day, oldest first
}

// DeviationEstimate is the deviation of a node at one time.
type DeviationEstimate struct {
	At    time.Time `json:"at"`
	Ratio float64   `json:"ratio"`
}

// Judging reports whether a node takes jobs.
func (n Node) Judging() bool { return n.Up && n.Ready && !n.Drained && len(n.Differs) == 0 }

// State returns the state of a node for people, such as "kept out".
func (n Node) State() string {
	switch {
	case !n.Up:
		return "down"
	case n.Drained:
		return "drained"
	case len(n.Differs) > 0:
		return "kept out"
	case !n.Ready:
		return "not ready"
	}
	return "up"
}

// NodeList is the response of GET /v1/nodes.
type NodeList struct {
	Nodes []Node `json:"nodes"`
}

// Pool is the current state of a pool.
type Pool struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Judging int    `json:"judging"` // nodes that are up, ready and not drained
	Slots   int    `json:"slots"`   // of the judging nodes
	// ContestSlots is the number of the slots that judge only contest jobs.
	ContestSlots int `json:"contest_slots,omitempty"`
	Waiting      int `json:"waiting"`
	// Screen is set for a pool for which another pool decides.
	Screen *Screen `json:"screen,omitempty"`
}

// Screen is the state of a screening pool.
type Screen struct {
	DecidedBy string        `json:"decided_by"`
	Open      bool          `json:"open"`                // not closed by a check
	ChangedAt time.Time     `json:"changed_at,omitzero"` // when it was last closed or opened
	Reason    string        `json:"reason,omitempty"`    // why it is closed
	Ratios    []ScreenRatio `json:"ratios"`
}

// ScreenRatio is the known ratio of times between two classes of hosts.
type ScreenRatio struct {
	Language            string  `json:"language"` // "" for programs
	Fingerprint         string  `json:"fingerprint"`
	DecidingFingerprint string  `json:"deciding_fingerprint"`
	Pairs               int     `json:"pairs"`          // submissions that both have judged
	SmallestRatio       float64 `json:"smallest_ratio"` // of a time in the screening pool to one in the deciding pool
	Known               bool    `json:"known"`          // whether there are enough pairs
	KnownForContests    bool    `json:"known_for_contests"`
}

// PoolList is the response of GET /v1/pools.
type PoolList struct {
	Pools []Pool `json:"pools"`
}

const (
	// RegisterEvery is the interval of registrations.
	RegisterEvery = 10 * time.Second
	// MaxWait is the longest time for which a front holds a request.
	MaxWait = 30 * time.Second
)
