package settings

import (
	"slices"
	"strings"

	"judged/internal/api"
)

// Setting is a row of the catalogue. Texts can contain placeholders: {R} is the reserved CPUs, {RW} the same
// separated by spaces, {H} the housekeeping CPUs, {HM} their mask, {W} the width of a slot, and {P} the
// partition type for this width.
type Setting struct {
	ID       string
	Title    string
	Severity api.Severity
	Wanted   string
	Effect   string // cost of a wrong value, with the source of the figure in parentheses
	// Bare settings are controlled by the hypervisor on a virtual machine.
	Bare bool
	// Values are the files of the setting; empty if comparing values is not enough.
	Values []Value
	See    string   // command that shows the setting; if "", generated from Values
	Run    []string // commands that set it until the next boot; if nil, generated from Values
	Boot   string   // kernel command line, firmware or unit; "" if not applicable

	Risk     string // risk of setting it with judged tune; "" if judged tune does not set it
	TunedBy  string // the setting of judged tune that also covers this one
	NotTuned string // why judged tune does not set it, although this is possible at run time
}

// All returns the rows that doctor checks, by topic. It returns a new slice, so that callers cannot change the
// catalogue.
func All() []Setting {
	return slices.Concat(machineSettings(), cpuSettings(), isolationSettings(), tickSettings(), interruptSettings(),
		taskSettings(),
		powerSettings(), frequencySettings(), thermalSettings(), memorySettings(), pagingSettings(), kernelSettings(),
		deviceSettings(),
		poolSettings(), sourceSettings())
}

// Get returns a row of All or Probes, or FrontSettings, by ID.
func Get(id string) (Setting, bool) {
	all := append(slices.Concat(All(), Probes()), FrontSettings())
	i := slices.IndexFunc(all, func(s Setting) bool { return s.ID == id })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// Tuned returns the ID under which judged tune sets this setting; "" if it does not.
func (s Setting) Tuned() string {
	if s.Risk != "" {
		return s.ID
	}
	return s.TunedBy
}

// Command returns the command that shows the setting.
func (s Setting) Command() string {
	if s.See != "" {
		return s.See
	}
	var patterns []string
	for _, v := range s.Values {
		patterns = append(patterns, v.shellPattern())
	}
	return "grep . " + strings.Join(patterns, " ")
}

// Commands returns the commands that set the setting until the next boot.
func (s Setting) Commands() []string {
	commands := slices.Clone(s.Run)
	for _, v := range s.Values {
		if s.Run == nil && v.To != "" {
			commands = append(commands, v.command())
		}
	}
	return commands
}

// Generic returns a replacer for placeholders if no host is known.
func Generic() *strings.Replacer {
	return strings.NewReplacer("{R}", "R", "{RW}", "R", "{H}", "H", "{W}", "W", "{P}", "isolated", "{HM}", "MASK_OF_H")
}
