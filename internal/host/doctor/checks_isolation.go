package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

func isolationChecks() []check {
	return []check{{
		id: "sched-isolated", title: "isolated from the scheduler", severity: S1,
		wanted:  "CPU {R} in isolcpus= or in a cgroup v2 partition",
		effect:  "spread of 20 runs 2230 -> 375 ms with isolated cores (published experiment)",
		confirm: "cat /sys/devices/system/cpu/isolated /sys/fs/cgroup/cpuset.cpus.isolated",
		mend:    mendIsolation,
		look:    lookIsolated,
	}, {
		id: "width-vs-isolation", title: "slot width against isolation", severity: S1,
		wanted:  "slots of one CPU, or CPUs that the scheduler balances among themselves (partition root)",
		effect:  "nothing balances load onto isolated CPUs: of two threads in a slot of two, one got 1508 ms of CPU and the other 0 (measured in a guest)",
		confirm: "grep . /sys/devices/system/cpu/isolated /sys/fs/cgroup/*/cpuset.cpus.partition",
		fix: Fix{Runtime: []string{setFile("root", "/sys/fs/cgroup/judged/cpuset.cpus.partition") + "   # where a partition isolates them (cgroup v2)"},
			Boot: mendWidth(facts{}).Boot},
		mend: mendWidth,
		look: lookWidth,
	}, {
		id: "nohz-full", title: "tick stopped", severity: S2,
		wanted:  "nohz_full holds CPU {R}",
		effect:  "17 us for each of 250 ticks a second, 0.6 % (measured in a virtual machine); 0.05 to 0.1 % on bare metal (estimate)",
		confirm: "cat /sys/devices/system/cpu/nohz_full",
		fix:     Fix{Boot: "nohz_full={R}"},
		look:    lookTick,
	}, {
		id: "irq-affinity", title: "device interrupts", severity: S1,
		wanted:  "no interrupt goes to CPU {R}; the mask in /proc/irq/default_smp_affinity is {HM}",
		effect:  "each interrupt takes its handler's time out of the run and its lines out of the caches; a busy disk or network card raises thousands a second (kernel documentation, cpu-isolation)",
		confirm: "grep . /proc/irq/default_smp_affinity /proc/irq/*/effective_affinity_list",
		fix: Fix{Runtime: []string{"echo {HM} > /proc/irq/default_smp_affinity",
			"for f in /proc/irq/*/smp_affinity_list; do echo {H} > $f; done"},
			Boot: "irqaffinity={H} isolcpus=managed_irq,..."},
		look: lookInterrupts,
	}}
}

func lookIsolated(v *view) Outcome {
	v.saw(cpuDir + "/isolated")
	if _, v2 := v.hierarchies(); v2 != nil {
		v.saw(v2.point+"/cpuset.cpus.isolated", v2.point+"/[cgroup]/cpuset.cpus.partition")
	}
	by := []string{}
	if v.top.BootIsolated.Overlaps(v.reserved) {
		by = append(by, "isolcpus "+v.top.BootIsolated.String())
	}
	if v.top.PartitionIsolated.Overlaps(v.reserved) {
		by = append(by, "partition isolated "+v.top.PartitionIsolated.String())
	}
	for _, p := range v.top.Partitions {
		if p.Type == "root" && p.CPUs.Overlaps(v.reserved) {
			by = append(by, "partition root "+p.CPUs.String())
		}
	}
	missing := v.reserved.Minus(v.alone())
	found := strings.Join(by, ", ")
	if found == "" {
		found = "nothing isolated"
	}
	if len(missing) > 0 {
		return fail(found, "the scheduler places any task on CPU "+missing.String())
	}
	return pass(found)
}

