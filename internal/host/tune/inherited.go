package tune

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/host/hostfs"
)

// A thread that starts while tune is applied inherits the CPUs of its parent, for example of a shell or systemd
// that tune has moved. The journal does not contain it. Restore lists such threads but does not change them.

// keptThread is a thread that had its CPUs before tune set the same ones for any thread.
type keptThread struct {
	Path  string `json:"path"`
	Start string `json:"start"`
}

func (k keptThread) place() place { return place{affinity, k.Path, k.Start} }

// movesThreads reports whether the entry is a thread that tune moved. The kernel moves those of the partition.
func (e entry) movesThreads() bool { return e.Kind == affinity && !e.witness() }

// recordInherited adds to the journal the threads that already have the CPUs that changes would set. Threads with
// CPUs of an earlier apply may have inherited them.
func (j *journal) recordInherited(all []hostfs.Thread, changes []change) {
	given, changed := map[string]bool{}, map[place]bool{}
	for _, c := range changes {
		given[c.wanted()] = true
		changed[c.place()] = true
	}
	for _, e := range j.Entries {
		if e.movesThreads() {
			delete(given, e.wanted())
		}
	}
	for _, t := range all {
		k := keptThread{t.Dir, t.Start}
		if given[t.Allowed.String()] && !changed[k.place()] && j.at(k.place()) == nil && !slices.Contains(j.Kept, k) {
			j.Kept = append(j.Kept, k)
		}
	}
}

// inheritors finds threads that inherited their CPUs from threads moved by tune and are not in the journal.
type inheritors struct {
	moved map[place]entry // the journal before Restore
	kept  map[place]bool
}

func (j *journal) inheritors(only []string) *inheritors {
	n := &inheritors{moved: map[place]entry{}, kept: map[place]bool{}}
	for _, e := range j.Entries {
		if e.movesThreads() && (len(only) == 0 || slices.Contains(only, e.Setting)) {
			n.moved[e.place()] = e
		}
	}
	for _, k := range j.Kept {
		n.kept[k.place()] = true
	}
	return n
}

// trace sets the old values of inheritors in changes to those that they would have without tune, if known. It
// is needed when tune is applied again for other CPUs.
func (n *inheritors) trace(all []hostfs.Thread, changes []change) {
	olds := map[place]string{}
	for _, c := range n.find(all) {
		olds[c.place()] = c.Old
	}
	for i, c := range changes {
		if old, ok := olds[c.place()]; ok {
			changes[i].Old = old
		}
	}
}

// listInheritors adds to a report the threads that inherited CPUs set by tune. Restore does not change them,
// because somebody else may have set the CPUs of one of them.
func (t *tuner) listInheritors(ctx context.Context, n *inheritors, byKnob map[string][]Value) error {
	if len(n.moved) == 0 {
		return nil
	}
	threads, err := hostfs.Threads(ctx, t.o.FS)
	if err != nil {
		return err
	}
	for _, c := range n.find(threads) {
		byKnob[c.Setting] = append(byKnob[c.Setting], Value{Path: c.Path, Name: c.name, From: c.from, State: Inherited,
			Reason: fmt.Sprintf("started while tuned; without tune it would have %s: taskset -pc %s %s", c.Old, c.Old,
				path.Base(c.Path))})
	}
	return nil
}

// find finds threads with the same CPUs as tune set for one of their ancestors, and returns the ancestor's
// previous CPUs.
func (n *inheritors) find(all []hostfs.Thread) []change {
	processes := map[int]hostfs.Thread{}
	for _, t := range all {
		if !strings.Contains(t.Dir, "/task/") {
			processes[t.PID] = t
		}
	}
	var found []change
	for _, t := range all {
		p, mask := place{affinity, t.Dir, t.Start}, t.Allowed.String()
		if _, journaled := n.moved[p]; journaled || n.kept[p] || t.Ours || whyFixed(t) != "" || !n.gave(mask) {
			continue
		}
		if from := n.origin(t, processes); from != nil {
			found = append(found, change{entry: entry{Setting: from.Setting, Kind: affinity, Path: t.Dir, Start: t.Start,
				Old: from.Old, Ours: []string{mask}}, from: mask, name: t.Name})
		}
	}
	return found
}

func (n *inheritors) gave(mask string) bool {
	for _, e := range n.moved {
		if e.wanted() == mask {
			return true
		}
	}
	return false
}

// origin returns the nearest ancestor for which tune set the same CPUs, starting with the thread's own process.
// It returns nil without such an ancestor, or if a nearer one had these CPUs before tune.
func (n *inheritors) origin(t hostfs.Thread, processes map[int]hostfs.Thread) *entry {
	mask, pid := t.Allowed.String(), t.PID
	// The loop is bounded, because a pid reused during the scan could create a cycle.
	for range processes {
		ancestor, ok := processes[pid]
		if !ok {
			return nil
		}
		p := place{affinity, ancestor.Dir, ancestor.Start}
		if e, ok := n.moved[p]; ok && e.wanted() == mask {
			return &e
		}
		if n.kept[p] {
			return nil
		}
		pid = ancestor.PPID
	}
	return nil
}
