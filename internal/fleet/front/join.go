package front

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"judged/internal/api"
	"judged/internal/jobs"
)

// membersValue is the name of the list of the nodes of a pool that new ones are compared with: at most mostAlike for
// each kind of hardware. So the cost of joining does not depend on the size of the pool.
const membersValue = "pool-members"

// mostAlike is the number of nodes with the same hardware that a node is compared with. The median of their times is as
// good as that of all.
const mostAlike = 9

// storedNode is the stored state of a node.
type storedNode struct {
	name     string
	node     *nodeRecord // nil if it has not registered
	hardware map[string]string
	kernels  *api.KernelTimes
	differs  []api.NodeDifference
	admitted *string // fingerprint at its admission by an operator
}

// valuesOf is the number of values of a node that joining reads.
const valuesOf = 5

func namesOf(node string) [valuesOf][]string {
	return [...][]string{{nodeValue, node}, {hardwareValue, node}, {kernelsValue, node}, {keptOutValue, node},
		{jobs.OperatorValues, admittedValue, node}}
}

func (s *storedNode) fields() [valuesOf]any {
	return [...]any{&s.node, &s.hardware, &s.kernels, &s.differs, &s.admitted}
}

// readNodes reads nodes, and another value if name is not empty.
func readNodes(ctx context.Context, tx jobs.ValuesTx, nodes []string, other any, name ...string) ([]storedNode, error) {
	all := make([]storedNode, len(nodes))
	var names [][]string
	var fields []any
	for i, node := range nodes {
		all[i].name = node
		of, into := namesOf(node), all[i].fields()
		names, fields = append(names, of[:]...), append(fields, into[:]...)
	}
	if len(name) > 0 {
		names, fields = append(names, name), append(fields, other)
	}
	err := tx.Read(ctx, func(i int, value []byte) error {
		if err := json.Unmarshal(value, fields[i]); err != nil {
			return fmt.Errorf("decode %q: %w", names[i], err)
		}
		return nil
	}, names...)
	return all, err
}

// member reports whether the node belongs to a pool, by itself or because an operator has admitted it.
func (r *Registry) member(s storedNode, pool string) bool {
	return s.node != nil && s.node.Pool == pool && len(s.differs) == 0 && r.now().Sub(s.node.SeenAt) < forgetAfter
}

// example reports whether new nodes of a pool are compared with the node.
func (r *Registry) example(s storedNode, pool string) bool {
	return r.member(s, pool) && len(s.hardware) > 0 && !s.byHand(s.node.Fingerprint)
}

// byHand reports whether an operator has admitted the node with a fingerprint.
func (s storedNode) byHand(sum string) bool {
	return s.admitted != nil && sum != "" && *s.admitted == sum
}

func alike(a, b storedNode) bool {
	return len(api.Differences(a.hardware, b.hardware, api.JudgedMembers())) == 0
}

// join decides whether a node belongs to its pool, and reports whether it has stored the node. A node belongs to its
// pool if it has the hardware of a member and needs the same time for reference kernels, if an operator has admitted
// it, or if there is no other node to compare it with. join is called with every registration. It decides only if the
// node sends data to compare, or was kept out before. Repeated data is stored again, because the store deletes values
// that are not set for long. A member stays in the pool when something changes: a new kernel is rolled out host by host. The
// first times that a member sends are an exception: if all nodes of a pool are new, they send them after they have
// joined.
//
// join reads and writes in one transaction under a lock of the pool, so that nodes that join concurrently are compared
// one after the other.
func (r *Registry) join(ctx context.Context, g api.Registration, n api.Node) (stored bool, err error) {
	states, err := r.nodeStates(ctx)
	if err != nil || g.Hardware == nil && g.Kernels == nil && len(states.differs(g.Node)) == 0 {
		return false, err
	}
	// One at a time, so that nodes that wait for the lock do not use up the connections of this front.
	select {
	case r.joining <- struct{}{}:
		defer func() { <-r.joining }()
	case <-ctx.Done():
		return false, fmt.Errorf("join pool %q: %w", g.Pool, ctx.Err())
	}
	var differs []api.NodeDifference
	err = r.values.ChangeValues(ctx, membersValue+" "+g.Pool, func(ctx context.Context, tx jobs.ValuesTx) (err error) {
		differs, err = r.joinTx(ctx, tx, g, n)
		return err
	})
	if err != nil {
		return false, err
	}
	r.decided.Store(g.Node, decision{differs, r.reads.Load()})
	return true, nil
}

func (r *Registry) joinTx(ctx context.Context, tx jobs.ValuesTx, g api.Registration, n api.Node) ([]api.NodeDifference,
	error) {
	var names []string
	all, err := readNodes(ctx, tx, []string{g.Node}, &names, membersValue, g.Pool)
	if err != nil {
		return nil, err
	}
	before := all[0]
	self, firstTimes, err := storeComparison(ctx, tx, g, before)
	if err != nil {
		return nil, err
	}
	self.node = &nodeRecord{n}
	if g.Hardware == nil && !firstTimes && len(before.differs) == 0 {
		return nil, tx.Set(ctx, n, nodeValue, n.Name)
	}
	examples, err := r.examples(ctx, tx, before, self, names)
	if err != nil {
		return nil, err
	}
	member := before.admitted == nil && r.member(before, g.Pool)
	self.differs = nil
	if (firstTimes || !member) && (before.admitted == nil || *before.admitted != g.Fingerprint) {
		self.differs = differences(self, examples, member)
	}
	// A node that is kept out sets the value again when it sends its hardware, so that it is not deleted.
	if !slices.Equal(before.differs, self.differs) || len(self.differs) > 0 && g.Hardware != nil {
		if err := tx.Set(ctx, self.differs, keptOutValue, g.Node); err != nil {
			return nil, err
		}
	}
	if chosen := r.choose(examples, self); !slices.Equal(chosen, names) {
		if err := tx.Set(ctx, chosen, membersValue, g.Pool); err != nil {
			return nil, err
		}
	}
	return self.differs, tx.Set(ctx, n, nodeValue, n.Name)
}

