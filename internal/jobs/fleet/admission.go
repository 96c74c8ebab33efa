package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/host/fingerprint"
	"judged/internal/jobs"
)

// The names of the values of admissions, which are by node.
const (
	hardwareValue = "node-hardware" // what the node last said of itself
	kernelsValue  = "node-kernels"  // the last times of reference kernels that it has sent
	keptOutValue  = "node-kept-out" // how it differs from its pool
	admittedValue = "node-admitted" // by an operator: the fingerprint that was admitted
)

// Difference is something that times depend on, or a time, that a node does not have in common with its pool.
type Difference struct {
	Member string `json:"member"` // of the fingerprint, such as kernel
	Node   string `json:"node"`   // its value there; "" if it is missing
	Pool   string `json:"pool"`   // the value of the node of the pool that is most alike; of a time the median
}

// maxShown bounds the values in a message, in bytes.
const maxShown = 60

func (d Difference) String() string {
	return fmt.Sprintf("%s: %.*q, in the pool %.*q", d.Member, maxShown, d.Node, maxShown, d.Pool)
}

// keptOut is why a node with differences gets no jobs.
func keptOut(pool string, all []Difference) string {
	switch {
	case len(all) == 0:
		return ""
	case slices.Equal(all, measuring()):
		return fmt.Sprintf("it measures the reference kernels that it is compared with pool %q by, about a minute for each "+
			"slot; wait, or admit it by judged nodes admit", pool)
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("it differs from pool %q (%s%s); make it like the others, or admit it by judged nodes admit", pool,
		all[0], more)
}

// measuring is the difference of a node that is to be compared by times that it does not have yet.
func measuring() []Difference {
	return []Difference{{Member: "reference kernels", Node: "being measured", Pool: "measured"}}
}

// join decides whether a node is in its pool: it has the hardware of a node that is and needs the same time for reference
// kernels, or an operator has admitted it, or there is no other to compare it with. It is called with every
// registration, and has something to decide when a node sends what it is compared by, or was kept out before. What is
// sent again is stored again, because the store forgets values that are not set for long. A node that
// is in the pool stays, whatever changes: a new kernel goes from host to host. The first times that it ever
// sends are an exception: where all nodes of a pool are new, they come after it has joined.
func (r *Registry) join(ctx context.Context, g Registration) error {
	firstTimes, err := r.keep(ctx, g)
	if err != nil {
		return err
	}
	states, err := r.nodeStates(ctx)
	if err != nil {
		return err
	}
	before, wasOut := states.keptOut[g.Node]
	if g.Hardware == nil && !firstTimes && !wasOut {
		return nil
	}
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return err
	}
	var differs []Difference
	admitted, byHand := states.admitted[g.Node]
	member := slices.ContainsFunc(nodes, func(n Node) bool {
		return n.Name == g.Node && n.Pool == g.Pool && len(n.Differs) == 0 && !byHand
	})
	if (firstTimes || !member) && (!byHand || admitted != g.Fingerprint) {
		if differs, err = r.differences(ctx, nodes, g, member); err != nil {
			return err
		}
	}
	if slices.Equal(before, differs) && (len(differs) == 0 || g.Hardware == nil) {
		return nil
	}
	return r.setKeptOut(ctx, g.Node, differs)
}

// keep stores what a node has sent to be compared by. firstTimes is true for the first times of reference kernels that
// it sends. While it measures them again, those of before stay.
func (r *Registry) keep(ctx context.Context, g Registration) (firstTimes bool, err error) {
	if g.Hardware != nil {
		if err := r.values.SetValue(ctx, g.Hardware, hardwareValue, g.Node); err != nil {
			return false, err
		}
	}
	if g.Kernels == nil {
		return false, nil
	}
	all := map[string]*fingerprint.Kernels{}
	if err := readValues(ctx, r.values, all, kernelsValue); err != nil {
		return false, err
	}
	old := all[g.Node]
	measuredBefore := old != nil && len(old.CPUTime) > 0
	measured := len(g.Kernels.CPUTime) > 0
	if measuredBefore && !measured {
		return false, nil
	}
	return measured && !measuredBefore, r.values.SetValue(ctx, g.Kernels, kernelsValue, g.Node)
}

func (r *Registry) setKeptOut(ctx context.Context, node string, differs []Difference) error {
	if err := r.values.SetValue(ctx, differs, keptOutValue, node); err != nil {
		return err
	}
	r.forgetStates()
	return nil
}

