package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// tuner is the state of one Apply, Status or Restore.
type tuner struct {
	o      Options
	writer writer
	store  store
}

// Apply sets the values that differ from the catalogue and reports on each. Values that the kernel rejects are
// in the report and are not an error. An error means that Apply had to stop; the journal then contains the
// values set so far.
func Apply(ctx context.Context, o Options) (Report, error) {
	t, unlock, err := begin(o)
	if err != nil {
		return Report{}, err
	}
	r, err := t.apply(ctx)
	return r, errors.Join(err, unlock())
}

// begin locks the journal.
func begin(o Options) (*tuner, func() error, error) {
	f := file{o.Journal}
	held, err := f.lock()
	if err != nil {
		return nil, nil, err
	}
	return &tuner{o: o, writer: live{o.FS}, store: f}, held.Close, nil
}

func (t *tuner) apply(ctx context.Context) (Report, error) {
	selected, err := selectKnobs(t.o.Only)
	if err != nil {
		return Report{}, err
	}
	v, err := examine(ctx, t.o)
	if err != nil {
		return Report{}, err
	}
	j, note, err := t.load(v)
	if err != nil {
		return Report{}, err
	}
	r := v.report("apply")
	r.Note = note
	j.CPUs = v.Reserved.String()
	for _, k := range selected {
		s, err := t.applyKnob(k, v, j)
		if err != nil {
			return r, err
		}
		r.add(s)
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if k.changesCPUs {
			if v, err = examine(ctx, t.o); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// applyKnob adds all values of a knob to the journal at once and then writes them one by one.
func (t *tuner) applyKnob(k knob, v *view, j *journal) (Setting, error) {
	p := k.propose(v)
	s := k.describe(p)
	if len(p.changes) > 0 {
		j.recordInherited(p.threads, p.changes)
		j.inheritors(nil).trace(p.threads, p.changes)
		for _, c := range p.changes {
			j.add(c)
		}
		if err := t.save(j); err != nil {
			return s, err
		}
		s.Values = t.applyChanges(k, p.changes, j)
		if err := t.save(j); err != nil { // save rejected and changed values
			return s, err
		}
	}
	s.Values = append(s.Values, p.stays...)
	return s, nil
}

func (t *tuner) applyChanges(k knob, changes []change, j *journal) []Value {
	values, stopped := []Value{}, false
	for _, c := range changes {
		switch {
		case c.witness:
		case stopped:
			j.markRemoved(c.place())
			values = append(values, c.value(Stays, "an earlier one cannot be changed"))
		default:
			v := t.applyChange(c, j)
			values, stopped = append(values, v), k.inOrder && v.State == Stays
		}
	}
	return values
}

func (t *tuner) applyChange(c change, j *journal) Value {
	now, err := t.set(c.entry, c.wanted())
	switch {
	case err == nil && now == c.wanted():
		return c.value(Set, "")
	case errors.Is(err, fs.ErrNotExist) && c.Kind != partition:
		j.markRemoved(c.place())
		return c.value(Gone, "it disappeared meanwhile")
	case err == nil:
		err = fmt.Errorf("the kernel reads %q", now)
		j.at(c.place()).learn(now)
	case now == j.at(c.place()).Old:
		j.markRemoved(c.place())
	}
	if c.mayRefuse {
		return c.value(Stays, refusal(err))
	}
	return c.value(Failed, cause(err))
}

// refusal formats err. It prefixes an errno with "the kernel refuses".
func refusal(err error) string {
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return "the kernel refuses: " + cause(err)
	}
	return cause(err)
}

// load reads the journal of this boot. A journal of another boot is ignored, because its values were reset.
func (t *tuner) load(v *view) (j *journal, note string, err error) {
	boot, err := t.o.FS.Read("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, "", fmt.Errorf("read boot id: %w", err)
	}
	empty := &journal{Version: journalVersion, BootID: boot, Entries: []entry{}}
	text, err := t.store.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return empty, "", nil
	}
	if err == nil {
		var found journal
		if found, err = parseJournal(text, v); err == nil && found.BootID != boot {
			return empty, "the journal was of another boot, whose values are gone; it is removed", nil
		}
		j = &found
	}
	if err != nil {
		return nil, "", fmt.Errorf("read journal %q: %w; nothing was changed; restore by hand what it names, then move "+
			"it away", t.o.Journal, err)
	}
	return j, "", nil
}

// save writes the journal to disk, or removes it if it is empty.
func (t *tuner) save(j *journal) error {
	j.compact()
	if len(j.Entries) == 0 {
		if err := t.store.Delete(); err != nil {
			return fmt.Errorf("remove journal: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(j)
	if err == nil {
		err = t.store.Save(text)
	}
	if err != nil {
		return fmt.Errorf("write journal %q: %w; nothing is changed without a journal; set tune.journal to a place that "+
			"judged can write to", t.o.Journal, err)
	}
	return nil
}
