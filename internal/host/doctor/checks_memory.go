package doctor

import (
	"path"
	"strings"
)

func memoryChecks() []check {
	return []check{{
		id: "thp", title: "transparent huge pages", severity: S1,
		wanted:  "never, or madvise",
		effect:  "with always, CPU time of a sieve falls from 311 to 233 ms, but its spread grows from 8 to 188 %: a huge page is there or is not (measured)",
		confirm: "cat /sys/kernel/mm/transparent_hugepage/enabled",
		fix:     Fix{Runtime: []string{"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"}, Boot: "transparent_hugepage=never"},
		look:    lookHugePages,
	}, {
		id: "swap", title: "swap", severity: S1,
		wanted:  "none, or a kernel that can keep each run out of it",
		effect:  "a page that comes back from a disk costs 0.1 to 10 ms where memory costs 0.1 us (estimate), and a run over its memory limit slows down instead of being stopped",
		confirm: "cat /proc/swaps",
		fix:     Fix{Runtime: []string{"swapoff -a"}, Boot: "no swap in /etc/fstab; swapaccount=1 where it stays"},
		look:    lookSwap,
	}, {
		id: "numa-balancing", title: "automatic NUMA balancing", severity: S2,
		wanted:  "/proc/sys/kernel/numa_balancing is 0",
		effect:  "the kernel unmaps pages to see who uses them: faults in the middle of a run, with no gain where memory is bound already (kernel documentation, sysctl/kernel)",
		confirm: "cat /proc/sys/kernel/numa_balancing",
		fix:     Fix{Runtime: []string{"echo 0 > /proc/sys/kernel/numa_balancing"}, Boot: "numa_balancing=disable"},
		look:    lookBalancing,
	}, {
		id: "aslr", title: "address space randomisation", severity: Info,
		wanted:  "known; 2 on a host that also does other work",
		effect:  "addresses move cache conflicts about: spread 8.1 % with, 6.4 % without (measured); across repeats it averages out",
		confirm: "cat /proc/sys/kernel/randomize_va_space",
		fix:     Fix{},
		look:    lookRandomisation,
	}}
}

func lookHugePages(v *view) Outcome {
	line, bad := v.word("/sys/kernel/mm/transparent_hugepage/enabled")
	if bad != nil {
		return *bad
	}
	switch chosen := bracketed(line); chosen {
	case "never", "madvise":
		return pass(chosen)
	case "always":
		return fail(chosen, "the kernel gives huge pages to programs that did not ask, when it has some")
	default:
		return unknown(line, "no known word stands in brackets")
	}
}

func lookSwap(v *view) Outcome {
	text, bad := v.word("/proc/swaps")
	if bad != nil {
		return *bad
	}
	devices := parseSwaps(text)
	switch {
	case len(devices) == 0:
		return pass("none")
	case v.swapLimit() != "":
		return warn(listed(devices), "each run can be kept out of it by "+path.Base(v.swapLimit())+", but not its checker and not judged itself")
	default:
		return fail(listed(devices), "no cgroup of this host has memory.swap.max or memory.memsw.limit_in_bytes to keep runs out of it")
	}
}

// swapLimit finds the file that bounds swap per cgroup; v2 has it everywhere but in the root.
func (v *view) swapLimit() string {
	v1, v2 := v.hierarchies()
	var patterns []string
	if v2 != nil {
		patterns = append(patterns, path.Join(v2.point, v.own[""], "memory.swap.max"), v2.point+"/*/memory.swap.max")
	}
	if m, ok := v1["memory"]; ok {
		patterns = append(patterns, m.point+"/memory.memsw.limit_in_bytes")
	}
	for _, p := range patterns {
		v.saw(strings.Replace(p, "*", "[cgroup]", 1))
		if found, err := v.fs.Glob(p); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

func lookBalancing(v *view) Outcome {
	s, bad := v.word("/proc/sys/kernel/numa_balancing")
	switch {
	case bad != nil:
		return *bad
	case s == "0":
		return pass("off")
	case len(v.top.Nodes) < 2:
		return warn("on", "on, though there is one node only")
	default:
		return fail("on", "pages of runs are unmapped and moved")
	}
}

func lookRandomisation(v *view) Outcome {
	s, bad := v.word("/proc/sys/kernel/randomize_va_space")
	if bad != nil {
		return *bad
	}
	switch s {
	case "2":
		return pass("full (2)")
	case "0", "1":
		return warn(s, "weaker than the kernel's default for everything on this host")
	default:
		return unknown(s, "not a known value")
	}
}
