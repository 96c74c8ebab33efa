package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

func machineChecks() []check {
	return []check{{
		id: "pmu", title: "hardware counters", severity: Info,
		wanted:  "a PMU of the processor in /sys/bus/event_source/devices, perf_event_paranoid 2 or less",
		effect:  "without them nobody can count instructions or the cycles of a run: evidence is missing, times are not affected (by definition)",
		confirm: "ls /sys/bus/event_source/devices; cat /proc/sys/kernel/perf_event_paranoid",
		fix:     Fix{Runtime: []string{"echo 2 > /proc/sys/kernel/perf_event_paranoid"}, Boot: "a virtual PMU in the settings of the virtual machine"},
		look:    lookCounters,
	}, {
		id: "perf-keys", title: "counters held open", severity: S3,
		wanted:  "the daemon holds counters of the kernel open",
		effect:  "who opens the first event of a kind makes the kernel patch its own text and interrupt every CPU, 36 to 65 us each time; with one held open by somebody 5 us and no interrupt (measured)",
		confirm: "ls -l /proc/$(pidof -s judged)/fd | grep -c perf_event",
		fix:     Fix{Runtime: []string{"echo 2 > /proc/sys/kernel/perf_event_paranoid", "systemctl restart judged"}, Boot: "judged as deploy/judged.service starts it, and no lockdown=confidentiality on the kernel command line"},
		look:    lookHeld,
	}, {
		id: "ecc-mce", title: "faults of memory and machine", severity: S2,
		wanted:  "no corrected and no uncorrected error since boot",
		effect:  "each is an interrupt and often a retired page with its copy: 0.1 to 10 ms in the middle of a run (estimate)",
		confirm: "grep . /sys/devices/system/edac/mc/mc*/?e_count; grep -E 'MCE|DFR' /proc/interrupts",
		fix:     Fix{Boot: "replace the module that rasdaemon or the firmware's log names"},
		look:    lookFaults,
	}, {
		id: "vm-noise", title: "memory that the hypervisor takes back", severity: S2,
		wanted:  "no balloon device, no reporting of free pages",
		effect:  "memory that was taken back is faulted in by the host at first touch: CPU time of a sieve 405 ms instead of 296 (measured)",
		confirm: "grep -l 0x0005 /sys/bus/virtio/devices/*/device; ls /sys/bus/vmbus/drivers/hv_balloon",
		fix:     Fix{Runtime: []string{"cd /sys/bus/virtio/drivers/virtio_balloon && for d in virtio*; do echo $d > unbind; done"}, Boot: "no balloon, and memory that is locked, in the settings of the virtual machine"},
		look:    lookBalloon,
	}}
}

func lookCounters(v *view) Outcome {
	const dir = "/sys/bus/event_source/devices"
	v.saw(dir+"/[name]/type", "/proc/sys/kernel/perf_event_paranoid")
	// An unreadable pattern cannot happen: it is a constant.
	devices, _ := v.fs.Glob(dir + "/*")
	var pmus []string
	for _, d := range devices {
		if name := path.Base(d); name == "cpu" || name == "cpu_core" || name == "cpu_atom" || strings.HasPrefix(name, "armv") {
			pmus = append(pmus, name)
		}
	}
	paranoid, bad := v.word("/proc/sys/kernel/perf_event_paranoid")
	found := strings.Join(pmus, ", ") + ", perf_event_paranoid " + paranoid
	level, err := strconv.Atoi(paranoid)
	switch {
	case len(devices) == 0:
		return skip(dir + " does not exist or is empty")
	case len(pmus) == 0 && v.class.hypervisor != "":
		return skip(dir + " has no PMU of the processor: controlled by the hypervisor")
	case len(pmus) == 0:
		return warn("none", dir+" has no PMU of the processor")
	case bad != nil:
		return *bad
	case err != nil:
		return unknown(found, "/proc/sys/kernel/perf_event_paranoid is not a number")
	case level > 2:
		return warn(found, "closed to all but root")
	default:
		return pass(found)
	}
}

