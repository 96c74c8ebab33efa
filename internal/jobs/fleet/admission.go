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
	keptOutValue  = "node-kept-out" // how it differs from its pool
	admittedValue = "node-admitted" // by an operator: the fingerprint that was admitted
)

// Difference is something that times depend on and that a node does not have in common with its pool.
type Difference struct {
	Member string `json:"member"` // of the fingerprint, such as kernel
	Node   string `json:"node"`   // its value there; "" if it is missing
	Pool   string `json:"pool"`   // the value of the node of the pool that is most alike
}

// maxShown bounds the values in a message, in bytes.
const maxShown = 60

func (d Difference) String() string {
	return fmt.Sprintf("%s: %.*q, in the pool %.*q", d.Member, maxShown, d.Node, maxShown, d.Pool)
}

// keptOut is why a node with differences gets no jobs.
func keptOut(pool string, all []Difference) string {
	if len(all) == 0 {
		return ""
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("it differs from pool %q (%s%s); make it like the others, or admit it by judged nodes admit", pool,
		all[0], more)
}

// join decides whether a node that sends its hardware, or was kept out before, is in its pool: it has the hardware of
// a node that is, or an operator has admitted it, or no other has sent any. A node that is in the pool stays, whatever
// changes: a new kernel goes from host to host.
func (r *Registry) join(ctx context.Context, g Registration) error {
	if g.Hardware != nil {
		if err := r.values.SetValue(ctx, g.Hardware, hardwareValue, g.Node); err != nil {
			return err
		}
	}
	states, err := r.nodeStates(ctx)
	if err != nil {
		return err
	}
	before, wasOut := states.keptOut[g.Node]
	if g.Hardware == nil && !wasOut {
		return nil
	}
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return err
	}
	var differs []Difference
	admitted, byHand := states.admitted[g.Node]
	known := func(n Node) bool { return n.Name == g.Node && n.Pool == g.Pool && len(n.Differs) == 0 && !byHand }
	if !slices.ContainsFunc(nodes, known) && (!byHand || admitted != g.Fingerprint) {
		if differs, err = r.differences(ctx, nodes, g); err != nil {
			return err
		}
	}
	if slices.Equal(before, differs) {
		return nil
	}
	return r.setKeptOut(ctx, g.Node, differs)
}

func (r *Registry) setKeptOut(ctx context.Context, node string, differs []Difference) error {
	if err := r.values.SetValue(ctx, differs, keptOutValue, node); err != nil {
		return err
	}
	r.forgetStates()
	return nil
}

// differences compares a node with the one of its pool that is most alike.
func (r *Registry) differences(ctx context.Context, nodes []Node, g Registration) ([]Difference, error) {
	all := map[string]map[string]string{}
	err := r.values.Values(ctx, func(name string, value []byte) error {
		var hardware map[string]string
		err := json.Unmarshal(value, &hardware)
		all[name] = hardware
		return err
	}, hardwareValue)
	if err != nil {
		return nil, fmt.Errorf("read the hardware of nodes: %w", err)
	}
	var closest []Difference
	for _, n := range nodes {
		if n.Pool != g.Pool || n.Name == g.Node || len(n.Differs) > 0 || n.Admitted || len(all[n.Name]) == 0 {
			continue
		}
		var found []Difference
		for _, d := range fingerprint.Differences(all[g.Node], all[n.Name], fingerprint.OfJudged()) {
			found = append(found, Difference{Member: d.Name, Node: d.Here, Pool: d.Pool})
		}
		if len(found) == 0 {
			return nil, nil
		}
		if closest == nil || len(found) < len(closest) {
			closest = found
		}
	}
	return closest, nil
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
