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
	"strings"

	"judged/internal/base/cpuset"
)

// journalVersion is that of its JSON. A journal lives no longer than a boot, so there is no older one
// to read but that of a judged which was replaced meanwhile.
const journalVersion = 1

// journal is what may differ from how the host was, in the order in which it was changed.
type journal struct {
	Version int     `json:"version"`
	BootID  string  `json:"boot_id"` // of the kernel that these values are in
	CPUs    string  `json:"cpus"`    // reserved when it was applied last
	Entries []entry `json:"entries"`
	// Kept are threads that must not be taken for newcomers.
	Kept []keptThread `json:"kept,omitempty"`

	index map[place]int // of Entries; nil: to be made
}

// entry is one value: what it was, and what it can be of ours.
type entry struct {
	Setting string `json:"setting"`
	Kind    kind   `json:"kind"`
	Path    string `json:"path"`
	Start   string `json:"start,omitempty"` // of a thread, see there
	Old     string `json:"old"`
	// Ours are all values that tune has written or was about to write, and what the kernel made of
	// them; the one that is wanted last. Any other is somebody else's.
	Ours []string `json:"ours"`

	dropped bool
}

// place tells entries apart.
type place struct {
	kind        kind
	path, start string
}

func (e entry) place() place { return place{e.Kind, e.Path, e.Start} }

func (e entry) wanted() string { return e.Ours[len(e.Ours)-1] }

// owns reports whether a value is one that tune may take back.
func (e entry) owns(now string) bool { return slices.Contains(e.Ours, now) }

// at finds an entry; nil if there is none.
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

// add notes what is about to be written. The old value of an entry that is there already is kept: it
// is the one from before tune.
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

// learn notes what the kernel made of a value that was written.
func (e *entry) learn(now string) {
	if now != e.Old && !e.owns(now) {
		e.Ours = slices.Insert(slices.Clone(e.Ours), 0, now)
	}
}

// drop forgets an entry. It is taken out by compact, for a host has thousands of threads.
func (j *journal) drop(p place) {
	if e := j.at(p); e != nil {
		e.dropped = true
	}
}

// partitioned reports whether the partition has to be removed yet.
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

// parseJournal reads a journal and believes none of it: whoever could write the file must not get
// judged to write, as root, anything but knobs.
func parseJournal(text []byte, v *view) (journal, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var j journal
	if err := d.Decode(&j); err != nil {
		return journal{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return journal{}, errors.New("something follows the document")
	}
	switch {
	case j.Version != journalVersion:
		return journal{}, fmt.Errorf("version %d, want %d", j.Version, journalVersion)
	case !bootIDForm.MatchString(j.BootID):
		return journal{}, fmt.Errorf("boot_id %q is none", j.BootID)
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
			return journal{}, fmt.Errorf("entry %d: %q is there twice", i, e.Path)
		}
		seen[e.place()] = true
	}
	for _, k := range j.Kept {
		if !threadPath.MatchString(k.Path) || !digits.MatchString(k.Start) {
			return journal{}, fmt.Errorf("kept thread %q, started at %q: want /proc/PID and a number", k.Path, k.Start)
		}
	}
	return j, nil
}

// check holds an entry against the table: it must be a place that a knob names, and hold values that
// such a place can have.
func (e entry) check(v *view, all []knob) error {
	i := slices.IndexFunc(all, func(k knob) bool { return k.id == e.Setting })
	switch {
	case i < 0:
		return fmt.Errorf("setting %q is none", e.Setting)
	case !slices.Contains(kinds(), e.Kind):
		return fmt.Errorf("kind %q is none", e.Kind)
	case e.Path != path.Clean(e.Path) || !all[i].names(v, e):
		return fmt.Errorf("path %q is not one of setting %s", e.Path, e.Setting)
	case len(e.Ours) == 0:
		return fmt.Errorf("no value of %q is ours", e.Path)
	}
	for _, value := range append(slices.Clone(e.Ours), e.Old) {
		if err := e.Kind.allows(value); err != nil {
			return fmt.Errorf("value of %q: %w", e.Path, err)
		}
	}
	return nil
}

// names reports whether an entry's place is one of the knob's.
func (k knob) names(v *view, e entry) bool {
	if k.valid != nil {
		return k.valid(v, e)
	}
	return e.Start == "" && slices.ContainsFunc(k.rows, func(r row) bool { return r.kind == e.Kind && r.matches(e.Path) })
}

// allows reports whether a value can have been read of such a place.
func (k kind) allows(value string) error {
	if len(value) > maxValueBytes || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fmt.Errorf("%.40q is too long or holds unprintable characters", value)
	}
	switch k {
	case list, mask, affinity:
		_, err := k.set(value)
		return err
	case token:
		if value == "" || strings.ContainsAny(value, " []") {
			return fmt.Errorf("%q is no word", value)
		}
	case controller:
		if value != "+cpuset" && value != "-cpuset" {
			return fmt.Errorf("%q is neither +cpuset nor -cpuset", value)
		}
	case partition:
		word, _, _ := strings.Cut(value, " ")
		if !slices.Contains([]string{"", "member", "root", "isolated"}, word) {
			return fmt.Errorf("%q is no type of a partition", value)
		}
	case area:
		_, _, err := areaOf(value)
		return err
	}
	return nil
}
