package doctor

import (
	"fmt"

	"judged/internal/base/cpuset"
)

func taskChecks() []check {
	return []check{{
		id: "user-tasks", title: "foreign tasks on reserved CPUs", severity: S1,
		wanted:  "no task of others may run on CPU {R}",
		effect:  "a task that shares the core takes its time slice out of the run's wall time and its lines out of the caches: wall spread 58 to 197 % for a sieve (measured)",
		confirm: "ps -eLo psr,pid,comm | sort -n",
		mend:    mendTasks,
		look:    lookUserTasks,
	}, {
		id: "kthreads", title: "kernel threads on reserved CPUs", severity: S2,
		wanted:  "only threads that belong to the CPU, such as ksoftirqd and migration, on CPU {R}",
		effect:  "writeback, memory reclaim and unbound workers preempt the run for 10 us to 1 ms at a time (measured gaps); the published experiment had to patch the last of them away",
		confirm: "ps --ppid 2 -o psr,comm | sort -n",
		fix: Fix{Runtime: []string{"pgrep -P 2 | xargs -n 1 taskset -cp {H}   # the ones bound to a CPU refuse",
			"echo {HM} > /sys/devices/virtual/workqueue/cpumask"},
			Boot: "isolcpus=domain,{R} nohz_full={R}: new kernel threads then start on the others"},
		look: lookKernelThreads,
	}, {
		id: "daemon-placement", title: "judged's own threads", severity: S1,
		wanted:  "all threads of the daemon on CPU {H}",
		effect:  "the daemon's collector, queue and HTTP would run in the middle of a measurement: 15 to 50 us and a cold cache each time (estimate)",
		confirm: "taskset -acp $(pidof -s judged)",
		fix:     Fix{Runtime: []string{"pgrep -x judged | xargs -n 1 taskset -acp {H}"}, Boot: "CPUAffinity={H} in judged's unit"},
		look:    lookDaemon,
	}}
}

func lookUserTasks(v *view) Outcome {
	blind := v.blind()
	allowed, ran := v.intruders(func(t task) bool { return !t.kernel() && !t.ours })
	switch {
	case len(ran) > 0:
		return fail(listed(ran), fmt.Sprintf("%s may run on CPU %s, %d ran there last", counted(len(allowed), "kind"), v.reserved, len(ran)))
	case len(allowed) > 0:
		return warn(listed(allowed), "may run on CPU "+v.reserved.String()+", though none ran there last")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}

// lately says when a kernel thread ran where it was seen: without a window the last time is all that
// is known.
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
		if t.bound() && t.allowed.Overlaps(v.reserved) {
			bound++
		}
	}
	allowed, ran := v.intruders(func(t task) bool { return t.kernel() && !t.bound() })
	own := fmt.Sprintf("%d that belong to the CPUs", bound)
	switch {
	case len(ran) > 0:
		return fail(listed(ran)+"; "+own, fmt.Sprintf("%s may run on CPU %s, %d ran there %s", counted(len(allowed), "kind"), v.reserved, len(ran), v.lately()))
	case len(allowed) > 0:
		return warn(listed(allowed)+"; "+own, "may run on CPU "+v.reserved.String()+", though none ran there "+v.lately())
	default:
		return pass(own)
	}
}

// lookDaemon can only look at its own process: in the daemon that is the answer, in the command it
// would judge the command.
func lookDaemon(v *view) Outcome {
	if !v.daemon {
		return skip("this process is not the daemon; GET /v1/doctor asks the daemon itself")
	}
	v.saw("/proc/self/task/[tid]/status")
	files, err := v.fs.Glob("/proc/self/task/[0-9]*/status")
	if err != nil || len(files) == 0 {
		return skip("/proc/self/task/[tid]/status does not exist")
	}
	astray := 0
	var where cpuset.Set
	for _, f := range files {
		set, err := cpuset.Parse(statusField(v.optional(f), "Cpus_allowed_list"))
		if err != nil {
			return unknown("", "parse "+f+": "+err.Error())
		}
		where = where.Union(set)
		if set.Overlaps(v.reserved) {
			astray++
		}
	}
	found := fmt.Sprintf("%s on CPU %s", counted(len(files), "thread"), where)
	if astray > 0 {
		return fail(found, fmt.Sprintf("%d of them may run on CPU %s", astray, v.reserved))
	}
	return pass(found)
}
