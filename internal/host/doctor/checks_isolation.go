package doctor

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/settings"
)

func lookIsolated(v *view) Outcome {
	v.saw(cpuDir + "/isolated")
	if _, v2 := v.hierarchies(); v2 != nil {
		v.saw(v2.Point+"/cpuset.cpus.isolated", v2.Point+"/[cgroup]/cpuset.cpus.partition")
	}
	by := []string{}
	if v.Topology.BootIsolated.Overlaps(v.Reserved) {
		by = append(by, "isolcpus "+v.Topology.BootIsolated.String())
	}
	if v.Topology.PartitionIsolated.Overlaps(v.Reserved) {
		by = append(by, "partition isolated "+v.Topology.PartitionIsolated.String())
	}
	for _, p := range v.Topology.Partitions {
		if p.Type == "root" && p.CPUs.Overlaps(v.Reserved) {
			by = append(by, "partition root "+p.CPUs.String())
		}
	}
	missing := v.Reserved.Minus(v.alone())
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
	isolated := v.Reserved.Intersect(v.Topology.Isolated)
	found := fmt.Sprintf("width %d, isolated %s", v.Width, orNone(isolated.String()))
	if v.Width > 1 && len(isolated) > 0 {
		return fail(found, "threads of a run stay on the CPU on which they started")
	}
	return pass(found)
}

// nohzFull exists where the kernel is built with CONFIG_NO_HZ_FULL.
const nohzFull = cpuDir + "/nohz_full"

func lookTick(v *view) Outcome {
	set, ok := v.try(nohzFull)
	switch {
	case !ok:
		// Not a skip: every kernel with CONFIG_NO_HZ_FULL has the file, so its absence is an answer.
		return warn("not built in", nohzFull+" does not exist: the kernel is built without CONFIG_NO_HZ_FULL")
	case set == "(null)" || set == "":
		return warn("not in use", "the kernel supports it, but nohz_full= is not on its command line")
	}
	if missing := v.Reserved.Minus(v.Topology.NohzFull); len(missing) > 0 {
		return warn(set, "the tick of CPU "+missing.String()+" does not stop")
	}
	return pass(set)
}

// lookInterrupts uses the effective affinity, which is where an interrupt goes; the requested one may name more CPUs.
func lookInterrupts(v *view) Outcome {
	v.saw("/proc/irq/[irq]/effective_affinity_list", "/proc/interrupts", "/proc/irq/default_smp_affinity")
	dirs, err := v.FS.Glob("/proc/irq/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return skip("/proc/irq/[irq] does not exist")
	}
	rows, earlier := parseInterrupts(v.Optional("/proc/interrupts")), map[string]irqRow{}
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
		on := target.Intersect(v.Reserved)
		if len(on) == 0 {
			continue
		}
		label, count := describeIRQ(irq, rows[irq], on)
		aimed = append(aimed, label)
		if _, before := describeIRQ(irq, earlier[irq], on); count > before {
			hit = append(hit, label)
		}
	}
	slices.SortFunc(aimed, text.Natural)
	slices.SortFunc(hit, text.Natural)
	future, err := settings.Mask.Set(v.Optional("/proc/irq/default_smp_affinity"))
	switch {
	case len(hit) > 0:
		return fail(listed(hit), counted(len(hit), "interrupt")+" aimed at reserved CPUs and raised there "+v.since())
	case len(aimed) > 0:
		return warn(listed(aimed), counted(len(aimed),
			"interrupt")+" aimed at reserved CPUs, none raised there "+v.since())
	case len(unread) > 0:
		return warn("unreadable", "cannot read the affinity of interrupt "+listed(unread))
	case err != nil:
		return warn("none on CPU "+v.Reserved.String(), "cannot read /proc/irq/default_smp_affinity")
	case future.Overlaps(v.Reserved):
		return warn("none on CPU "+v.Reserved.String()+", default "+future.String(),
			"a device that is added later may interrupt reserved CPUs")
	default:
		return pass(fmt.Sprintf("%s, none on CPU %s", counted(len(dirs), "interrupt"), v.Reserved))
	}
}

// irqTarget uses the requested affinity where the kernel does not show the effective one.
func (v *view) irqTarget(dir string) (cpuset.Set, error) {
	file := dir + "/effective_affinity_list"
	if !v.FS.Exists(file) {
		file = dir + "/smp_affinity_list"
	}
	s, err := v.FS.Read(file)
	if err != nil {
		return nil, err
	}
	return cpuset.Parse(s)
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
