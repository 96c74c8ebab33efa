package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/hostfs"
)

func lookPartitions(v *view) Outcome {
	_, v2 := v.hierarchies()
	if v2 == nil {
		return skip("/proc/mounts has no cgroup v2, so no file cpuset.cpus.partition exists")
	}
	v.saw(v2.Point + "/[cgroup]/cpuset.cpus.partition")
	held, broken := v.partitions(v2.Point)
	for _, list := range [][]string{held, broken} {
		for i, dir := range list {
			list[i] = strings.TrimPrefix(dir, v2.Point) + ": " + v.Optional(dir+"/cpuset.cpus.partition")
		}
	}
	switch {
	case len(broken) > 0:
		return fail(listed(broken), text.Count(len(broken), "partition")+" invalid: they isolate nothing")
	case len(held) > 0:
		return pass(listed(held))
	default:
		return skip("no " + v2.Point + "/[cgroup]/cpuset.cpus.partition makes a partition of reserved CPUs")
	}
}

// partitions returns the groups configured as partitions of reserved CPUs, valid and invalid.
func (f facts) partitions(point string) (held, broken []string) {
	for _, level := range []string{"/*", "/*/*"} {
		files := f.Glob(point + level + "/cpuset.cpus.partition")
		for _, file := range files {
			kind, dir := f.Optional(file), path.Dir(file)
			cpus, err := cpuset.Parse(f.Optional(dir + "/cpuset.cpus"))
			switch {
			case kind == "" || kind == "member" || err == nil && len(cpus) > 0 && !cpus.Overlaps(f.Reserved):
			case kind == "root" || kind == "isolated":
				held = append(held, dir)
			default: // also "root invalid", with the reason in parentheses
				broken = append(broken, dir)
			}
		}
	}
	return held, broken
}

func lookAutogroup(v *view) Outcome {
	o := v.values()
	if o.Status == api.DoctorWarn && len(v.Reserved.Minus(v.alone())) == 0 {
		return pass(o.Found + ", without effect on isolated CPUs")
	}
	return o
}

// alone returns the CPUs on which the scheduler places no other tasks. A partition of type root also keeps out
// other tasks; tasks are balanced only within it.
func (f facts) alone() cpuset.Set {
	alone := f.Topology.Isolated
	for _, p := range f.Topology.Partitions {
		if p.Type == "root" {
			alone = alone.Union(p.CPUs)
		}
	}
	return alone
}

