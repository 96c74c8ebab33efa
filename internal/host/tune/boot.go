package tune

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// bootSchema is the version of a BootPlan's JSON.
const bootSchema = 1

// BootPlan is the boot configuration of a host. None of its slices is nil.
type BootPlan struct {
	Schema       int    `json:"schema"`
	CPUs         string `json:"cpus"`         // reserved CPUs as a kernel list, without those that nosmt takes offline
	Housekeeping string `json:"housekeeping"` // the other CPUs
	Width        int    `json:"width"`        // number of CPUs per slot
	// the type of cpuset partition that slots also need, or ""
	Partition   string              `json:"partition"`
	CommandLine string              `json:"command_line"` // complete: the kept words, then the parameters
	Parameters  []BootParameter     `json:"parameters"`
	Replaced    []ReplacedParameter `json:"replaced"` // words of the present command line that are removed
	Kept        []string            `json:"kept"`     // words of the present command line that the operator set
	LeftOut     []OmittedParameter  `json:"left_out"`
	Files       []BootFile          `json:"files"`
	Notes       []string            `json:"notes"` // what the operator should know first
}

// BootParameter is one word of the kernel command line.
type BootParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "" if it has no value
	Why   string `json:"why"`
	// Present reports whether the running kernel was started with this parameter or an equivalent one.
	Present bool `json:"present"`
}

func (p BootParameter) String() string {
	if p.Value == "" {
		return p.Name
	}
	return p.Name + "=" + p.Value
}

// ReplacedParameter is a word that is removed from the command line.
type ReplacedParameter struct {
	Was string `json:"was"`
	By  string `json:"by"` // the replacement, or ""
}

// OmittedParameter is a parameter or file that has no use on this host.
type OmittedParameter struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// BootFile is one way to make the plan permanent.
type BootFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Why     string `json:"why"`
	Then    string `json:"then"` // the command that activates it
}

// PlanBoot returns the boot configuration for a host. The error is a *UsageError if no CPU is left for the system or if
// CPU 0 is requested.
func PlanBoot(h settings.Host) (BootPlan, error) { return planBoot(readFacts(h)) }

func planBoot(h bootFacts) (BootPlan, error) {
	l, err := layOut(h)
	if err != nil {
		return BootPlan{}, err
	}
	p := BootPlan{Schema: bootSchema, CPUs: l.Reserved.String(), Housekeeping: l.Housekeeping.String(), Width: l.Width,
		Partition: l.partition(), Parameters: []BootParameter{}, Replaced: []ReplacedParameter{}, Kept: []string{},
		LeftOut: []OmittedParameter{}, Files: []BootFile{}, Notes: l.notes()}
	for _, c := range l.candidates() {
		if c.unfit != "" {
			p.LeftOut = append(p.LeftOut, OmittedParameter{c.Name, c.unfit})
			continue
		}
		p.Parameters = append(p.Parameters, c.BootParameter)
	}
	forInit := p.sort(h.CommandLine, l.Width)
	p.CommandLine = strings.Join(slices.Concat(p.Kept, p.words(), forInit), " ")
	l.addFiles(&p)
	return p, nil
}

// layout is a host with its CPUs after the reboot.
type layout struct {
	bootFacts
	nosmt bool
	split cpuset.Set // reserved CPUs that nosmt takes offline, because the first thread of their core is not reserved
}

func layOut(h bootFacts) (layout, error) {
	refuse := func(format string, args ...any) (layout, error) {
		return layout{}, &UsageError{Reason: "plan the boot: " + fmt.Sprintf(format, args...)}
	}
	asked, online := h.Reserved, h.Topology.Online
	l := layout{bootFacts: h}
	l.Reserved = asked.Intersect(online)
	l.Housekeeping = online.Minus(l.Reserved)
	switch {
	case len(asked) == 0:
		return refuse("no CPU is reserved; give some with --cpus")
	case len(l.Reserved) == 0:
		return refuse("none of the CPUs %s is online; online are %s", asked, online)
	case l.Reserved.Contains(0):
		return refuse("CPU 0 starts the kernel and keeps its clock and its interrupts; reserve others with --cpus")
	case len(l.Housekeeping) == 0:
		return refuse("CPUs %s are all CPUs of this host; leave one to the system", l.Reserved)
	}
	var seconds cpuset.Set
	for _, c := range h.Topology.CPUs {
		if c.ID != c.Core {
			seconds = seconds.Union(cpuset.New(c.ID))
			if l.Reserved.Contains(c.ID) && !l.Reserved.Contains(c.Core) {
				l.split = l.split.Union(cpuset.New(c.ID))
			}
		}
	}
	l.nosmt = h.Threads == threadsOff || h.Threads == threadsOn && len(l.split) == 0
	if l.nosmt {
		l.Reserved, l.Housekeeping = l.Reserved.Minus(seconds), l.Housekeeping.Minus(seconds)
	}
	return l, nil
}

// partition returns the type of partition that slots also need. isolcpus= is not enough for slots with several
// CPUs: without a scheduling domain their threads are not balanced.
func (l layout) partition() string {
	if l.Width > 1 {
		return "root"
	}
	return ""
}

func (l layout) notes() []string {
	notes := []string{}
	if l.Container {
		notes = append(notes, "this is a container: the plan is for the host that runs it")
	}
	if l.Width > 1 {
		notes = append(notes, fmt.Sprintf("slots of %d CPUs: isolcpus= is without domain, so a cpuset partition of type "+
			"root has to isolate them at run time", l.Width))
	}
	if len(l.Reserved)%l.Width != 0 {
		notes = append(notes, fmt.Sprintf("CPUs %s do not divide into slots of %d", l.Reserved, l.Width))
	}
	return notes
}

func (p BootPlan) words() []string {
	words := []string{}
	for _, q := range p.Parameters {
		words = append(words, q.String())
	}
	return words
}

// Missing returns the parameters that the running kernel was not started with.
func (p BootPlan) Missing() []string {
	missing := []string{}
	for _, q := range p.Parameters {
		if !q.Present {
			missing = append(missing, q.String())
		}
	}
	return missing
}
