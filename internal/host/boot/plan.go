package boot

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// Request says which CPUs are to be set apart.
type Request struct {
	Reserved cpuset.Set // for runs
	Width    int        // CPUs of one slot; 0 is 1
}

// UsageError is a request that no command line can grant.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// schema is the version of the JSON of a Plan.
const schema = 1

// Plan is what to say at boot. No slice of it is nil.
type Plan struct {
	Schema       int         `json:"schema"`
	CPUs         string      `json:"cpus"`         // reserved, as a kernel list; without the threads that nosmt takes
	Housekeeping string      `json:"housekeeping"` // the others
	Width        int         `json:"width"`        // CPUs of one slot
	Partition    string      `json:"partition"`    // the cpuset partition that slots need besides; "" for none
	CommandLine  string      `json:"command_line"` // complete: what is kept, then the parameters
	Parameters   []Parameter `json:"parameters"`
	Replaced     []Replaced  `json:"replaced"` // words of the present command line that go
	Kept         []string    `json:"kept"`     // words of it that stay: they are the operator's
	LeftOut      []LeftOut   `json:"left_out"`
	Files        []File      `json:"files"`
	Notes        []string    `json:"notes"` // what to know before
}

// Parameter is one word of the kernel command line.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "" for one that has none
	Why   string `json:"why"`
	// Present: this kernel was started with it, or with one of the same meaning.
	Present bool `json:"present"`
}

func (p Parameter) String() string {
	if p.Value == "" {
		return p.Name
	}
	return p.Name + "=" + p.Value
}

// Replaced is a word that cannot stay.
type Replaced struct {
	Was string `json:"was"`
	By  string `json:"by"` // "" if nothing stands in its place
}

// LeftOut is a parameter, or a file, that makes no sense on this host.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// File is one way to make it last.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Why     string `json:"why"`
	Then    string `json:"then"` // the command that makes it count
}

// Make plans. The error is a *UsageError: no CPU is left for the system, or CPU 0 is wanted.
func Make(h Host, q Request) (Plan, error) {
	l, err := lay(h, q)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Schema: schema, CPUs: l.reserved.String(), Housekeeping: l.housekeeping.String(), Width: l.width, Partition: l.partition(),
		Parameters: []Parameter{}, Replaced: []Replaced{}, Kept: []string{}, LeftOut: []LeftOut{}, Files: []File{}, Notes: l.notes()}
	for _, c := range l.candidates() {
		if c.unfit != "" {
			p.LeftOut = append(p.LeftOut, LeftOut{c.Name, c.unfit})
			continue
		}
		p.Parameters = append(p.Parameters, c.Parameter)
	}
	forInit := p.sort(h.CommandLine, l.width)
	p.CommandLine = strings.Join(slices.Concat(p.Kept, p.words(), forInit), " ")
	l.addFiles(&p)
	return p, nil
}

// layout is who gets which CPU.
type layout struct {
	host                   Host
	reserved, housekeeping cpuset.Set
	width                  int
	nosmt                  bool
	split                  cpuset.Set // reserved CPUs that nosmt would take, with the first thread of their core left to the system
}

func lay(h Host, q Request) (layout, error) {
	t := h.Topology
	l := layout{host: h, reserved: q.Reserved.Intersect(t.Online), width: max(q.Width, 1)}
	switch {
	case len(q.Reserved) == 0:
		return l, &UsageError{"plan the boot: no CPU is reserved; name some with --cpus"}
	case len(l.reserved) == 0:
		return l, &UsageError{fmt.Sprintf("plan the boot: none of the CPUs %s is online; online are %s", q.Reserved, t.Online)}
	case l.reserved.Contains(0):
		return l, &UsageError{"plan the boot: CPU 0 starts the kernel and keeps its clock and its interrupts; reserve others with --cpus"}
	}
	l.housekeeping = t.Online.Minus(l.reserved)
	if len(l.housekeeping) == 0 {
		return l, &UsageError{fmt.Sprintf("plan the boot: CPUs %s are all there are; leave one to the system", l.reserved)}
	}
	var seconds cpuset.Set
	for _, c := range t.CPUs {
		if c.ID != c.Core {
			seconds = seconds.Union(cpuset.New(c.ID))
			if l.reserved.Contains(c.ID) && !l.reserved.Contains(c.Core) {
				l.split = l.split.Union(cpuset.New(c.ID))
			}
		}
	}
	l.nosmt = h.Threads == ThreadsOff || h.Threads == ThreadsOn && len(l.split) == 0
	if l.nosmt {
		l.reserved, l.housekeeping = l.reserved.Minus(seconds), l.housekeeping.Minus(seconds)
	}
	return l, nil
}

// partition is the kind that keeps others off, which isolcpus= does not do for slots of several
// CPUs: without a domain nothing would spread their threads.
func (l layout) partition() string {
	if l.width > 1 {
		return "root"
	}
	return ""
}

func (l layout) notes() []string {
	notes := []string{}
	if l.host.Container {
		notes = append(notes, "this is a container: all of it belongs on the host that carries it")
	}
	if l.width > 1 {
		notes = append(notes, fmt.Sprintf("slots of %d CPUs: without domain in isolcpus=, so a cpuset partition of type root has to keep others off at run time", l.width))
	}
	if len(l.reserved)%l.width != 0 {
		notes = append(notes, fmt.Sprintf("CPUs %s do not divide into slots of %d", l.reserved, l.width))
	}
	return notes
}

func (p Plan) words() []string {
	words := []string{}
	for _, q := range p.Parameters {
		words = append(words, q.String())
	}
	return words
}

// Missing are the parameters that this kernel was started without.
func (p Plan) Missing() []string {
	missing := []string{}
	for _, q := range p.Parameters {
		if !q.Present {
			missing = append(missing, q.String())
		}
	}
	return missing
}