func lookRealTime(v *view) Outcome {
	s := v.must("/proc/sys/kernel/sched_rt_runtime_us")
	blind := v.blind()
	var names []string
	for _, t := range v.tasks {
		label := fmt.Sprintf("%s (%s)", t.Name, t.Allowed)
		if !t.Kernel() && t.RealTime && t.Allowed.Overlaps(v.Reserved) && !slices.Contains(names, label) {
			names = append(names, label)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) > 0 && s == "-1":
		return fail(listed(names), "they may keep a run off its CPU forever: kernel.sched_rt_runtime_us is -1")
	case len(names) > 0:
		return warn(listed(names), "they preempt every run, for up to "+s+" us of each second")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}

func lookUserTasks(v *view) Outcome {
	blind := v.blind()
	allowed, ran := v.intruders(func(t hostfs.Thread) bool { return !t.Kernel() && !t.Ours })
	switch {
	case len(ran) > 0:
		return fail(listed(ran), fmt.Sprintf("%s may run on CPU %s, %d ran there last", text.Count(len(allowed), "kind"),
			v.Reserved, len(ran)))
	case len(allowed) > 0:
		return warn(listed(allowed), "may run on CPU "+v.Reserved.String()+", though none ran there last")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}

// lately describes when a kernel thread ran on its CPU. Without a window only its last CPU is known.
func (f facts) lately() string {
	if f.window == nil {
		return "last"
	}
	return f.window.String()
}

func lookKernelThreads(v *view) Outcome {
	if blind := v.blind(); blind != "" {
		return unknown("", blind)
	}
	bound := 0
	for _, t := range v.tasks {
		if ownedByCPU(t) && t.Allowed.Overlaps(v.Reserved) {
			bound++
		}
	}
	allowed, ran := v.intruders(func(t hostfs.Thread) bool { return t.Kernel() && !ownedByCPU(t) })
	own := fmt.Sprintf("%d that belong to the CPUs", bound)
	switch {
	case len(ran) > 0:
		return fail(listed(ran)+"; "+own, fmt.Sprintf("%s may run on CPU %s, %d ran there %s",
			text.Count(len(allowed), "kind"), v.Reserved, len(ran), v.lately()))
	case len(allowed) > 0:
		return warn(listed(allowed)+"; "+own,
			"may run on CPU "+v.Reserved.String()+", though none ran there "+v.lately())
	default:
		return pass(own)
	}
}

// lookDaemon examines the calling process, so only the daemon can run it.
func lookDaemon(v *view) Outcome {
	if !v.daemon {
		return skip(notDaemon)
	}
	v.saw("/proc/self/task/[tid]/status")
	files, err := v.FS.Glob("/proc/self/task/[0-9]*/status")
	if err != nil || len(files) == 0 {
		return skip("/proc/self/task/[tid]/status does not exist")
	}
	astray := 0
	var where cpuset.Set
	for _, f := range files {
		set, err := cpuset.Parse(hostfs.StatusField(v.Optional(f), "Cpus_allowed_list"))
		if err != nil {
			return unknown("", "parse "+f+": "+err.Error())
		}
		where = where.Union(set)
		if set.Overlaps(v.Reserved) {
			astray++
		}
	}
	found := fmt.Sprintf("%s on CPU %s", text.Count(len(files), "thread"), where)
	if astray > 0 {
		return fail(found, fmt.Sprintf("%d of them may run on CPU %s", astray, v.Reserved))
	}
	return pass(found)
}

// notDaemon is the reason for skipping checks of the daemon's own process.
const notDaemon = "this process is not the daemon; see GET /v1/doctor"

// ownedByCPU reports whether t is a kernel thread of one CPU, such as ksoftirqd/2.
func ownedByCPU(t hostfs.Thread) bool { return t.Kernel() && len(t.Allowed) == 1 }

// intruders returns the threads that may run on the reserved CPUs, with their CPUs, and those that last ran
// there. Kernel threads may be idle there for years, so they count only if they ran in the window. A name is
// listed once for each set of CPUs.
func (v *view) intruders(of func(hostfs.Thread) bool) (allowed, ran []string) {
	count, seen := map[string]int{}, map[string]bool{}
	for _, t := range v.tasks {
		if t.State == "Z" || t.State == "X" || !of(t) || !t.Allowed.Overlaps(v.Reserved) {
			continue
		}
		// Names such as kworker/u4:2-events_unbound contain the last work item.
		name, _, _ := strings.Cut(t.Name, "-events")
		label := fmt.Sprintf("%s (%s)", name, t.Allowed)
		count[label]++
		if v.Reserved.Contains(t.CPU) && (v.window == nil || !t.Kernel() || v.window.ran(t)) {
			seen[label] = true
		}
	}
	for label, n := range count {
		text := label
		if n > 1 {
			text = fmt.Sprintf("%s x%d", label, n)
		}
		allowed = append(allowed, text)
		if seen[label] {
			ran = append(ran, text)
		}
	}
	slices.Sort(allowed)
	slices.Sort(ran)
	return allowed, ran
}

// blind returns why the list of tasks may be incomplete; "" if it is complete.
func (v *view) blind() string {
	v.saw("/proc/[pid]/stat", "/proc/[pid]/status")
	if slices.ContainsFunc(v.tasks, func(t hostfs.Thread) bool { return t.Kernel() }) {
		return ""
	}
	return "no kernel thread is visible: a PID namespace or hidepid hides the host's tasks; run doctor as root on the " +
		"host"
}

// queueNames returns parts of the names that drivers give to queue interrupts: nvme0q8, eth0-TxRx-3,
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
	var queues, unread []string
	for irq, row := range rows {
		if !slices.ContainsFunc(queueNames(), func(part string) bool { return strings.Contains(row.name, part) }) {
			continue
		}
		target, err := v.irqTarget("/proc/irq/" + irq)
		switch {
		case err != nil:
			unread = append(unread, irq)
		case target.Overlaps(v.Reserved):
			queues = append(queues, row.name)
		}
	}
	slices.Sort(queues)
	slices.SortFunc(unread, text.Natural)
	switch {
	case len(queues) == 0 && len(unread) > 0:
		return warn("unreadable", "cannot read the affinity of interrupt "+listed(unread))
	case len(queues) == 0:
		return pass("no queue on CPU " + v.Reserved.String())
	case strings.Contains(hostfs.BootOption(cmdline, "isolcpus"), "managed_irq"):
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
		banned, err := cpuset.Parse(hostfs.ProcessVariable(environ, "IRQBALANCE_BANNED_CPULIST"))
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

func lookCallbacks(v *view) Outcome {
	if value, known := v.kernelOption("CONFIG_RCU_NOCB_CPU"); known && value != "y" {
		return skip("the kernel is built without CONFIG_RCU_NOCB_CPU")
	}
	if blind := v.blind(); blind != "" {
		return unknown("", blind)
	}
	var moved, astray cpuset.Set
	for _, t := range v.tasks {
		kind, number, _ := strings.Cut(t.Name, "/")
		id, err := strconv.Atoi(number)
		if !t.Kernel() || kind != "rcuop" || err != nil || !v.Reserved.Contains(id) {
			continue
		}
		moved = moved.Union(cpuset.New(id))
		if t.Allowed.Overlaps(v.Reserved) {
			astray = astray.Union(cpuset.New(id))
		}
	}
	found := "no thread rcuop/[id]"
	if len(moved) > 0 {
		found = "threads for CPU " + moved.String()
	}
	switch missing := v.Reserved.Minus(moved); {
	case len(missing) > 0:
		return warn(found, "callbacks of CPU "+missing.String()+" run there as soft interrupts")
	case len(astray) > 0:
		return warn(found, "the threads for CPU "+astray.String()+" may run on reserved CPUs themselves")
	default:
		return pass(found)
	}
}

func lookLimitCPU(v *view) Outcome {
	text := v.must("/proc/self/limits")
	soft, _, ok := hostfs.ProcessLimit(text, "Max cpu time")
	switch {
	case !ok:
		return unknown("", `/proc/self/limits has no line "Max cpu time"`)
	case soft == "unlimited":
		return pass(soft)
	case v.Reserved.Overlaps(v.Topology.NohzFull):
		return fail(soft+" s", "every run inherits it, and its timer turns the tick on")
	default:
		return warn(soft+" s", "every run inherits it")
	}
}

// lookTicks divides the timer interrupts by the busy time, within the window if it has enough busy time,
// otherwise since boot. An idle CPU also has some interrupts, so the rate is an upper bound: a low rate is
// reliable, a high rate needs investigation.
func lookTicks(v *view) Outcome {
	v.saw("/proc/interrupts", "/proc/stat")
	cpus := v.Reserved.Intersect(v.Topology.NohzFull).Intersect(v.Topology.Online)
	if len(cpus) == 0 {
		return skip(tickRuns)
	}
	local, ok := localTimers(v.Optional("/proc/interrupts"))
	if !ok {
		return skip("/proc/interrupts has no row LOC")
	}
	var most float64
	worst, busiest := -1, 0.0
	for _, id := range cpus {
		ticks, seconds := v.ticks(local, id)
		busiest = max(busiest, seconds)
		// With less than ten seconds of busy time, interrupts during boot would dominate.
		if rate := float64(ticks) / seconds; seconds >= 10 && rate >= most {
			most, worst = rate, id
		}
	}
	switch {
	case worst < 0:
		return unknown(fmt.Sprintf("%.0f s of work since boot", busiest),
			"no reserved CPU has worked for 10 s since boot")
	case most > 5:
		return warn(fmt.Sprintf("%.1f a second of work on CPU %d", most, worst),
			"a second task, a timer or a probe may keep the tick on")
	default:
		return pass(fmt.Sprintf("at most %.1f a second of work", most))
	}
}

// ticks returns a CPU's timer interrupts and busy seconds, within the window if that has ten busy seconds.
func (v *view) ticks(local map[int]uint64, id int) (uint64, float64) {
	n, seconds := local[id], busySeconds(v.Optional("/proc/stat"), id)
	if v.window == nil {
		return n, seconds
	}
	before, _ := localTimers(v.window.before.interrupts)
	if grown := seconds - busySeconds(v.window.before.stat, id); grown >= 10 {
		return n - min(n, before[id]), grown
	}
	return n, seconds
}

// lookWatchdogs ignores the CPU mask of a disabled soft watchdog.
func lookWatchdogs(v *view) Outcome {
	o := v.values()
	v.saw("/proc/sys/kernel/soft_watchdog")
	soft := v.Optional("/proc/sys/kernel/soft_watchdog")
	if (soft == "0" || soft == "") && v.Optional("/proc/sys/kernel/nmi_watchdog") == "0" {
		return pass(o.Found + "; no soft watchdog")
	}
	return o
}

func lookFairServer(v *view) Outcome {
	text := v.must("/proc/sys/kernel/osrelease")
	major, minor, ok := release(text)
	switch {
	case ok && (major < 6 || major == 6 && minor < 12):
		return skip("Linux " + text + " has no deadline server; it came with 6.12")
	case !v.Reserved.Overlaps(v.Topology.NohzFull):
		return skip(tickRuns)
	}
	return v.values()
}

// tickRuns is the reason for skipping checks of stopped ticks.
const tickRuns = cpuDir + "/nohz_full names no reserved CPU: their ticks do not stop"
