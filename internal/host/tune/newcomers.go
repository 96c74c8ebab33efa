package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A thread that is started while tune is in force inherits the CPUs of whoever starts it: the children of a shell, and
// the services of a systemd, that tune moved. The journal names none of them, so restore looks for them by their CPUs.

// keptThread had the CPUs that tune gives already before tune gave them to anybody: they are its own.
type keptThread struct {
	Path  string `json:"path"`
	Start string `json:"start"`
}

func (k keptThread) place() place { return place{affinity, k.Path, k.Start} }

// movesThreads reports whether the entry is a thread that tune moved by itself; those of the partition are threads that
// the kernel moves.
func (e entry) movesThreads() bool { return e.Kind == affinity && !e.witness() }

// keep notes who has the CPUs already that these changes give. Whoever has CPUs that were given earlier may have them
// from tune.
func (j *journal) keep(all []thread, changes []change) {
	given, changed := map[string]bool{}, map[place]bool{}
	for _, c := range changes {
		given[c.to()] = true
		changed[c.place()] = true
	}
	for _, e := range j.Entries {
		if e.movesThreads() {
			delete(given, e.wanted())
		}
	}
	for _, t := range all {
		k := keptThread{t.dir, t.start}
		if given[t.allowed.String()] && !changed[k.place()] && j.at(k.place()) == nil && !slices.Contains(j.Kept, k) {
			j.Kept = append(j.Kept, k)
		}
	}
}

// newcomers finds threads that have their CPUs from tune although the journal did not name them.
type newcomers struct {
	moved map[place]entry // what the journal had before anything was restored
	kept  map[place]bool
	tried map[place]bool
}

func (j *journal) newcomers(only []string) *newcomers {
	n := &newcomers{moved: map[place]entry{}, kept: map[place]bool{}, tried: map[place]bool{}}
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

// trace gives changes of newcomers the old values that they would have without tune, where those are known: tune is
// applied again, for other CPUs.
func (n *newcomers) trace(all []thread, changes []change) {
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

// restoreRounds bounds how often newcomers are looked for: a thread may start another while it is moved itself.
const restoreRounds = 8

// restoreNewcomers gives newcomers the CPUs that they would have without tune. Those that cannot be moved join the
// journal.
func (t *tuner) restoreNewcomers(ctx context.Context, n *newcomers, j *journal, byKnob map[string][]Value) error {
	if len(n.moved) == 0 {
		return nil
	}
	for range restoreRounds {
		found := n.find(scanThreads(t.o.FS))
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

// newcomer is one with what it would have.
type newcomer struct {
	change
	unknown string // why that cannot be known
}

func (n *newcomers) find(all []thread) []newcomer {
	processes := map[int]thread{}
	for _, t := range all {
		if !strings.Contains(t.dir, "/task/") {
			processes[t.pid] = t
		}
	}
	var found []newcomer
	for _, t := range all {
		p, mask := place{affinity, t.dir, t.start}, t.allowed.String()
		if _, journaled := n.moved[p]; journaled || n.kept[p] || n.tried[p] || t.ours || t.whyFixed() != "" || !n.gave(mask) {
			continue
		}
		n.tried[p] = true
		origin, own := n.origin(t, processes)
		if own {
			continue
		}
		c := newcomer{}
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
			c.unknown = fmt.Sprintf("started while tuned, and tune gave its CPUs to tasks that had %s; set them with taskset -pc CPUS %d",
				strings.Join(were, " and to tasks that had "), t.pid)
		}
		c.entry = entry{Setting: c.Setting, Kind: affinity, Path: t.dir, Start: t.start, Old: c.Old, Ours: []string{mask}}
		c.from, c.name = mask, t.name
		found = append(found, c)
	}
	return found
}

func (n *newcomers) gave(mask string) bool {
	for _, e := range n.moved {
		if e.wanted() == mask {
			return true
		}
	}
	return false
}

// origin is the nearest ancestor that tune gave the same CPUs, the thread's own process first; own is true if a nearer
// one had them by itself.
func (n *newcomers) origin(t thread, processes map[int]thread) (from *entry, own bool) {
	mask, pid := t.allowed.String(), t.pid
	// A number that is given again while they are read could close a circle.
	for range len(processes) + 1 {
		ancestor, ok := processes[pid]
		if !ok {
			return nil, false
		}
		p := place{affinity, ancestor.dir, ancestor.start}
		if e, ok := n.moved[p]; ok && e.wanted() == mask {
			return &e, false
		}
		if n.kept[p] {
			return nil, true
		}
		pid = ancestor.ppid
	}
	return nil, false
}

// olds are entries that were given the mask, one for each old value.
func (n *newcomers) olds(mask string) []entry {
	var all []entry
	for _, e := range n.moved {
		if e.wanted() == mask && !slices.ContainsFunc(all, func(o entry) bool { return o.Old == e.Old }) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Old, b.Old) })
	return all
}