// storeComparison stores the data that a node has sent for comparison, and returns its resulting state. firstTimes is
// true for its first times of reference kernels. While it measures them again, the previous ones stay.
func storeComparison(ctx context.Context, tx jobs.ValuesTx, g api.Registration, before storedNode) (
	now storedNode, firstTimes bool, err error) {
	now = before
	if g.Hardware != nil {
		now.hardware = g.Hardware
		if err := tx.Set(ctx, g.Hardware, hardwareValue, g.Node); err != nil {
			return now, false, err
		}
	}
	if g.Kernels == nil || before.measured() && len(g.Kernels.CPUTime) == 0 {
		return now, false, nil
	}
	now.kernels = g.Kernels
	return now, now.measured() && !before.measured(), tx.Set(ctx, g.Kernels, kernelsValue, g.Node)
}

// measured reports whether the node has times of reference kernels.
func (s storedNode) measured() bool { return s.kernels != nil && len(s.kernels.CPUTime) > 0 }

// examples returns the nodes that self is compared with. If the last example of some hardware is gone, it searches all
// nodes for others.
func (r *Registry) examples(ctx context.Context, tx jobs.ValuesTx, before, self storedNode, names []string) (
	[]storedNode, error) {
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == self.name })
	all, err := readNodes(ctx, tx, others, nil)
	if err != nil {
		return nil, err
	}
	var there, gone []storedNode
	for _, s := range all {
		if r.example(s, self.node.Pool) {
			there = append(there, s)
		} else {
			gone = append(gone, s)
		}
	}
	if len(others) < len(names) && !alike(before, self) { // it was an example of other hardware
		gone = append(gone, before)
	}
	lost := len(there) == 0 || slices.ContainsFunc(gone, func(g storedNode) bool {
		return !slices.ContainsFunc(there, func(s storedNode) bool { return alike(s, g) })
	})
	if !lost {
		return there, nil
	}
	return r.allExamples(ctx, self)
}

// allExamples chooses examples among all nodes.
func (r *Registry) allExamples(ctx context.Context, self storedNode) (examples []storedNode, err error) {
	nodes, hardware := map[string]*nodeRecord{}, map[string]map[string]string{}
	kernels, differs := map[string]*api.KernelTimes{}, map[string][]api.NodeDifference{}
	admitted := map[string]*string{}
	for _, read := range []func() error{
		func() error { return readValues(ctx, r.values, nodes, nodeValue) },
		func() error { return readValues(ctx, r.values, hardware, hardwareValue) },
		func() error { return readValues(ctx, r.values, kernels, kernelsValue) },
		func() error { return readValues(ctx, r.values, differs, keptOutValue) },
		func() error { return readValues(ctx, r.values, admitted, jobs.OperatorValues, admittedValue) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		s := storedNode{name, nodes[name], hardware[name], kernels[name], differs[name], admitted[name]}
		if name != self.name && r.example(s, self.node.Pool) {
			examples = add(examples, s)
		}
	}
	return examples, nil
}

// add adds an example unless there are enough with its hardware. An example with times replaces one without.
func add(examples []storedNode, s storedNode) []storedNode {
	same, untimed := 0, -1
	for i, e := range examples {
		if alike(e, s) {
			same++
			if !e.measured() {
				untimed = i
			}
		}
	}
	switch {
	case same < mostAlike:
		return append(examples, s)
	case untimed >= 0 && s.measured():
		examples[untimed] = s
	}
	return examples
}

// choose returns the names of the new examples.
func (r *Registry) choose(examples []storedNode, self storedNode) (names []string) {
	examples = slices.Clone(examples)
	if r.example(self, self.node.Pool) {
		examples = add(examples, self)
	}
	for _, e := range examples {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

// differences compares a node with the example whose hardware is most similar. If other nodes have the same hardware,
// it also compares the times with theirs; for a member, it compares nothing else.
func differences(self storedNode, examples []storedNode, member bool) []api.NodeDifference {
	var closest []api.NodeDifference
	var timed []*api.KernelTimes // of nodes with equal hardware
	equal := false
	for _, e := range examples {
		found := api.Differences(self.hardware, e.hardware, api.JudgedMembers())
		switch {
		case len(found) > 0 && (closest == nil || len(found) < len(closest)):
			closest = found
		case len(found) == 0:
			equal = true
			timed = append(timed, e.kernels)
		}
	}
	if !equal && !member {
		return closest
	}
	return apart(self.kernels, timed, api.IsVirtual(self.hardware))
}