// differences compares a node with the one of its pool whose hardware is most alike. Where others have the same hardware,
// it compares it by times with all of them, and that is all that it compares a member by.
func (r *Registry) differences(ctx context.Context, nodes []Node, g Registration, member bool) ([]Difference, error) {
	hardware, kernels := map[string]map[string]string{}, map[string]*fingerprint.Kernels{}
	if err := readValues(ctx, r.values, hardware, hardwareValue); err != nil {
		return nil, err
	}
	if err := readValues(ctx, r.values, kernels, kernelsValue); err != nil {
		return nil, err
	}
	var closest []Difference
	var alike []*fingerprint.Kernels // of nodes with equal hardware
	equal := false
	for _, n := range nodes {
		if n.Pool != g.Pool || n.Name == g.Node || len(n.Differs) > 0 || n.Admitted || len(hardware[n.Name]) == 0 {
			continue
		}
		found := fingerprint.Differences(hardware[g.Node], hardware[n.Name], fingerprint.OfJudged())
		switch {
		case len(found) > 0 && (closest == nil || len(found) < len(closest)):
			closest = differencesOf(found)
		case len(found) == 0:
			equal = true
			alike = append(alike, kernels[n.Name])
		}
	}
	if !equal && !member {
		return closest, nil
	}
	return apart(kernels[g.Node], alike, fingerprint.Virtual(hardware[g.Node])), nil
}

// apart compares the times of a node with the medians of others. Those of another program count no more than missing ones.
func apart(node *fingerprint.Kernels, others []*fingerprint.Kernels, virtual bool) []Difference {
	if node == nil {
		return nil
	}
	others = slices.DeleteFunc(others, func(k *fingerprint.Kernels) bool {
		return k == nil || k.Program != node.Program || len(k.CPUTime) == 0
	})
	switch {
	case len(others) == 0:
		return nil
	case len(node.CPUTime) == 0:
		return measuring()
	}
	return differencesOf(node.Apart(fingerprint.Median(others), fingerprint.BoundsOf(virtual).Fail))
}

func differencesOf(found []fingerprint.Difference) []Difference {
	var all []Difference
	for _, d := range found {
		all = append(all, Difference{Member: d.Name, Node: d.Here, Pool: d.Pool})
	}
	return all
}

// Admit has a node judge in its pool although it differs. Its reports say so. The admission ends when the node has
// another fingerprint.
func (r *Registry) Admit(ctx context.Context, name string) error {
	n, err := r.node(ctx, name)
	if err != nil {
		return err
	}
	if len(n.Differs) == 0 {
		return nil
	}
	if err := r.values.SetValue(ctx, n.Fingerprint, jobs.OperatorValues, admittedValue, name); err != nil {
		return err
	}
	return r.setKeptOut(ctx, name, nil)
}

// Admitted reports whether a node with a fingerprint judges because an operator has admitted it. While the store is
// away, it is what was known before.
func (r *Registry) Admitted(ctx context.Context, name, sum string) (bool, error) {
	states, err := r.nodeStates(ctx)
	if err != nil {
		r.mu.Lock()
		states = r.states
		r.mu.Unlock()
	}
	if states == nil {
		return false, err
	}
	return sum != "" && states.admitted[name] == sum, nil
}

// node finds a node that is listed.
func (r *Registry) node(ctx context.Context, name string) (Node, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return Node{}, err
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, fmt.Errorf("node %q: %w", name, ErrUnknownNode)
	}
	return nodes[i], nil
}

// nodeStates are what keeps nodes from judging, and what lets them.
type nodeStates struct {
	drained  map[string]bool
	keptOut  map[string][]Difference // none are empty
	admitted map[string]string       // fingerprints
}

// nodeStates reads them. Another front's change is noticed within drainedFor.
func (r *Registry) nodeStates(ctx context.Context) (*nodeStates, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.states != nil && r.now().Sub(r.statesRead) < drainedFor {
		return r.states, nil
	}
	s := &nodeStates{drained: map[string]bool{}, keptOut: map[string][]Difference{}, admitted: map[string]string{}}
	err := readValues(ctx, r.values, s.drained, jobs.OperatorValues, drainValue)
	if err == nil {
		err = readValues(ctx, r.values, s.keptOut, keptOutValue)
	}
	if err == nil {
		err = readValues(ctx, r.values, s.admitted, jobs.OperatorValues, admittedValue)
	}
	if err != nil {
		return nil, err
	}
	for name, differs := range s.keptOut {
		if len(differs) == 0 {
			delete(s.keptOut, name)
		}
	}
	r.states, r.statesRead = s, r.now()
	return s, nil
}

// forgetStates has the next caller read them.
func (r *Registry) forgetStates() {
	r.mu.Lock()
	r.statesRead = time.Time{}
	r.mu.Unlock()
}

// readValues decodes all values whose names have a prefix.
func readValues[T any](ctx context.Context, v Values, all map[string]T, prefix ...string) error {
	return v.Values(ctx, func(name string, value []byte) error {
		var x T
		if err := json.Unmarshal(value, &x); err != nil {
			return fmt.Errorf("decode %s: %w", strings.Join(append(prefix, name), " "), err)
		}
		all[name] = x
		return nil
	}, prefix...)
}
