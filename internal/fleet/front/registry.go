package front

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/jobs"
)

// Values stores the state of nodes; *jobs.Store implements it. All fronts share it.
type Values interface {
	ChangeValues(ctx context.Context, lock string, f func(context.Context, jobs.ValuesTx) error) error
	Value(ctx context.Context, v any, name ...string) (found bool, err error)
	SetValue(ctx context.Context, v any, name ...string) error
	Values(ctx context.Context, f func(name string, value []byte) error, prefix ...string) error
}

// The names of the values: one for a node's own state, one for operators' settings.
const (
	nodeValue  = "node"
	drainValue = "node-drained"
	// deviationValue is set by the front that audits.
	deviationValue = "node-deviation"
)

const (
	// writeEvery is how often the state of a node that does not change is stored.
	// A thousand nodes cost 33 writes a second.
	writeEvery = 30 * time.Second
	// downAfter is how long a node may be silent before it counts as down.
	downAfter = writeEvery + 3*api.RegisterEvery
	// forgetAfter is the time after which a silent node is no longer listed.
	forgetAfter = 24 * time.Hour
	// For a slowly changing deviation, this covers a month.
	historyEvery = 6 * time.Hour
	historyFor   = 30 * 24 * time.Hour
	// drainedFor is the maximum age of the copy of operators' settings.
	drainedFor = time.Second
	// deviationFor is the maximum age of the copy of deviations, which change every hour.
	deviationFor = 10 * time.Second
)

// nodeRecord is the stored state of a node. A member that another version of judged has stored in another form is left
// out until the node registers here, and the node is not ready: one record must not hide all nodes.
type nodeRecord struct{ api.Node }

// UnmarshalJSON implements json.Unmarshaler.
func (n *nodeRecord) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &n.Node)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		n.Ready, n.Reason = false, fmt.Sprintf("another version of judged has stored its %s as a JSON %s; run the "+
			"same version on all fronts", wrong.Field, wrong.Value)
		return nil
	}
	return err
}

// Registry tracks the nodes of a fleet. It is safe for concurrent use.
type Registry struct {
	values Values
	now    func() time.Time
	pools  []string // configured pools
	// pool -> percentage of its slots that judge only contest jobs
	contestPercent map[string]int
	joining        chan struct{} // holds a token while a node joins

	states     poll.Value[*nodeStates]               // operators' settings and the results of admissions
	known      poll.Value[map[string]*api.Deviation] // results of audits by node
	reserved   poll.Value[map[slotName]bool]         // slots for contest jobs only
	prefetches poll.Value[map[string]api.Prefetch]   // requests by pool
	view       poll.Value[*nodesView]
	decided    sync.Map     // node -> decision
	reads      atomic.Int64 // number of reads of states

	mu     sync.Mutex // guards stored
	stored map[string]api.Node
}

// NewRegistry returns a Registry for the shared store, whose clock all fronts use. Its pools are those of the
// configuration and those of nodes.
func NewRegistry(v Values, now func() time.Time, pools ...string) *Registry {
	return &Registry{values: v, now: now, pools: pools, stored: map[string]api.Node{}, joining: make(chan struct{}, 1)}
}

// Seen records a registration.
func (r *Registry) Seen(ctx context.Context, g api.Registration) (api.NodeCommands, error) {
	now := r.now()
	n := api.Node{Name: g.Node, Pool: g.Pool, Ready: g.Ready, Reason: g.Reason, Version: g.Version,
		Fingerprint: g.Fingerprint,
		Slots:       g.Slots, Languages: g.Languages, ClockOffset: int64(g.Time.Sub(now)), SeenAt: now,
		Prefetch: g.Prefetch}
	if n.Languages == nil {
		var err error
		if n.Languages, err = r.languagesOf(ctx, n.Name); err != nil {
			return api.NodeCommands{}, err
		}
	}
	stored, err := r.join(ctx, g, n)
	if err != nil {
		return api.NodeCommands{}, err
	}
	if !stored && r.changed(n) {
		if err := r.values.SetValue(ctx, n, nodeValue, n.Name); err != nil {
			return api.NodeCommands{}, err
		}
		stored = true
	}
	if stored {
		r.remember(n)
	}
	states, err := r.nodeStates(ctx)
	if err != nil {
		return api.NodeCommands{}, err
	}
	prefetch, err := r.pendingPrefetch(ctx, g)
	return api.NodeCommands{Drained: states.drained[g.Node], KeptOut: keptOut(g.Pool, states.differs(g.Node)),
		HardwareKnown: true, KernelsKnown: true, Prefetch: prefetch}, err
}

// languagesOf returns the languages that a node had when any front last stored it.
func (r *Registry) languagesOf(ctx context.Context, name string) ([]api.LanguageStatus, error) {
	var old nodeRecord
	_, err := r.values.Value(ctx, &old, nodeValue, name)
	return old.Languages, err
}

// remember records that a node was stored.
func (r *Registry) remember(n api.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.stored[n.Name]
	r.stored[n.Name] = n
	if !known || old.Pool != n.Pool || !slices.EqualFunc(old.Languages, n.Languages, sameLanguage) {
		r.view.Forget()
	}
}

// changed reports whether a node must be stored.
func (r *Registry) changed(n api.Node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.stored[n.Name]
	return !known || n.SeenAt.Sub(old.SeenAt) >= writeEvery || old.Pool != n.Pool || old.Ready != n.Ready ||
		old.Reason != n.Reason || old.Version != n.Version || old.Fingerprint != n.Fingerprint ||
		!slices.Equal(old.Slots, n.Slots) || !slices.EqualFunc(old.Languages, n.Languages, sameLanguage) ||
		n.Prefetch != nil && (old.Prefetch == nil || *old.Prefetch != *n.Prefetch)
}

