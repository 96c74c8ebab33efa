package doctor

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/proc"
)

func lookUserTasks(v *view) Outcome {
	blind := v.blind()
	allowed, ran := v.intruders(func(t proc.Thread) bool { return !t.Kernel() && !t.Ours })
	switch {
	case len(ran) > 0:
		return fail(listed(ran), fmt.Sprintf("%s may run on CPU %s, %d ran there last", counted(len(allowed), "kind"),
			v.Reserved, len(ran)))
	case len(allowed) > 0:
		return warn(listed(allowed), "may run on CPU "+v.Reserved.String()+", though none ran there last")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}

// lately says when a kernel thread ran on its CPU: without a window only its last CPU is known.
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
	allowed, ran := v.intruders(func(t proc.Thread) bool { return t.Kernel() && !ownedByCPU(t) })
	own := fmt.Sprintf("%d that belong to the CPUs", bound)
	switch {
	case len(ran) > 0:
		return fail(listed(ran)+"; "+own, fmt.Sprintf("%s may run on CPU %s, %d ran there %s",
			counted(len(allowed), "kind"), v.Reserved, len(ran), v.lately()))
	case len(allowed) > 0:
		return warn(listed(allowed)+"; "+own,
			"may run on CPU "+v.Reserved.String()+", though none ran there "+v.lately())
	default:
		return pass(own)
	}
}

// lookDaemon examines its own process, so only the daemon can answer.
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
		set, err := cpuset.Parse(proc.StatusField(v.Optional(f), "Cpus_allowed_list"))
		if err != nil {
			return unknown("", "parse "+f+": "+err.Error())
		}
		where = where.Union(set)
		if set.Overlaps(v.Reserved) {
			astray++
		}
	}
	found := fmt.Sprintf("%s on CPU %s", counted(len(files), "thread"), where)
	if astray > 0 {
		return fail(found, fmt.Sprintf("%d of them may run on CPU %s", astray, v.Reserved))
	}
	return pass(found)
}

// notDaemon is why a check of the daemon's own process is skipped.
const notDaemon = "this process is not the daemon; see GET /v1/doctor"

// ownedByCPU is a kernel thread that belongs to one CPU, such as ksoftirqd/2: it is part of that CPU.
func ownedByCPU(t proc.Thread) bool { return t.Kernel() && len(t.Allowed) == 1 }

// intruders lists the threads that may run on the reserved CPUs, with their CPUs, and those of them that ran there
// last; kernel threads, which can wait there for years, count only if they ran in the window. A name is listed once
// for each set of CPUs.
func (v *view) intruders(of func(proc.Thread) bool) (allowed, ran []string) {
	count, seen := map[string]int{}, map[string]bool{}
	for _, t := range v.tasks {
		if t.State == "Z" || t.State == "X" || !of(t) || !t.Allowed.Overlaps(v.Reserved) {
			continue
		}
		// kworker/u4:2-events_unbound and others have their last work in the name.
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

// blind says why the list of tasks may not be complete; "" if it is.
func (v *view) blind() string {
	v.saw("/proc/[pid]/stat", "/proc/[pid]/status")
	if slices.ContainsFunc(v.tasks, func(t proc.Thread) bool { return t.Kernel() }) {
		return ""
	}
	return "no kernel thread is visible: a PID namespace or hidepid hides the host's tasks; run doctor as root on the " +
		"host"
}
