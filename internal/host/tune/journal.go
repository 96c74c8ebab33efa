package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/settings"
)

// journalVersion is the version of the journal's JSON. A journal is valid for one boot only, so an older
// version can only come from a judged that was replaced since the boot.
const journalVersion = 1

// journal lists the values that may have changed, in the order of the changes.
type journal struct {
	Version int     `json:"version"`
	BootID  string  `json:"boot_id"` // boot to which the values belong
	CPUs    string  `json:"cpus"`    // CPUs reserved by the last apply
	Entries []entry `json:"entries"`
	// Kept lists threads that had their CPUs before tune.
	Kept []keptThread `json:"kept,omitempty"`

	index map[place]int // indexes of Entries; nil until built
}

// entry is a value: the old one, and those that tune may have written.
type entry struct {
	Setting string        `json:"setting"`
	Kind    settings.Kind `json:"kind"`
	Path    string        `json:"path"`
	Start   string        `json:"start,omitempty"` // for a thread, see proc.Stat
	Old     string        `json:"old"`
	// Ours lists all values that tune has written or was about to write, and what the kernel changed them to.
	// The last one is the wanted value. Any other value was set by somebody else.
	Ours []string `json:"ours"`

	dropped bool
}

// place identifies an entry.
type place struct {
	kind        settings.Kind
	path, start string
}

func (e entry) place() place { return place{e.Kind, e.Path, e.Start} }

func (e entry) wanted() string { return e.Ours[len(e.Ours)-1] }

// owns reports whether tune may have written a value, and so may replace it.
func (e entry) owns(now string) bool { return slices.Contains(e.Ours, now) }

// at returns the entry for a place, or nil.
func (j *journal) at(p place) *entry {
	if j.index == nil {
		j.index = map[place]int{}
		for i, e := range j.Entries {
			j.index[e.place()] = i
		}
	}
	if i, ok := j.index[p]; ok {
		return &j.Entries[i]
	}
	return nil
}

// add records a value before it is written. An existing entry keeps its old value, which is the one before
// tune.
func (j *journal) add(c change) {
	e := j.at(c.place())
	if e == nil {
		j.index[c.place()] = len(j.Entries)
		j.Entries = append(j.Entries, c.entry)
		return
	}
	for _, ours := range c.Ours {
		if c.witness {
			e.learn(ours)
			continue
		}
		e.Ours = append(slices.DeleteFunc(slices.Clone(e.Ours), func(o string) bool { return o == ours }), ours)
	}
}

// learn records the value that the kernel stored for a written value.
func (e *entry) learn(now string) {
	if now != e.Old && !e.owns(now) {
		e.Ours = slices.Insert(slices.Clone(e.Ours), 0, now)
	}
}

// markRemoved marks an entry. compact removes marked entries later, because a host has thousands of threads.
func (j *journal) markRemoved(p place) {
	if e := j.at(p); e != nil {
		e.dropped = true
	}
}

// partitioned reports whether the partition must still be removed.
func (j *journal) partitioned() bool {
	return slices.ContainsFunc(j.Entries, func(e entry) bool { return e.Kind == partition && !e.dropped })
}

func (j *journal) compact() {
	j.Entries = slices.DeleteFunc(j.Entries, func(e entry) bool { return e.dropped })
	j.index = nil
	if !slices.ContainsFunc(j.Entries, entry.movesThreads) {
		j.Kept = nil
	}
}

const (
	maxJournalBytes = 64 << 20 // for a host with 200 000 threads
	maxValueBytes   = 4 << 10  // a mask of 8192 CPUs has 2304 bytes
)

var bootIDForm = text.Pattern(`^[0-9a-f-]{1,64}$`)

// parseJournal parses and validates an untrusted journal: a user who can write the file must not make judged
// write, as root, values outside the catalogue.
func parseJournal(text []byte, v *view) (journal, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var j journal
	if err := d.Decode(&j); err != nil {
		return journal{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return journal{}, errors.New("trailing data after JSON")
	}
	switch {
	case j.Version != journalVersion:
		return journal{}, fmt.Errorf("version %d, want %d", j.Version, journalVersion)
	case !bootIDForm().MatchString(j.BootID):
		return journal{}, fmt.Errorf("invalid boot_id %q", j.BootID)
	}
	if _, err := cpuset.Parse(j.CPUs); err != nil {
		return journal{}, err
	}
	all, seen := knobs(), map[place]bool{}
	for i, e := range j.Entries {
		if err := e.check(v, all); err != nil {
			return journal{}, fmt.Errorf("entry %d: %w", i, err)
		}
		if seen[e.place()] {
			return journal{}, fmt.Errorf("entry %d: duplicate path %q", i, e.Path)
		}
		seen[e.place()] = true
	}
	for _, k := range j.Kept {
		if !threadPath().MatchString(k.Path) || !digits().MatchString(k.Start) {
			return journal{}, fmt.Errorf("invalid kept thread %q, started at %q: want /proc/PID and a number", k.Path,
				k.Start)
		}
	}
	return j, nil
}

// check compares an entry with the catalogue: a knob must name its place, and its values must be valid there.
func (e entry) check(v *view, all []knob) error {
	i := slices.IndexFunc(all, func(k knob) bool { return k.ID == e.Setting })
	switch {
	case i < 0:
		return fmt.Errorf("unknown setting %q", e.Setting)
	case !slices.Contains(kinds(), e.Kind):
		return fmt.Errorf("unknown kind %q", e.Kind)
	case e.Path != path.Clean(e.Path) || !all[i].names(v, e):
		return fmt.Errorf("path %q is not one of setting %s", e.Path, e.Setting)
	case len(e.Ours) == 0:
		return fmt.Errorf("no written value of %q", e.Path)
	}
	for _, value := range append(slices.Clone(e.Ours), e.Old) {
		if err := checkValue(e.Kind, value); err != nil {
			return fmt.Errorf("value of %q: %w", e.Path, err)
		}
	}
	return nil
}

// names reports whether the knob includes the entry's place.
func (k knob) names(v *view, e entry) bool {
	if k.valid != nil {
		return k.valid(v, e)
	}
	return e.Start == "" && slices.ContainsFunc(k.Values,
		func(w settings.Value) bool { return w.Kind == e.Kind && w.Matches(e.Path) })
}