func lookWidth(v *view) Outcome {
	v.saw(cpuDir + "/isolated")
	isolated := v.reserved.Intersect(v.top.Isolated)
	found := fmt.Sprintf("width %d, isolated %s", v.width, orNone(isolated.String()))
	if v.width > 1 && len(isolated) > 0 {
		return fail(found, "threads of one run stay on the CPU where they began")
	}
	return pass(found)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func lookTick(v *view) Outcome {
	const file = cpuDir + "/nohz_full"
	set, bad := v.word(file)
	switch {
	case bad != nil && bad.Status == Skip:
		// Not a skip: every kernel with CONFIG_NO_HZ_FULL has the file, so its absence is an answer.
		return warn("not built in", file+" does not exist: the kernel is built without CONFIG_NO_HZ_FULL")
	case bad != nil:
		return *bad
	case set == "(null)" || set == "":
		return warn("not in use", "the kernel can, but nohz_full= is not on its command line")
	}
	if missing := v.reserved.Minus(v.top.NohzFull); len(missing) > 0 {
		return warn(set, "the tick goes on on CPU "+missing.String())
	}
	return pass(set)
}

// lookInterrupts takes the effective affinity, which is where an interrupt really goes; what was
// asked for may name more CPUs.
func lookInterrupts(v *view) Outcome {
	v.saw("/proc/irq/[irq]/effective_affinity_list", "/proc/interrupts", "/proc/irq/default_smp_affinity")
	dirs, err := v.fs.Glob("/proc/irq/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return skip("/proc/irq/[irq] does not exist")
	}
	rows, earlier := parseInterrupts(v.optional("/proc/interrupts")), map[string]irqRow{}
	if v.window != nil {
		earlier = parseInterrupts(v.window.before.interrupts)
	}
	var aimed, hit, unread []string
	for _, dir := range dirs {
		irq := dir[strings.LastIndexByte(dir, '/')+1:]
		target, err := v.irqTarget(dir)
		if err != nil {
			unread = append(unread, irq)
			continue
		}
		on := target.Intersect(v.reserved)
		if len(on) == 0 {
			continue
		}
		label, count := describeIRQ(irq, rows[irq], on)
		aimed = append(aimed, label)
		if _, before := describeIRQ(irq, earlier[irq], on); count > before {
			hit = append(hit, label)
		}
	}
	byNumber := func(a, b string) int { return leadingInt(a) - leadingInt(b) }
	slices.SortFunc(aimed, byNumber)
	slices.SortFunc(hit, byNumber)
	future, ok := v.defaultTarget()
	switch {
	case len(hit) > 0:
		return fail(listed(hit), counted(len(hit), "interrupt")+" aimed at reserved CPUs and raised there "+v.ever())
	case len(aimed) > 0:
		return warn(listed(aimed), counted(len(aimed), "interrupt")+" aimed at reserved CPUs, none raised there "+v.ever())
	case len(unread) > 0:
		return warn("unreadable", "cannot read the affinity of interrupt "+listed(unread))
	case !ok:
		return warn("none on CPU "+v.reserved.String(), "/proc/irq/default_smp_affinity cannot be read")
	case future.Overlaps(v.reserved):
		return warn("none on CPU "+v.reserved.String()+", default "+future.String(), "a device that appears later may interrupt reserved CPUs")
	default:
		return pass(fmt.Sprintf("%s, none on CPU %s", counted(len(dirs), "interrupt"), v.reserved))
	}
}

// irqTarget falls back to the wish where the kernel does not keep the effective target.
func (v *view) irqTarget(dir string) (cpuset.Set, error) {
	file := dir + "/effective_affinity_list"
	if !v.fs.Exists(file) {
		file = dir + "/smp_affinity_list"
	}
	s, err := v.fs.Read(file)
	if err != nil {
		return nil, err
	}
	return cpuset.Parse(s)
}

// defaultTarget is a mask without the prefix that cpuset wants.
func (v *view) defaultTarget() (cpuset.Set, bool) {
	s, err := v.fs.Read("/proc/irq/default_smp_affinity")
	if err != nil {
		return nil, false
	}
	set, err := cpuset.Parse("0x" + s)
	return set, err == nil
}

func describeIRQ(irq string, row irqRow, on cpuset.Set) (string, uint64) {
	var count uint64
	for _, id := range on {
		count += row.counts[id]
	}
	name := row.name
	if name == "" {
		name = "unnamed"
	}
	return fmt.Sprintf("%s %s on CPU %s (%d)", irq, name, on, count), count
}

func leadingInt(s string) int {
	number, _, _ := strings.Cut(s, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}
