package doctor

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/boot"
	"judged/internal/host/proc"
)

// queueNames are parts of the names that drivers give to the interrupts of their queues: nvme0q8, eth0-TxRx-3,
// mlx5_comp3, virtio0-input.0 and virtio1-req.0.
func queueNames() []string {
	return []string{"nvme", "TxRx", "-rx-", "-tx-", "mlx5_comp", "-input", "-output", "-req"}
}

func lookManaged(v *view) Outcome {
	cmdline := v.must("/proc/cmdline")
	v.saw("/proc/interrupts", "/proc/irq/[irq]/smp_affinity_list")
	rows := parseInterrupts(v.Optional("/proc/interrupts"))
	if len(rows) == 0 {
		return skip("/proc/interrupts does not exist or has no numbered row")
	}
	var queues []string
	for irq, row := range rows {
		if !slices.ContainsFunc(queueNames(), func(part string) bool { return strings.Contains(row.name, part) }) {
			continue
		}
		target, err := v.irqTarget("/proc/irq/" + irq)
		if err == nil && target.Overlaps(v.Reserved) {
			queues = append(queues, row.name)
		}
	}
	slices.Sort(queues)
	switch {
	case len(queues) == 0:
		return pass("no queue on CPU " + v.Reserved.String())
	case strings.Contains(boot.Option(cmdline, "isolcpus"), "managed_irq"):
		return pass(listed(queues) + ", managed_irq requested")
	default:
		return warn(listed(queues), "queues on reserved CPUs, and isolcpus= does not say managed_irq")
	}
}

func lookBalancer(v *view) Outcome {
	if !v.FS.Exists("/proc/irq/default_smp_affinity") {
		return skip("/proc/irq/default_smp_affinity does not exist: there are no interrupts to balance")
	}
	v.saw("/proc/irq/default_smp_affinity", "/proc/[pid]/environ")
	blind := v.blind()
	for _, t := range v.tasks {
		if t.Kernel() || t.Name != "irqbalance" {
			continue
		}
		environ, err := v.FS.Read(fmt.Sprintf("/proc/%d/environ", t.PID))
		if err != nil {
			return warn("running", "cannot read its environment: "+err.Error())
		}
		banned, err := cpuset.Parse(proc.Variable(environ, "IRQBALANCE_BANNED_CPULIST"))
		if err == nil && v.Reserved.IsSubsetOf(banned) {
			return pass("running, CPU " + banned.String() + " banned")
		}
		return warn("running", "CPU "+v.Reserved.Minus(banned).String()+" not banned")
	}
	if blind != "" {
		return unknown("", blind)
	}
	return pass("not running")
}
