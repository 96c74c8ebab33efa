package boot

import (
	"fmt"
	"slices"
	"strings"
)

// addFiles renders every way to make the plan last that this host has.
func (l layout) addFiles(p *Plan) {
	if l.host.WSL {
		p.LeftOut = append(p.LeftOut, LeftOut{"GRUB drop-in", "Windows starts this kernel: set kernelCommandLine= below [wsl2] in .wslconfig"})
	} else {
		p.Files = append(p.Files, p.grub())
	}
	p.Files = append(p.Files, p.systemd(), p.tunedVariables(), l.tunedProfile(*p))
}

// heading is the first line of every file.
func (p Plan) heading() string {
	return fmt.Sprintf("# judged: CPUs %s are for runs, %s for everything else.\n", p.CPUs, p.Housekeeping)
}

// grub appends to what /etc/default/grub says; what stands there under the same names is cut out
// first, since the kernel refuses a second isolcpus= that differs.
func (p Plan) grub() File {
	var b strings.Builder
	b.WriteString(p.heading())
	if names := p.taken(); len(names) > 0 {
		for _, variable := range []string{"GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"} {
			fmt.Fprintf(&b, "%s=$(printf '%%s' \"$%s\" | sed -E ':a; s/(^| )(%s)(=[^ ]*)?( |$)/ /; ta')\n", variable, variable, strings.Join(names, "|"))
		}
	}
	fmt.Fprintf(&b, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"\n", strings.Join(p.words(), " "))
	return File{Path: "/etc/default/grub.d/judged.cfg", Content: b.String(),
		Why:  "ticks, managed interrupts and kernel threads are decided about before anything can be written",
		Then: "update-grub, or grub2-mkconfig -o /boot/grub2/grub.cfg, then boot"}
}

// taken are the names of the plan that the present command line has, for a pattern of sed.
func (p Plan) taken() []string {
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

func (p Plan) systemd() File {
	return File{Path: "/etc/systemd/system.conf.d/judged.conf", Content: p.heading() + "[Manager]\nCPUAffinity=" + p.Housekeeping + "\n",
		Why:  "every service starts on the other CPUs, also those that a partition or isolcpus= alone would not move",
		Then: "systemctl daemon-reexec, then boot"}
}

const variablesFile = "/etc/tuned/judged-variables.conf"

func (p Plan) tunedVariables() File {
	return File{Path: variablesFile, Content: p.heading() + "isolated_cores=" + p.CPUs + "\n",
		Why:  "the profile below reads its CPUs from here",
		Then: "tuned-adm profile judged"}
}

// section is one of tuned.conf; without lines it is left out.
type section struct {
	name  string
	lines []string
}

// tunedProfile says for good what judged tune sets until the next boot, with the command line, which
// tuned hands to the boot loader itself.
func (l layout) tunedProfile(p Plan) File {
	sections := []section{
		{"main", []string{"summary=CPUs set apart for judged"}},
		{"variables", []string{"include=" + variablesFile}},
		{"cpu", l.tunedCPU()},
		{"vm", when(l.host.HugePages, "transparent_hugepages=never")},
		{"sysctl", l.tunedSysctl()},
		{"sysfs", l.tunedSysfs()},
		{"irqbalance", []string{"banned_cpus=${isolated_cores}"}},
		{"scheduler", []string{"isolated_cores=${isolated_cores}"}},
		{"bootloader", when(!l.host.WSL, "cmdline_judged="+strings.Join(p.words(), " "))},
	}
	var b strings.Builder
	b.WriteString(p.heading())
	for _, s := range sections {
		if len(s.lines) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", s.name, strings.Join(s.lines, "\n"))
		}
	}
	return File{Path: "/etc/tuned/profiles/judged/tuned.conf", Content: b.String(),
		Why:  "in place of the two files above and of judged tune, where tuned runs anyway (before tuned 2.23: /etc/tuned/judged/tuned.conf)",
		Then: "tuned-adm profile judged, then boot"}
}

func when(fit bool, lines ...string) []string {
	if !fit {
		return nil
	}
	return lines
}

func (l layout) tunedCPU() []string {
	if l.host.Virtual || !l.host.Governors {
		return nil
	}
	lines := []string{"governor=performance"}
	if l.host.Intel {
		lines = append(lines, "energy_perf_bias=performance")
	}
	return lines
}

func (l layout) tunedSysctl() []string {
	return slices.Concat([]string{"vm.stat_interval=10", "kernel.timer_migration=0"},
		when(l.host.Arch == X86, "kernel.nmi_watchdog=0"), when(l.host.Balancing, "kernel.numa_balancing=0"),
		when(l.host.Compaction, "vm.compaction_proactiveness=0"))
}

func (l layout) tunedSysfs() []string {
	lines := []string{"/sys/devices/virtual/workqueue/cpumask=" + l.housekeeping.Mask(), "/sys/kernel/mm/ksm/run=0"}
	switch {
	case l.host.Virtual:
	case l.host.Turbo == noTurbo:
		lines = append(lines, noTurbo+"=1")
	case l.host.Turbo != "":
		lines = append(lines, l.host.Turbo+"=0")
	}
	return lines
}
