package front

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"judged/internal/api"
	"judged/internal/jobs"
)

// The names of the values for admissions. Each name includes a node.
const (
	hardwareValue = "node-hardware" // hardware that the node last sent
	kernelsValue  = "node-kernels"  // times of reference kernels that the node last sent
	keptOutValue  = "node-kept-out" // differences from its pool
	admittedValue = "node-admitted" // fingerprint that an operator has admitted
)

// keptOut returns the reason why a node with differences gets no jobs.
func keptOut(pool string, all []api.NodeDifference) string {
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

// measuring returns the difference of a node that must be compared by times that it does not have yet.
func measuring() []api.NodeDifference {
	return []api.NodeDifference{{Member: "reference kernels", Node: "being measured", Pool: "measured"}}
}

// apart compares the times of a node with the medians of others. Times of another version of the kernels count as
// missing.
func apart(node *api.KernelTimes, others []*api.KernelTimes, virtual bool) []api.NodeDifference {
	if node == nil {
		return nil
	}
	others = slices.DeleteFunc(others, func(k *api.KernelTimes) bool {
		return k == nil || k.Program != node.Program || len(k.CPUTime) == 0
	})
	switch {
	case len(others) == 0:
		return nil
	case len(node.CPUTime) == 0:
		return measuring()
	}
	return node.Apart(api.MedianTimes(others), api.TimeBoundsOf(virtual).Fail)
}

// Admit lets a node judge in its pool although it differs. Its reports say so. The admission ends when the fingerprint
// of the node changes.
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
	if err := r.values.SetValue(ctx, []api.NodeDifference(nil), keptOutValue, name); err != nil {
		return err
	}
	r.states.Forget()
	return nil
}

// Admitted reports whether a node with a fingerprint judges because an operator has admitted it. While the store is
// unavailable, it returns the last known state.
func (r *Registry) Admitted(ctx context.Context, name, sum string) (bool, error) {
	states, err := r.nodeStates(ctx)
	if err != nil {
		known := false
		if states, known = r.states.Last(); !known {
			return false, err
		}
	}
	return sum != "" && states.admitted[name] == sum, nil
}

// node returns a listed node.
func (r *Registry) node(ctx context.Context, name string) (api.Node, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return api.Node{}, err
	}
	i := slices.IndexFunc(nodes, func(n api.Node) bool { return n.Name == name })
	if i < 0 {
		return api.Node{}, fmt.Errorf("node %q: %w", name, api.ErrUnknownNode)
	}
	return nodes[i], nil
}

// nodeStates are the states that prevent nodes from judging, or allow it.
type nodeStates struct {
	drained  map[string]bool
	keptOut  map[string][]api.NodeDifference // without empty entries
	admitted map[string]string               // node -> fingerprint

	decided *sync.Map // node -> decision, of this front
	read    int64     // number of the read that produced these states
}

// decision is how a node differs from its pool, as decided by this front.
type decision struct {
	differs []api.NodeDifference
	reads   int64 // number of reads of states that had started
}

// differs returns how a node differs from its pool. A read that started before a decision may not include it.
func (s *nodeStates) differs(node string) []api.NodeDifference {
	if found, ok := s.decided.Load(node); ok {
		if d, ok := found.(decision); ok && s.read <= d.reads {
			return d.differs
		}
	}
	return s.keptOut[node]
}

// nodeStates returns the states. It notices a change by another front within drainedFor.
func (r *Registry) nodeStates(ctx context.Context) (*nodeStates, error) {
	return r.states.Get(ctx, r.now, drainedFor, r.readStates)
}

func (r *Registry) readStates(ctx context.Context) (*nodeStates, error) {
	s := &nodeStates{drained: map[string]bool{}, keptOut: map[string][]api.NodeDifference{},
		admitted: map[string]string{}, decided: &r.decided, read: r.reads.Add(1)}
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
	return s, nil
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
