package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"

	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// journalVersion is that of its JSON. A journal lives no longer than a boot, so an older one can only be of a judged
// that was replaced since.
const journalVersion = 1

// journal is what may differ from how the host was, in the order in which it was changed.
type journal struct {
	Version int     `json:"version"`
	BootID  string  `json:"boot_id"` // of the kernel that these values are in
	CPUs    string  `json:"cpus"`    // reserved in the last apply
	Entries []entry `json:"entries"`
	// Kept are threads that had their CPUs before tune.
	Kept []keptThread `json:"kept,omitempty"`

	index map[place]int // of Entries; nil: not yet built
}

// entry is one value: the old one, and those that tune may have written.
type entry struct {
	Setting string        `json:"setting"`
	Kind    settings.Kind `json:"kind"`
	Path    string        `json:"path"`
	Start   string        `json:"start,omitempty"` // of a thread, see proc.Stat
	Old     string        `json:"old"`
	// Ours are all values that tune has written or was about to write, and what the kernel turned them into; the last
	// is the wanted one. Any other value is somebody else's.
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

// owns reports whether a value is one that tune may take back.
func (e entry) owns(now string) bool { return slices.Contains(e.Ours, now) }

// at finds an entry; or nil.
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

// add notes what is about to be written. The old value of an entry that exists already is kept: it is the one from
// before tune.
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

// learn notes what the kernel turned a written value into.
func (e *entry) learn(now string) {
	if now != e.Old && !e.owns(now) {
		e.Ours = slices.Insert(slices.Clone(e.Ours), 0, now)
	}
}

// drop forgets an entry. compact removes it later, because a host has thousands of threads.
func (j *journal) drop(p place) {
	if e := j.at(p); e != nil {
		e.dropped = true
	}
}

// partitioned reports whether the partition still has to be removed.
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
	maxJournalBytes = 64 << 20 // of a host with 200 000 threads
	maxValueBytes   = 4 << 10  // a mask of 8192 CPUs has 2304
)

var bootIDForm = regexp.MustCompile(`^[0-9a-f-]{1,64}$`)

// parseJournal reads a journal without trusting it: anybody who could write the file must not make judged write, as
// root, anything but the values of the catalogue.
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
	case !bootIDForm.MatchString(j.BootID):
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
		if !threadPath.MatchString(k.Path) || !digits.MatchString(k.Start) {
			return journal{}, fmt.Errorf("invalid kept thread %q, started at %q: want /proc/PID and a number", k.Path,
				k.Start)
		}
	}
	return j, nil
}

// check compares an entry with the catalogue: it must be a place that a knob names, and hold values that such a place
// can have.
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

// names reports whether an entry's place belongs to the knob.
func (k knob) names(v *view, e entry) bool {
	if k.valid != nil {
		return k.valid(v, e)
	}
	return e.Start == "" && slices.ContainsFunc(k.Values,
		func(w settings.Value) bool { return w.Kind == e.Kind && w.Matches(e.Path) })
}
