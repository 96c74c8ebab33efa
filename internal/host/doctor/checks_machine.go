package doctor

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
	"judged/internal/host/slots"
)

func lookCounters(v *view) Outcome {
	const dir = "/sys/bus/event_source/devices"
	v.saw(dir+"/[name]/type", "/proc/sys/kernel/perf_event_paranoid")
	devices := v.Glob(dir + "/*")
	var pmus []string
	for _, d := range devices {
		if name := path.Base(d); name == "cpu" || name == "cpu_core" || name == "cpu_atom" ||
			strings.HasPrefix(name, "armv") {
			pmus = append(pmus, name)
		}
	}
	paranoid := v.Optional("/proc/sys/kernel/perf_event_paranoid")
	found := strings.Join(pmus, ", ") + ", perf_event_paranoid " + paranoid
	level, err := strconv.Atoi(paranoid)
	switch {
	case len(devices) == 0:
		return skip(dir + " does not exist or is empty")
	case len(pmus) == 0 && v.class.hypervisor != "":
		return skip(dir + " has no PMU of the processor: controlled by the hypervisor")
	case len(pmus) == 0:
		return warn("none", dir+" has no PMU of the processor")
	case err != nil:
		return unknown(found, "/proc/sys/kernel/perf_event_paranoid is not a number")
	case level > 2:
		return warn(found, "open to root only")
	default:
		return pass(found)
	}
}

// lookHeld examines the calling process, so only the daemon can run it.
func lookHeld(v *view) Outcome {
	if !v.daemon {
		return skip(notDaemon)
	}
	answer := v.mustAsk(perfAnswer, "/proc/self/fd/[fd]", countPerf)
	switch held, err := strconv.Atoi(answer); {
	case err != nil:
		return unknown(answer, "not a number of counters")
	case held == 0:
		return warn("none", "the next program to open a counter interrupts the runs of this host")
	default:
		return pass(text.Count(held, "counter"))
	}
}

// hardwareErrors sums the error counters. seen reports whether the host has any.
func (v *view) hardwareErrors() (counts map[string]uint64, seen bool) {
	v.saw("/sys/devices/system/edac/mc/mc[id]/{ce,ue}_count", "/proc/interrupts")
	counts = map[string]uint64{}
	for _, kind := range []string{"ce", "ue"} {
		files := v.Glob("/sys/devices/system/edac/mc/mc[0-9]*/" + kind + "_count")
		for _, f := range files {
			text := v.must(f)
			n, err := strconv.ParseUint(text, 10, 63)
			if err != nil && v.refused == nil {
				v.refused = new(unknown(text, "parse "+f+": not a number"))
			}
			counts[kind] += n
			seen = true
		}
	}
	interrupts := v.Optional("/proc/interrupts")
	machine, counted := rowTotal(interrupts, "MCE")
	deferred, _ := rowTotal(interrupts, "DFR")
	counts["machine"], counts["deferred"] = machine, deferred
	return counts, seen || counted
}

