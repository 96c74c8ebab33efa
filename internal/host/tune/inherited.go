package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"judged/internal/host/proc"
)

// A thread that is started while tune is in force inherits the CPUs of its parent: a child of a shell, or a service
// of a systemd, that tune moved. The journal does not name it, so restore finds it by its CPUs.

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
	tried map[place]bool
}

func (j *journal) inheritors(only []string) *inheritors {
	n := &inheritors{moved: map[place]entry{}, kept: map[place]bool{}, tried: map[place]bool{}}
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
		if c.unknown == "" {
			olds[c.place()] = c.Old
		}
	}
	for i, c := range changes {
		if old, ok := olds[c.place()]; ok {
			changes[i].Old = old
		}
	}
}

// restoreRounds bounds the searches: a thread may start another one while it is moved itself.
const restoreRounds = 8

// restoreInheritors gives inheritors the CPUs that they would have without tune. Those that cannot be moved are added
// to the journal.
func (t *tuner) restoreInheritors(ctx context.Context, n *inheritors, j *journal, byKnob map[string][]Value) error {
	if len(n.moved) == 0 {
		return nil
	}
	for range restoreRounds {
		threads, err := proc.Threads(ctx, t.o.FS)
		if err != nil {
			return err
		}
		found := n.find(threads)
		if len(found) == 0 {
			break
		}
		for _, c := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			v := Value{Path: c.Path, From: c.from, State: Left, Reason: c.unknown}
			if c.unknown == "" {
				j.add(c.change)
				v = t.restoreEntry(c.entry, j)
			}
			if v.Name = c.name; v.State == Restored {
				v.Reason = "started while tuned"
			}
			if v.State != Gone {
				byKnob[c.Setting] = append(byKnob[c.Setting], v)
			}
		}
	}
	return nil
}

// inheritor is one with the CPUs that it would have without tune.
type inheritor struct {
	change
	unknown string // why that cannot be known
}

func (n *inheritors) find(all []proc.Thread) []inheritor {
	processes := map[int]proc.Thread{}
	for _, t := range all {
		if !strings.Contains(t.Dir, "/task/") {
			processes[t.PID] = t
		}
	}
	var found []inheritor
	for _, t := range all {
		p, mask := place{affinity, t.Dir, t.Start}, t.Allowed.String()
		if _, journaled := n.moved[p]; journaled || n.kept[p] || n.tried[p] || t.Ours || whyFixed(t) != "" ||
			!n.gave(mask) {
			continue
		}
		n.tried[p] = true
		origin, own := n.origin(t, processes)
		if own {
			continue
		}
		c := inheritor{}
		switch olds := n.olds(mask); {
		case origin != nil:
			c.entry = *origin
		case len(olds) == 1:
			c.entry = olds[0]
		default:
			c.entry = entry{Setting: olds[0].Setting}
			var were []string
			for _, e := range olds {
				were = append(were, e.Old)
			}
			c.unknown = fmt.Sprintf("started while tuned, and tune gave its CPUs to tasks that had %s; set them with "+
				"taskset -pc CPUS %d",
				strings.Join(were, " and to tasks that had "), t.PID)
		}
		c.entry = entry{Setting: c.Setting, Kind: affinity, Path: t.Dir, Start: t.Start, Old: c.Old,
			Ours: []string{mask}}
		c.from, c.name = mask, t.Name
		found = append(found, c)
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

// origin is the nearest ancestor that tune gave the same CPUs, the thread's own process first; own is true if a nearer
// one had them before tune.
func (n *inheritors) origin(t proc.Thread, processes map[int]proc.Thread) (from *entry, own bool) {
	mask, pid := t.Allowed.String(), t.PID
	// A pid that is reused during the scan could close a circle.
	for range processes {
		ancestor, ok := processes[pid]
		if !ok {
			return nil, false
		}
		p := place{affinity, ancestor.Dir, ancestor.Start}
		if e, ok := n.moved[p]; ok && e.wanted() == mask {
			return &e, false
		}
		if n.kept[p] {
			return nil, true
		}
		pid = ancestor.PPID
	}
	return nil, false
}

// olds are entries that were given the mask, one for each old value.
func (n *inheritors) olds(mask string) []entry {
	var all []entry
	for _, e := range n.moved {
		if e.wanted() == mask && !slices.ContainsFunc(all, func(o entry) bool { return o.Old == e.Old }) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Old, b.Old) })
	return all
}
