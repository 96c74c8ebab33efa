package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

func interruptChecks() []check {
	return []check{{
		id: "irq-managed", title: "queues of disks and network cards", severity: S2,
		wanted:  "managed_irq in isolcpus=, or no queue of a device on CPU {R}",
		effect:  "nobody can move these interrupts at run time; each costs the run its handler, 2 to 10 us (estimate)",
		confirm: "grep -E 'nvme|TxRx|-rx-|-tx-|input|output|req' /proc/interrupts",
		fix:     Fix{Runtime: []string{"cd /sys/class/net && for d in */device; do ethtool -L $(dirname $d) combined 1; done"}, Boot: "isolcpus=managed_irq,domain,{R}; nvme.write_queues=1 for disks"},
		look:    lookManaged,
	}, {
		id: "irqbalance", title: "irqbalance", severity: S2,
		wanted:  "not running, or with CPU {R} in IRQBALANCE_BANNED_CPULIST",
		effect:  "every 10 s it may move interrupts back to reserved CPUs (its manual page); what they cost there says irq-affinity (estimate)",
		confirm: "pgrep -a irqbalance",
		fix:     Fix{Runtime: []string{"systemctl stop irqbalance"}, Boot: "IRQBALANCE_BANNED_CPULIST={R} in /etc/default/irqbalance, or systemctl disable irqbalance"},
		look:    lookBalancer,
	}, {
		id: "net-rps-xps", title: "steering of network packets", severity: S3,
		wanted:  "no rps_cpus and no xps_cpus of a network device names CPU {R}",
		effect:  "packets are handled by a soft interrupt on the CPU that is named: 1 to 5 us each (estimate)",
		confirm: "grep . /sys/class/net/*/queues/*/?ps_cpus",
		fix: Fix{Runtime: []string{"for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo 0 > $f; done",
			"for f in /sys/class/net/*/queues/tx-*/xps_cpus; do echo {HM} > $f; done"}},
		look: lookSteering,
	}, {
		id: "wq-unbound", title: "unbound kernel workers", severity: S2,
		wanted:  "/sys/devices/virtual/workqueue/cpumask and the masks below it are {HM} or less",
		effect:  "writeback, crypto and storage workers preempt the run for 10 us to 1 ms at a time (measured gaps)",
		confirm: "grep . /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask",
		fix:     Fix{Runtime: []string{"for f in /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask; do echo {HM} > $f; done"}, Boot: "isolcpus=domain,{R} or nohz_full={R}: the kernel then starts with this mask"},
		look:    lookWorkers,
	}}
}

// queueNames are how drivers call the interrupts of their queues: nvme0q8, eth0-TxRx-3,
// mlx5_comp3, virtio0-input.0 and virtio1-req.0.
func queueNames() []string {
	return []string{"nvme", "TxRx", "-rx-", "-tx-", "mlx5_comp", "-input", "-output", "-req"}
}

func lookManaged(v *view) Outcome {
	cmdline, bad := v.word("/proc/cmdline")
	if bad != nil {
		return *bad
	}
	v.saw("/proc/interrupts", "/proc/irq/[irq]/smp_affinity_list")
	rows := parseInterrupts(v.optional("/proc/interrupts"))
	if len(rows) == 0 {
		return skip("/proc/interrupts does not exist or has no numbered row")
	}
	var queues []string
	for irq, row := range rows {
		if !slices.ContainsFunc(queueNames(), func(part string) bool { return strings.Contains(row.name, part) }) {
			continue
		}
		target, err := v.irqTarget("/proc/irq/" + irq)
		if err == nil && target.Overlaps(v.reserved) {
			queues = append(queues, row.name)
		}
	}
	slices.Sort(queues)
	switch {
	case len(queues) == 0:
		return pass("no queue on CPU " + v.reserved.String())
	case strings.Contains(bootOption(cmdline, "isolcpus"), "managed_irq"):
		return pass(listed(queues) + ", managed_irq asked for")
	default:
		return warn(listed(queues), "queues on reserved CPUs, and isolcpus= does not say managed_irq")
	}
}

func lookBalancer(v *view) Outcome {
	if !v.fs.Exists("/proc/irq/default_smp_affinity") {
		return skip("/proc/irq/default_smp_affinity does not exist: there are no interrupts to balance")
	}
	v.saw("/proc/irq/default_smp_affinity", "/proc/[pid]/environ")
	blind := v.blind()
	for _, t := range v.tasks {
		if t.kernel() || t.comm != "irqbalance" {
			continue
		}
		environ, err := v.fs.Read(fmt.Sprintf("/proc/%d/environ", t.pid))
		if err != nil {
			return warn("running", "cannot look at its environment: "+err.Error())
		}
		banned, err := cpuset.Parse(variable(environ, "IRQBALANCE_BANNED_CPULIST"))
		if err == nil && v.reserved.IsSubsetOf(banned) {
			return pass("running, CPU " + banned.String() + " banned")
		}
		return warn("running", "CPU "+v.reserved.Minus(banned).String()+" not banned")
	}
	if blind != "" {
		return unknown("", blind)
	}
	return pass("not running")
}

// variable finds one variable in /proc/<pid>/environ. The others are not ours to look at.
func variable(environ, name string) string {
	for e := range strings.SplitSeq(environ, "\x00") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(e), name+"="); ok {
			return value
		}
	}
	return ""
}

func lookSteering(v *view) Outcome {
	return v.masks("/sys/class/net/[device]/queues/[queue]/[rx]ps_cpus",
		"/sys/class/net/*/queues/rx-*/rps_cpus", "/sys/class/net/*/queues/tx-*/xps_cpus")
}

func lookWorkers(v *view) Outcome {
	const file = "/sys/devices/virtual/workqueue/cpumask"
	text, bad := v.word(file)
	if bad != nil {
		return *bad
	}
	set, err := cpuset.Parse("0x" + text)
	switch {
	case err != nil:
		return unknown(text, "parse "+file+": "+err.Error())
	case set.Overlaps(v.reserved):
		return fail("CPU "+set.String(), "unbound workers may run on CPU "+set.Intersect(v.reserved).String())
	}
	if o := v.masks("/sys/devices/virtual/workqueue/[name]/cpumask", "/sys/devices/virtual/workqueue/*/cpumask"); o.Status == Warn {
		return o
	}
	return pass("CPU " + set.String())
}

// masks warns of every mask among the files that names a reserved CPU.
func (v *view) masks(name string, patterns ...string) Outcome {
	v.saw(name)
	var seen int
	var astray []string
	for _, p := range patterns {
		// An unreadable pattern cannot happen: they are constants.
		files, _ := v.fs.Glob(p)
		for _, f := range files {
			text, err := v.fs.Read(f)
			if errors.Is(err, fs.ErrPermission) {
				return warn("unreadable", "cannot look: "+err.Error())
			}
			// A device with one queue refuses to tell its xps_cpus (ENOENT): it has none.
			set, perr := cpuset.Parse("0x" + text)
			if err != nil || perr != nil {
				continue
			}
			seen++
			if set.Overlaps(v.reserved) {
				before, _, _ := strings.Cut(p, "*")
				astray = append(astray, strings.TrimPrefix(f, before)+" (CPU "+set.Intersect(v.reserved).String()+")")
			}
		}
	}
	switch {
	case seen == 0:
		return skip(name + " does not exist")
	case len(astray) > 0:
		return warn(listed(astray), "reserved CPUs are named")
	default:
		return pass(counted(seen, "mask") + ", none with CPU " + v.reserved.String())
	}
}
