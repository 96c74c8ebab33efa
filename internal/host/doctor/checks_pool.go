package doctor

import (
	"fmt"
	"strings"

	"judged/internal/host/fingerprint"
	"judged/internal/host/slots"
	"judged/internal/host/turbo"
)

func poolChecks() []check {
	return []check{{
		id: "pool-fingerprint", title: "the same as the other hosts of the pool", severity: S1,
		wanted:  "the fingerprint in slots.pool_member, member by member",
		effect:  "a limit that was set on one kind of host is not right on another: a newer processor runs the same program in half the time (estimate), a kernel with other mitigations moves system calls by 5 to 30 % (estimate)",
		confirm: "judged doctor --fingerprint",
		fix: Fix{Runtime: []string{"judged doctor --fingerprint > member.json   # on a host whose times count, for the others"},
			Boot: "the same hardware, kernel and command line on all hosts of slots.pool, or another slots.pool for this one"},
		look: lookPool,
	}}
}

// Fingerprint is what runs on this host's slots depend on, to be given to the other hosts of its pool.
// Errors are those of slots.Plan.
func Fingerprint(o Options) (fingerprint.Fingerprint, error) {
	f, err := see(o)
	if err != nil {
		return fingerprint.Fingerprint{}, err
	}
	return f.fingerprint(o)
}

func (f facts) fingerprint(o Options) (fingerprint.Fingerprint, error) {
	planned, err := slots.Plan(f.top, o.CPUs, f.width)
	if err != nil {
		return fingerprint.Fingerprint{}, &UsageError{err.Error()}
	}
	s := fingerprint.Subject{FS: f.fs, Topology: f.top, Class: o.Class, Program: o.Program}
	var cpus = f.reserved[:0:0]
	for _, slot := range planned {
		s.Slots = append(s.Slots, fingerprint.Slot{CPUs: slot.CPUs, Node: slot.Node})
		cpus = cpus.Union(slot.CPUs)
	}
	s.Turbo = turbo.Read(f.fs, cpus).Value
	return fingerprint.Take(s), nil
}

// lookPool reads all members even if there is nothing to compare: a capture has to have them.
func lookPool(v *view) Outcome {
	v.saw("/proc/cpuinfo", "/proc/cmdline", cpuDir+"/vulnerabilities/[name]", "/boot/config-[release]", "/sys/class/dmi/id/{sys_vendor,product_name}")
	here, err := v.fingerprint(v.options)
	switch {
	case err != nil:
		return unknown("", "no slot can be planned, which is part of it: "+err.Error())
	case v.options.Member == nil:
		return skip("slots.pool_member names no file to compare with; judged doctor --fingerprint makes one on another host of the pool")
	}
	var cut []string
	note := ""
	if !v.fs.Live() {
		cut = fingerprint.Cut()
		note = "; a captured host does not tell its whole command line"
	}
	hard := fingerprint.Differences(here.Hard, v.options.Member.Hard, cut)
	soft := fingerprint.Differences(here.Soft, v.options.Member.Soft, cut)
	switch {
	case len(hard) > 0:
		return fail(here.Sum+", the pool has "+v.options.Member.Sum, told(hard)+note)
	case len(soft) > 0:
		return warn(here.Sum, "may differ, and does: "+told(soft)+note)
	default:
		return pass(here.Sum + note)
	}
}

// told names a few: hosts of two kinds differ in dozens.
func told(differences []fingerprint.Difference) string {
	const most = 5
	var lines []string
	for _, d := range differences[:min(most, len(differences))] {
		lines = append(lines, fmt.Sprintf("%s is %q, there %q", d.Name, shortened(d.Here), shortened(d.Pool)))
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
