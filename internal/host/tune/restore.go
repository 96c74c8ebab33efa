package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// Restore restores the values in the journal in reverse order. It reports but does not change values that
// somebody has changed since, and threads that inherited their CPUs. Values that the kernel rejects stay in the
// journal for a later attempt.
func Restore(ctx context.Context, o Options) (Report, error) {
	t, unlock, err := begin(o)
	if err != nil {
		return Report{}, err
	}
	r, err := t.restore(ctx)
	return r, errors.Join(err, unlock())
}

// Status compares the journal with the host. It changes nothing, not even a journal of another boot.
func Status(ctx context.Context, o Options) (Report, error) {
	return (&tuner{o: o, store: file{o.Journal}}).status(ctx)
}

func (t *tuner) restore(ctx context.Context) (Report, error) {
	r, j, err := t.open(ctx, "restore")
	if err != nil {
		return r, err
	}
	byKnob := map[string][]Value{}
	partitioned, n := j.partitioned(), j.inheritors(t.o.Only)
	for _, e := range slices.Backward(slices.Clone(j.Entries)) {
		if len(t.o.Only) > 0 && !slices.Contains(t.o.Only, e.Setting) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return r, errors.Join(err, t.save(j))
		}
		if e.Kind == affinity && partitioned {
			byKnob[e.Setting] = append(byKnob[e.Setting],
				Value{Path: e.Path, From: e.wanted(), To: e.Old, State: Failed,
					Reason: "the partition still exists, and its removal would overwrite this"})
			continue
		}
		byKnob[e.Setting] = append(byKnob[e.Setting], t.restoreEntry(e, j))
		if e.Kind == partition {
			partitioned = j.partitioned()
		}
	}
	if !partitioned {
		err = t.listInheritors(ctx, n, byKnob)
	}
	r.gather(byKnob)
	return r, errors.Join(err, t.save(j))
}

func (t *tuner) restoreEntry(e entry, j *journal) Value {
	v := Value{Path: e.Path, From: e.wanted(), To: e.Old}
	now, err := value(t.o.FS, e)
	switch {
	case err == nil && now == e.Old:
		j.markRemoved(e.place())
		v.State = Restored
		return v
	case err == nil && !e.owns(now):
		j.markRemoved(e.place())
		v.State, v.From, v.Reason = Left, now, "somebody changed it since; it was "+quoted(e.Old)+" before tune"
		return v
	case err == nil:
		v.From = now
		now, err = t.set(e, e.Old)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.markRemoved(e.place())
		v.State = Gone
	case err != nil:
		v.State, v.Reason = Failed, cause(err)
	case now == e.Old || e.Kind == affinity && t.sameOnline(now, e.Old):
		j.markRemoved(e.place())
		v.State = Restored
	default:
		j.at(e.place()).learn(now)
		v.State, v.Reason = Failed, "the kernel reads "+quoted(now)
	}
	return v
}

// sameOnline compares two affinities without offline CPUs, which the kernel removes when an affinity is set.
func (t *tuner) sameOnline(a, b string) bool {
	one, err1 := t.online(a)
	two, err2 := t.online(b)
	return errors.Join(err1, err2) == nil && slices.Equal(one, two)
}

// online returns the online CPUs of a list.
func (t *tuner) online(list string) (cpuset.Set, error) {
	text, err := t.o.FS.Read("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	online, err1 := cpuset.Parse(text)
	set, err2 := cpuset.Parse(list)
	return set.Intersect(online), errors.Join(err1, err2)
}

func quoted(s string) string { return `"` + s + `"` }

// open reads the journal for a report. If it is missing or belongs to another boot, open returns an empty
// journal and adds a note.
func (t *tuner) open(ctx context.Context, action string) (Report, *journal, error) {
	r := Report{Schema: schema, Action: action, Done: true, Settings: []Setting{}}
	if _, err := selectKnobs(t.o.Only); err != nil {
		return r, nil, err
	}
	v := &view{Host: settings.Host{FS: t.o.FS}, mount: cpusetMount(t.o.FS)}
	j, note, err := t.load(v)
	if err != nil {
		return r, nil, err
	}
	if len(j.Entries) == 0 && note == "" {
		note = fmt.Sprintf("no setting is applied by %q; apply may have had another tune.journal", t.o.Journal)
	}
	r.Note, r.CPUs = note, j.CPUs
	return r, j, ctx.Err()
}

// gather appends settings in the order of IDs.
func (r *Report) gather(byKnob map[string][]Value) {
	for _, k := range knobs() {
		if values := byKnob[k.ID]; len(values) > 0 {
			s := k.describe(proposal{})
			s.Values = values
			r.add(s)
		}
	}
}

func (t *tuner) status(ctx context.Context) (Report, error) {
	r, j, err := t.open(ctx, "status")
	if err != nil {
		return r, err
	}
	reserved, err := t.online(j.CPUs)
	if err != nil {
		return r, err
	}
	byKnob, all := map[string][]Value{}, knobs()
	for _, e := range j.Entries {
		if len(t.o.Only) > 0 && !slices.Contains(t.o.Only, e.Setting) || t.o.Quiet && e.loud(all) || e.witness() {
			continue
		}
		byKnob[e.Setting] = append(byKnob[e.Setting], t.compare(e, reserved))
	}
	r.gather(byKnob)
	var absent []string
	for _, id := range t.o.Only {
		if len(byKnob[id]) == 0 {
			absent = append(absent, id)
		}
	}
	if len(absent) > 0 && r.Note == "" {
		r.Note = "not applied: " + strings.Join(absent, ", ")
	}
	// Done means that values are in force, so it is false if there are none.
	r.Done = r.Done && len(j.Entries) > 0 && len(absent) == 0
	return r, nil
}

// witness reports whether the entry is an affinity that tune did not write.
func (e entry) witness() bool { return e.Kind == affinity && e.Setting == "sched-isolated" }

// loud reports whether an entry is too expensive to be read every minute.
func (e entry) loud(all []knob) bool {
	if e.Kind == affinity {
		return true
	}
	return slices.ContainsFunc(all, func(k knob) bool {
		return slices.ContainsFunc(k.Values, func(v settings.Value) bool { return v.Wakes && v.Matches(e.Path) })
	})
}

func (t *tuner) compare(e entry, reserved cpuset.Set) Value {
	v := Value{Path: e.Path, From: e.Old, To: e.wanted()}
	now, err := value(t.o.FS, e)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.State = Gone
	case err != nil:
		v.State, v.Reason = Failed, cause(err)
	case now == e.wanted() || e.Kind == affinity && offCPUs(now, reserved):
		v.State = Set
	case now == e.Old:
		v.State, v.Reason = Old, "it has its old value"
	default:
		v.State, v.Reason = Drifted, "it reads "+quoted(now)
	}
	return v
}

// offCPUs reports whether an affinity contains no reserved CPU. Kernels before 6.2 widen affinities when a
// partition is created, but never by its CPUs.
func offCPUs(now string, reserved cpuset.Set) bool {
	set, err := cpuset.Parse(now)
	return err == nil && !set.Overlaps(reserved)
}
