package front

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"judged/internal/api/hosts"

	"judged/internal/api"

	"judged/internal/jobs"
)

// membersValue are, by pool, the names of nodes that new ones are compared with: at most mostAlike of each hardware. So
// joining costs the same in a pool of any size.
const membersValue = "pool-members"

// mostAlike is how many nodes of the same hardware a node is compared with. The median of their times is as good as that
// of all.
const mostAlike = 9

// storedNode is what the values say about a node.
type storedNode struct {
	name     string
	node     *api.Node // nil before it has registered
	hardware map[string]string
	kernels  *api.KernelTimes
	differs  []api.NodeDifference
	admitted *string // by an operator: its fingerprint then
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

// readNodes reads nodes, and another value if it has a name.
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

// member reports whether it is a node of a pool, by itself or because an operator has admitted it.
func (r *Registry) member(s storedNode, pool string) bool {
	return s.node != nil && s.node.Pool == pool && len(s.differs) == 0 && r.now().Sub(s.node.SeenAt) < forgetAfter
}

// example reports whether new nodes of a pool are compared with it.
func (r *Registry) example(s storedNode, pool string) bool {
	return r.member(s, pool) && len(s.hardware) > 0 && !s.byHand(s.node.Fingerprint)
}

// byHand reports whether an operator has admitted it with a fingerprint.
func (s storedNode) byHand(sum string) bool {
	return s.admitted != nil && sum != "" && *s.admitted == sum
}

func alike(a, b storedNode) bool {
	return len(hosts.Differences(a.hardware, b.hardware, hosts.OfJudged())) == 0
}

// join decides whether a node is in its pool, and reports whether it has stored it: it has the hardware of a node that is
// and needs the same time for reference kernels, or an operator has admitted it, or there is no other to compare it
// with. It is called with every registration, and has something to decide when a node sends what it is compared by, or
// was kept out before. What is sent again is stored again, because the store forgets values that are not set for long.
// A node that is in the pool stays, whatever changes: a new kernel goes from host to host. The first times that it
// ever sends are an exception: where all nodes of a pool are new, they come after it has joined.
//
// It reads and writes in one transaction under a lock of the pool, so that of nodes that join together each one is
// compared with those before it.
func (r *Registry) join(ctx context.Context, g api.Registration, n api.Node) (stored bool, err error) {
	states, err := r.nodeStates(ctx)
	if err != nil || g.Hardware == nil && g.Kernels == nil && len(states.differs(g.Node)) == 0 {
		return false, err
	}
	// One at a time, so that those that wait for the lock do not use up the connections of this front.
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
	self, firstTimes, err := keep(ctx, tx, g, before)
	if err != nil {
		return nil, err
	}
	self.node = &n
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
	// One that is kept out sets the value again whenever it sends its hardware, so that it is not forgotten.
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

// keep stores what a node has sent to be compared by, and returns what is known of it then. firstTimes is true for the
// first times of reference kernels that it sends. While it measures them again, those of before stay.
func keep(ctx context.Context, tx jobs.ValuesTx, g api.Registration, before storedNode) (
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

// measured reports whether it has times of reference kernels.
func (s storedNode) measured() bool { return s.kernels != nil && len(s.kernels.CPUTime) > 0 }

// examples returns the nodes that self is compared with. Where the last one of some hardware is gone, it looks for
// others among all nodes.
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
	nodes, hardware := map[string]*api.Node{}, map[string]map[string]string{}
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

// add adds an example unless there are enough of its hardware; one with times replaces one without.
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

// choose returns the names of the examples from now on.
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

// differences compares a node with the example whose hardware is most alike. Where others have the same hardware, it
// compares it by times with them, and that is all that it compares a member by.
func differences(self storedNode, examples []storedNode, member bool) []api.NodeDifference {
	var closest []api.NodeDifference
	var timed []*api.KernelTimes // of nodes with equal hardware
	equal := false
	for _, e := range examples {
		found := hosts.Differences(self.hardware, e.hardware, hosts.OfJudged())
		switch {
		case len(found) > 0 && (closest == nil || len(found) < len(closest)):
			closest = differencesOf(found)
		case len(found) == 0:
			equal = true
			timed = append(timed, e.kernels)
		}
	}
	if !equal && !member {
		return closest
	}
	return apart(self.kernels, timed, hosts.Virtual(self.hardware))
}