// lookHeld, like lookDaemon, can only look at its own process.
func lookHeld(v *view) Outcome {
	if !v.daemon {
		return skip("this process is not the daemon; GET /v1/doctor asks the daemon itself")
	}
	text, bad := v.ask(perfAnswer, "/proc/self/fd/[fd]", countPerf)
	if bad != nil {
		return *bad
	}
	switch held, err := strconv.Atoi(text); {
	case err != nil:
		return unknown(text, "not a number of counters")
	case held == 0:
		return warn("none", "the first counter that anybody opens interrupts the runs of this host")
	default:
		return pass(counted(held, "counter"))
	}
}

// faults adds up what lookFaults tells; seen says whether anything counts.
func (v *view) faults() (counts map[string]uint64, seen bool, bad *Outcome) {
	v.saw("/sys/devices/system/edac/mc/mc[id]/{ce,ue}_count", "/proc/interrupts")
	counts = map[string]uint64{}
	for _, kind := range []string{"ce", "ue"} {
		// An unreadable pattern cannot happen: it is a constant.
		files, _ := v.fs.Glob("/sys/devices/system/edac/mc/mc[0-9]*/" + kind + "_count")
		for _, f := range files {
			text, bad := v.word(f)
			if bad != nil {
				return nil, false, bad
			}
			n, err := strconv.ParseUint(text, 10, 63)
			if err != nil {
				o := unknown(text, "parse "+f+": not a number")
				return nil, false, &o
			}
			counts[kind] += n
			seen = true
		}
	}
	interrupts := v.optional("/proc/interrupts")
	machine, told := rowTotal(interrupts, "MCE")
	deferred, _ := rowTotal(interrupts, "DFR")
	counts["machine"], counts["deferred"] = machine, deferred
	return counts, seen || told, nil
}

func total(counts map[string]uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func lookFaults(v *view) Outcome {
	counts, seen, bad := v.faults()
	if bad != nil {
		return *bad
	}
	found := fmt.Sprintf("corrected %d, uncorrected %d, machine checks %d, deferred %d", counts["ce"], counts["ue"], counts["machine"], counts["deferred"])
	switch {
	case !seen:
		return skip("/sys/devices/system/edac/mc does not exist, and /proc/interrupts has no row MCE")
	case counts["ue"] > 0 || counts["machine"] > 0:
		return fail(found, "memory or processor of this host are broken")
	case v.window != nil && total(counts) > v.window.before.faults:
		return fail(found, fmt.Sprintf("%d of them %s: memory is breaking now", total(counts)-v.window.before.faults, v.window))
	case counts["ce"] > 0 || counts["deferred"] > 0:
		return warn(found, "errors are corrected, at the cost of interrupts")
	default:
		return pass("none since boot")
	}
}

// Bits of a balloon's features (virtio specification, 5.5.3), the lowest first in the file.
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
	// An unreadable pattern cannot happen: they are constants.
	devices, _ := v.fs.Glob("/sys/bus/virtio/devices/*/device")
	for _, d := range devices {
		if v.optional(d) != balloonDevice {
			continue
		}
		name, bits := path.Base(path.Dir(d)), v.optional(path.Dir(d)+"/features")
		if bitSet(bits, reportsFreePages) || bitSet(bits, hintsAtFreePages) {
			active = append(active, name+" reports free pages")
		} else {
			idle = append(idle, name)
		}
	}
	if guids, _ := v.fs.Glob(hypervBalloonPath + "/*-*"); len(guids) > 0 {
		active = append(active, "hv_balloon")
	}
	if v.fs.Exists("/sys/devices/system/xen_memory/xen_memory0") {
		idle = append(idle, "xen_memory0")
	}
	switch {
	case len(active) > 0:
		return warn(listed(append(active, idle...)), "free memory goes back to the host and must be faulted in again")
	case len(idle) > 0:
		return warn(listed(idle), "a balloon is there, and may be blown up at any time")
	case len(devices) == 0 && !v.fs.Exists("/sys/bus/vmbus"):
		return unknown("", "neither /sys/bus/virtio/devices nor /sys/bus/vmbus shows a device")
	default:
		return pass("no balloon among " + counted(len(devices), "device"))
	}
}

func bitSet(bits string, n int) bool { return n < len(bits) && bits[n] == '1' }