func total(counts map[string]uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func lookErrors(v *view) Outcome {
	counts, seen := v.hardwareErrors()
	found := fmt.Sprintf("corrected %d, uncorrected %d, machine checks %d, deferred %d", counts["ce"], counts["ue"],
		counts["machine"], counts["deferred"])
	switch {
	case !seen:
		return skip("/sys/devices/system/edac/mc does not exist, and /proc/interrupts has no row MCE")
	case counts["ue"] > 0 || counts["machine"] > 0:
		return fail(found, "memory or processor of this host is broken")
	case v.window != nil && total(counts) > v.window.before.errors:
		return fail(found, fmt.Sprintf("%d of them %s: memory is failing", total(counts)-v.window.before.errors,
			v.window))
	case counts["ce"] > 0 || counts["deferred"] > 0:
		return warn(found, "errors are corrected, at the cost of interrupts")
	default:
		return pass("none since boot")
	}
}

// Feature bits of a balloon device (virtio specification, 5.5.3). The file has the lowest bit first.
const (
	balloonDevice     = "0x0005"
	reportsFreePages  = 5
	hintsAtFreePages  = 3
	hypervBalloonPath = "/sys/bus/vmbus/drivers/hv_balloon"
)

func lookBalloon(v *view) Outcome {
	if v.class.hypervisor == "" {
		return skip("/proc/cpuinfo and its like name no hypervisor")
	}
	v.saw("/sys/bus/virtio/devices/[name]/{device,features}", hypervBalloonPath, "/sys/devices/system/xen_memory")
	var active, idle []string
	devices := v.Glob("/sys/bus/virtio/devices/*/device")
	for _, d := range devices {
		if v.Optional(d) != balloonDevice {
			continue
		}
		name, bits := path.Base(path.Dir(d)), v.Optional(path.Dir(d)+"/features")
		if bitSet(bits, reportsFreePages) || bitSet(bits, hintsAtFreePages) {
			active = append(active, name+" reports free pages")
		} else {
			idle = append(idle, name)
		}
	}
	if guids := v.Glob(hypervBalloonPath + "/*-*"); len(guids) > 0 {
		active = append(active, "hv_balloon")
	}
	if v.FS.Exists("/sys/devices/system/xen_memory/xen_memory0") {
		idle = append(idle, "xen_memory0")
	}
	switch {
	case len(active) > 0:
		return warn(listed(append(active, idle...)), "free memory goes back to the hypervisor and is faulted in again")
	case len(idle) > 0:
		return warn(listed(idle), "a balloon device may inflate at any time")
	case len(devices) == 0 && !v.FS.Exists("/sys/bus/vmbus"):
		return unknown("", "neither /sys/bus/virtio/devices nor /sys/bus/vmbus shows a device")
	default:
		return pass("no balloon among " + text.Count(len(devices), "device"))
	}
}

func bitSet(bits string, n int) bool { return n < len(bits) && bits[n] == '1' }

// Language is a programming language.
type Language struct {
	ID      string
	Missing string // why this host does not support it; "" if it does
}

// lookLanguages lists the languages. Only the operator knows which of them are needed.
func lookLanguages(v *view) Outcome {
	if v.options.Languages == nil {
		return skip("compilers and interpreters are looked up below /usr of this host, not of a captured one")
	}
	var available, missing []string
	for _, l := range v.options.Languages {
		if l.Missing == "" {
			available = append(available, l.ID)
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", l.ID, l.Missing))
		}
	}
	found := cmp.Or(strings.Join(available, ", "), "none")
	if len(missing) > 0 {
		found += "; missing: " + strings.Join(missing, ", ")
	}
	if len(available) == 0 {
		return warn(found, "no source can be compiled or interpreted, only programs can be judged")
	}
	return pass(found)
}

// Fingerprint returns the properties that the times of this host depend on, for comparison with other hosts of
// its pool. Errors are those of slots.Plan.
func Fingerprint(o Options) (api.Fingerprint, error) {
	h, err := settings.Examine(o.FS, o.CPUs, o.Width)
	if err != nil {
		return api.Fingerprint{}, err
	}
	return facts{Host: h}.fingerprint(o)
}

func (f facts) fingerprint(o Options) (api.Fingerprint, error) {
	planned, err := slots.Plan(f.Topology, o.CPUs, f.Width)
	if err != nil {
		return api.Fingerprint{}, &UsageError{Reason: err.Error()}
	}
	var cpus cpuset.Set
	for _, slot := range planned {
		cpus = cpus.Union(slot.CPUs)
	}
	return ReadFingerprint(Subject{FS: f.FS, Topology: f.Topology, Slots: planned,
		Turbo: machine.ReadTurbo(f.FS, cpus).Value, Class: o.Class, Program: o.Program, KernelConfig: o.KernelConfig}), nil
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
		cut = api.CutMembers()
		note = "; a captured host holds only part of its command line"
	}
	hard := api.Differences(here.Hard, v.options.Member.Hard, cut)
	soft := api.Differences(here.Soft, v.options.Member.Soft, cut)
	switch {
	case len(hard) > 0:
		return fail(here.Sum+", the pool has "+v.options.Member.Sum, describeDifferences(hard)+note)
	case len(soft) > 0:
		return warn(here.Sum, "differs where it may: "+describeDifferences(soft)+note)
	default:
		return pass(here.Sum + note)
	}
}

// describeDifferences names only a few differences, because different kinds of hosts have dozens.
func describeDifferences(differences []api.NodeDifference) string {
	const most = 5
	var lines []string
	for _, d := range differences[:min(most, len(differences))] {
		lines = append(lines, fmt.Sprintf("%s is %q, in the pool %q", d.Member, shortened(d.Node), shortened(d.Pool)))
	}
	if rest := len(differences) - most; rest > 0 {
		lines = append(lines, text.Count(rest, "more difference"))
	}
	return strings.Join(lines, "; ")
}

// shortened truncates long values in the report. The full values are in --fingerprint.
func shortened(value string) string {
	const most = 60
	if r := []rune(value); len(r) > most {
		return string(r[:most]) + "…"
	}
	return value
}
