package doctor

import (
	"fmt"
	"strings"

	"judged/internal/api/hosts"

	"judged/internal/base/cpuset"
	"judged/internal/host/fingerprint"
	"judged/internal/host/settings"
	"judged/internal/host/slots"
	"judged/internal/host/turbo"
)

// Fingerprint is what runs on this host's slots depend on, to be given to the other hosts of its pool.
// Errors are those of slots.Plan.
func Fingerprint(o Options) (hosts.Fingerprint, error) {
	h, err := settings.Examine(o.FS, o.CPUs, o.Width)
	if err != nil {
		return hosts.Fingerprint{}, err
	}
	return facts{Host: h}.fingerprint(o)
}

func (f facts) fingerprint(o Options) (hosts.Fingerprint, error) {
	planned, err := slots.Plan(f.Topology, o.CPUs, f.Width)
	if err != nil {
		return hosts.Fingerprint{}, &UsageError{Reason: err.Error()}
	}
	var cpus cpuset.Set
	for _, slot := range planned {
		cpus = cpus.Union(slot.CPUs)
	}
	return fingerprint.Take(fingerprint.Subject{FS: f.FS, Topology: f.Topology, Slots: planned,
		Turbo: turbo.Read(f.FS, cpus).Value, Class: o.Class, Program: o.Program}), nil
}

func lookPool(v *view) Outcome {
	if v.options.Member == nil && !v.options.capture {
		return skip("slots.pool_member names no file to compare with; judged doctor --fingerprint makes one on another " +
			"host of the pool")
	}
	v.saw("/proc/cpuinfo", "/proc/cmdline", cpuDir+"/vulnerabilities/[name]", "/boot/config-[release]",
		"/sys/class/dmi/id/{sys_vendor,product_name}")
	here, err := v.fingerprint(v.options)
	switch {
	case err != nil:
		return unknown("", "the slots are part of it, and judged cannot plan them: "+err.Error())
	case v.options.Member == nil:
		return pass(here.Sum)
	}
	var cut []string
	note := ""
	if !v.FS.Live() {
		cut = hosts.Cut()
		note = "; a captured host holds only part of its command line"
	}
	hard := hosts.Differences(here.Hard, v.options.Member.Hard, cut)
	soft := hosts.Differences(here.Soft, v.options.Member.Soft, cut)
	switch {
	case len(hard) > 0:
		return fail(here.Sum+", the pool has "+v.options.Member.Sum, describeDifferences(hard)+note)
	case len(soft) > 0:
		return warn(here.Sum, "differs where it may: "+describeDifferences(soft)+note)
	default:
		return pass(here.Sum + note)
	}
}

// describeDifferences names a few: hosts of two kinds differ in dozens.
func describeDifferences(differences []hosts.Difference) string {
	const most = 5
	var lines []string
	for _, d := range differences[:min(most, len(differences))] {
		lines = append(lines, fmt.Sprintf("%s is %q, in the pool %q", d.Name, shortened(d.Here), shortened(d.Pool)))
	}
	if rest := len(differences) - most; rest > 0 {
		lines = append(lines, counted(rest, "more difference"))
	}
	return strings.Join(lines, "; ")
}

// shortened keeps lists of all CPUs out of the report; --fingerprint has the whole.
func shortened(value string) string {
	const most = 60
	if r := []rune(value); len(r) > most {
		return string(r[:most]) + "…"
	}
	return value
}