func sameLanguage(a, b api.LanguageStatus) bool {
	return a.ID == b.ID && a.Available == b.Available && a.Version == b.Version &&
		(a.Start == nil) == (b.Start == nil) && slices.Equal(a.CompileOptions, b.CompileOptions)
}

// ListLanguages returns the languages of all nodes. A language is available if a node has it; its version is that of
// the first such node.
func (r *Registry) ListLanguages(ctx context.Context) ([]api.LanguageStatus, error) {
	nodes, err := r.Nodes(ctx)
	byID := map[string]api.LanguageStatus{}
	for _, n := range nodes {
		for _, l := range n.Languages {
			if known, ok := byID[l.ID]; !ok || l.Available && !known.Available {
				byID[l.ID] = l
			}
		}
	}
	list := []api.LanguageStatus{}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, byID[id])
	}
	return list, err
}

// Drained reports whether a node gets no jobs, because an operator has drained it or because it differs from its pool.
func (r *Registry) Drained(ctx context.Context, name string) (bool, error) {
	states, err := r.nodeStates(ctx)
	return err == nil && (states.drained[name] || len(states.differs(name)) > 0), err
}

// SetDrained takes a node out of use or returns it to use. Running jobs end first.
func (r *Registry) SetDrained(ctx context.Context, name string, drained bool) error {
	if _, err := r.node(ctx, name); err != nil {
		return err
	}
	if err := r.values.SetValue(ctx, drained, jobs.OperatorValues, drainValue, name); err != nil {
		return err
	}
	r.states.Forget()
	return nil
}

// Forget removes a node that is down from the list, as forgetAfter does, until it registers again. Settings of operators
// stay: a node that was drained because its times deviate must not judge because it was forgotten.
func (r *Registry) Forget(ctx context.Context, name string) error {
	n, err := r.node(ctx, name)
	if err != nil {
		return err
	}
	if n.Up {
		return fmt.Errorf("node %q is up, stop judged there and wait %v: %w", name, downAfter, api.ErrNodeInUse)
	}
	n.SeenAt = time.Time{}
	if err := r.values.SetValue(ctx, n, nodeValue, name); err != nil {
		return err
	}
	r.view.Forget()
	return nil
}

// Nodes returns the nodes, sorted by pool and name.
func (r *Registry) Nodes(ctx context.Context) ([]api.Node, error) {
	states, err := r.nodeStates(ctx)
	if err != nil {
		return nil, err
	}
	deviations, err := r.deviations(ctx)
	if err != nil {
		return nil, err
	}
	nodes := []api.Node{}
	err = r.values.Values(ctx, func(_ string, value []byte) error {
		var n nodeRecord
		if err := json.Unmarshal(value, &n); err != nil {
			return fmt.Errorf("decode a node: %w", err)
		}
		silent := r.now().Sub(n.SeenAt)
		n.Up, n.Drained, n.Deviation = silent < downAfter, states.drained[n.Name], deviations[n.Name]
		n.Differs = states.differs(n.Name)
		n.Admitted = n.Fingerprint != "" && states.admitted[n.Name] == n.Fingerprint
		if silent < forgetAfter {
			nodes = append(nodes, n.Node)
		}
		return nil
	}, nodeValue)
	slices.SortFunc(nodes, func(a, b api.Node) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name))
	})
	return nodes, err
}

// FingerprintOf returns the fingerprint that a node has registered, or "" for an unknown node. If it equals the claimed
// one, the store is not read.
func (r *Registry) FingerprintOf(ctx context.Context, name, claimed string) (string, error) {
	r.mu.Lock()
	known, found := r.stored[name]
	r.mu.Unlock()
	if found && known.Fingerprint == claimed {
		return claimed, nil
	}
	var n nodeRecord
	_, err := r.values.Value(ctx, &n, nodeValue, name)
	return n.Fingerprint, err
}

// Ready returns the reason why no node judges, or nil.
func (r *Registry) Ready(ctx context.Context) error {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Judging() {
			return nil
		}
	}
	return fmt.Errorf("of %d judge nodes none is up, ready, not drained and in its pool; judged nodes lists them",
		len(nodes))
}

func (r *Registry) deviations(ctx context.Context) (map[string]*api.Deviation, error) {
	return r.known.Get(ctx, r.now, deviationFor, func(ctx context.Context) (map[string]*api.Deviation, error) {
		all := map[string]*api.Deviation{}
		return all, readValues(ctx, r.values, all, deviationValue)
	})
}

// SetDeviation stores the result of audits for a node, and extends the stored history.
func (r *Registry) SetDeviation(ctx context.Context, name string, d api.Deviation) error {
	all, err := r.deviations(ctx)
	if err != nil {
		return err
	}
	d.History = []api.DeviationEstimate{}
	if before := all[name]; before != nil {
		for _, e := range before.History {
			if d.At.Sub(e.At) < historyFor {
				d.History = append(d.History, e)
			}
		}
	}
	if n := len(d.History); n == 0 || d.At.Sub(d.History[n-1].At) >= historyEvery {
		d.History = append(d.History, api.DeviationEstimate{At: d.At, Ratio: d.Ratio})
	}
	if err := r.values.SetValue(ctx, d, deviationValue, name); err != nil {
		return err
	}
	r.known.Forget()
	return nil
}
