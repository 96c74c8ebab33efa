package tune

import (
	"fmt"
	"slices"
	"strings"
)

// addFiles adds the files that make the plan permanent on this host.
func (l layout) addFiles(p *BootPlan) {
	if l.WSL {
		p.LeftOut = append(p.LeftOut, OmittedParameter{"GRUB drop-in",
			"Windows starts this kernel: set kernelCommandLine= below [wsl2] in .wslconfig"})
	} else {
		p.Files = append(p.Files, p.grub())
	}
	p.Files = append(p.Files, p.systemd(), p.tunedVariables(), l.tunedProfile(*p))
}

// heading returns the first line of each file.
func (p BootPlan) heading() string {
	return fmt.Sprintf("# judged: CPUs %s are for runs, %s for everything else.\n", p.CPUs, p.Housekeeping)
}

// grub appends to the command line in /etc/default/grub, and first removes options with the same names, because
// the kernel rejects a second, different isolcpus=.
func (p BootPlan) grub() BootFile {
	var b strings.Builder
	b.WriteString(p.heading())
	if names := p.taken(); len(names) > 0 {
		for _, variable := range []string{"GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"} {
			fmt.Fprintf(&b, "%s=$(printf '%%s' \"$%s\" | sed -E ':a; s/(^| )(%s)(=[^ ]*)?( |$)/ /; ta')\n", variable,
				variable, strings.Join(names, "|"))
		}
	}
	fmt.Fprintf(&b, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"\n", strings.Join(p.words(), " "))
	return BootFile{Path: "/etc/default/grub.d/judged.cfg", Content: b.String(),
		Why:  "ticks, managed interrupts and early kernel threads can be set at boot only",
		Then: "update-grub, or grub2-mkconfig -o /boot/grub2/grub.cfg, then boot"}
}

// taken returns the parameters of the plan that are on the current command line, as a pattern for sed.
func (p BootPlan) taken() []string {
	var names []string
	for _, q := range p.Parameters {
		if q.Present {
			names = append(names, q.Name)
		}
	}
	for _, r := range p.Replaced {
		name, _, _ := strings.Cut(r.Was, "=")
		names = append(names, name)
	}
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, ".", `\.`)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p BootPlan) systemd() BootFile {
	return BootFile{Path: "/etc/systemd/system.conf.d/judged.conf", Content: p.heading() + "[Manager]\nCPUAffinity=" +
		p.Housekeeping + "\n",
		Why:  "every service starts on the other CPUs, also one that a partition or isolcpus= would not move",
		Then: "systemctl daemon-reexec, then boot"}
}

const variablesFile = "/etc/tuned/judged-variables.conf"

func (p BootPlan) tunedVariables() BootFile {
	return BootFile{Path: variablesFile, Content: p.heading() + "isolated_cores=" + p.CPUs + "\n",
		Why: "the profile below reads its CPUs from here", Then: "tuned-adm profile judged"}
}

// section is a section of tuned.conf. It is omitted if it has no lines.
type section struct {
	name  string
	lines []string
}

// tunedProfile makes the settings of judged tune permanent and passes the command line to the boot loader.
func (l layout) tunedProfile(p BootPlan) BootFile {
	sections := []section{
		{"main", []string{"summary=CPUs reserved for judged"}},
		{"variables", []string{"include=" + variablesFile}},
		{"cpu", l.tunedCPU()},
		{"sysctl", l.Sysctl},
		{"sysfs", l.Sysfs},
		{"irqbalance", []string{"banned_cpus=${isolated_cores}"}},
		{"scheduler", []string{"isolated_cores=${isolated_cores}"}},
		{"bootloader", when(!l.WSL, "cmdline_judged="+strings.Join(p.words(), " "))},
	}
	var b strings.Builder
	b.WriteString(p.heading())
	for _, s := range sections {
		if len(s.lines) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", s.name, strings.Join(s.lines, "\n"))
		}
	}
	return BootFile{Path: "/etc/tuned/profiles/judged/tuned.conf", Content: b.String(),
		Why: "instead of the files above and of judged tune, where tuned runs (before tuned 2.23: " +
			"/etc/tuned/judged/tuned.conf)",
		Then: "tuned-adm profile judged, then boot"}
}

func when(fit bool, lines ...string) []string {
	if !fit {
		return nil
	}
	return lines
}

func (l layout) tunedCPU() []string {
	if l.Virtual || !l.Governors {
		return nil
	}
	lines := []string{"governor=performance"}
	if l.Intel {
		lines = append(lines, "energy_perf_bias=performance")
	}
	return lines
}
