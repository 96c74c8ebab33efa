package settings

import (
	"slices"
	"strings"

	"judged/internal/api"
)

// Setting is one row. In its texts {R} stands for the reserved CPUs, {RW} for the same with spaces between them, {H}
// for the housekeeping CPUs, {HM} for their mask, {W} for the width of a slot and {P} for the type of partition that
// slots of this width need.
type Setting struct {
	ID       string
	Title    string
	Severity api.Severity
	Wanted   string
	Effect   string // what a wrong value costs, with the source of the figure in parentheses
	// Bare settings are controlled by the hypervisor, where there is one.
	Bare bool
	// Values are the files that hold the setting; none where it is more than values in files.
	Values []Value
	See    string   // a command that shows the setting; "" is made from Values
	Run    []string // commands that set it until the next boot; nil is made from Values
	Boot   string   // kernel command line, firmware or unit; "" if there is nothing

	Risk     string // what it costs that judged tune sets it; "" where judged tune does not
	TunedBy  string // the setting of judged tune that covers this one too
	NotTuned string // why judged tune does not set it, although it could be set at run time
}

// All returns the rows that doctor reads, by topic. It is a function and not a variable, so that nobody can change it.
func All() []Setting {
	return slices.Concat(machineSettings(), cpuSettings(), isolationSettings(), tickSettings(), interruptSettings(),
		taskSettings(),
		powerSettings(), frequencySettings(), thermalSettings(), memorySettings(), pagingSettings(), kernelSettings(),
		deviceSettings(),
		poolSettings(), sourceSettings())
}

// Get finds a row of All or Probes.
func Get(id string) (Setting, bool) {
	all := slices.Concat(All(), Probes())
	i := slices.IndexFunc(all, func(s Setting) bool { return s.ID == id })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// Tuned is the id under which judged tune sets this setting; "" if it does not.
func (s Setting) Tuned() string {
	if s.Risk != "" {
		return s.ID
	}
	return s.TunedBy
}

// Command shows the setting.
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

// Commands set the setting until the next boot.
func (s Setting) Commands() []string {
	commands := slices.Clone(s.Run)
	for _, v := range s.Values {
		if s.Run == nil && v.To != "" {
			commands = append(commands, v.command())
		}
	}
	return commands
}

// Generic replaces the placeholders of texts where no host is known.
func Generic() *strings.Replacer {
	return strings.NewReplacer("{R}", "R", "{RW}", "R", "{H}", "H", "{W}", "W", "{P}", "isolated", "{HM}", "MASK_OF_H")
}
