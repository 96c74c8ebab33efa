package tune

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/host/proc"
)

// A thread that is started while tune is in force inherits the CPUs of its parent: a child of a shell, or a service
// of a systemd, that tune moved. The journal does not name it. Restore lists it, and does not touch it.

// keptThread had its CPUs before tune gave the same ones to any thread.
type keptThread struct {
	Path  string `json:"path"`
	Start string `json:"start"`
}

func (k keptThread) place() place { return place{affinity, k.Path, k.Start} }

// movesThreads reports whether the entry is a thread that tune moved; those of the partition are moved by the kernel.
func (e entry) movesThreads() bool { return e.Kind == affinity && !e.witness() }

// keep notes the threads that already have the CPUs that these changes give. A thread with CPUs that an earlier apply
// gave may have inherited them.
func (j *journal) keep(all []proc.Thread, changes []change) {
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

// inheritors finds threads that have their CPUs from tune although the journal does not name them.
type inheritors struct {
	moved map[place]entry // the journal before anything was restored
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

// trace gives changes of inheritors the old values that they would have without tune, where those are known, when
// tune is applied again for other CPUs.
func (n *inheritors) trace(all []proc.Thread, changes []change) {
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

// listInheritors adds to a report the threads that still have CPUs of tune from an ancestor. Restore leaves them alone:
// nobody can know whether one of them was given its CPUs by somebody else.
func (t *tuner) listInheritors(ctx context.Context, n *inheritors, byKnob map[string][]Value) error {
	if len(n.moved) == 0 {
		return nil
	}
	threads, err := proc.Threads(ctx, t.o.FS)
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

// find finds threads that have the CPUs that tune gave to an ancestor of theirs, with the CPUs that the ancestor had
// before.
func (n *inheritors) find(all []proc.Thread) []change {
	processes := map[int]proc.Thread{}
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

// origin is the nearest ancestor that tune gave the same CPUs, the thread's own process first; nil without one, or where a
// nearer one had them before tune.
func (n *inheritors) origin(t proc.Thread, processes map[int]proc.Thread) *entry {
	mask, pid := t.Allowed.String(), t.PID
	// A pid that is reused during the scan could close a circle.
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
