package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

func pagingChecks() []check {
	return []check{{
		id: "hugetlb-reserved", title: "reserved huge pages", severity: S1,
		wanted:  "none: nr_hugepages, nr_overcommit_hugepages and surplus_hugepages are 0 for every size and node",
		effect:  "memory from MAP_HUGETLB is not counted by the memory cgroup before Linux 6.7, nor later without memory_hugetlb_accounting: a run gets past its memory limit, and with fewer page faults is faster, 233 ms instead of 311 for a sieve (kernel documentation, cgroup-v2; measured with transparent huge pages)",
		confirm: "grep . /sys/kernel/mm/hugepages/*/nr_hugepages /sys/kernel/mm/hugepages/*/nr_overcommit_hugepages",
		mend:    mendReservedPages,
		look:    lookReservedPages,
	}, {
		id: "ksm", title: "merging of equal pages", severity: S3,
		wanted:  "/sys/kernel/mm/ksm/run is 0 or 2",
		effect:  "a thread compares pages all the time, and a write to a merged one is a fault and a copy: below 0.5 %, only for memory that asked for it (estimate); runs cannot ask for it, the filter refuses MADV_MERGEABLE",
		confirm: "cat /sys/kernel/mm/ksm/run",
		fix:     Fix{Runtime: []string{"echo 2 > /sys/kernel/mm/ksm/run", "systemctl stop ksmtuned"}, Boot: "systemctl disable ksm ksmtuned"},
		look:    lookMerging,
	}, {
		id: "compaction", title: "tidying of memory", severity: S3,
		wanted:  "compaction_proactiveness, zone_reclaim_mode and watermark_boost_factor 0, no kdamond on CPU {R}",
		effect:  "pages are moved under a running program, which then faults: below 0.5 % (estimate; kernel documentation, sysctl/vm)",
		confirm: "grep . /proc/sys/vm/compaction_proactiveness /proc/sys/vm/zone_reclaim_mode /proc/sys/vm/watermark_boost_factor",
		fix: Fix{Runtime: []string{"echo 0 > /proc/sys/vm/compaction_proactiveness", "echo 0 > /proc/sys/vm/zone_reclaim_mode",
			"echo 0 > /proc/sys/vm/watermark_boost_factor"}, Boot: "the same three in /etc/sysctl.d"},
		look: lookTidying,
	}, {
		id: "tmpfs-node", title: "huge pages in memory file systems", severity: S2,
		wanted:  "/sys/kernel/mm/transparent_hugepage/shmem_enabled never, advise or deny",
		effect:  "shared memory of programs, and with force the box of a run too, gets huge pages when there are some: spread 8 -> 188 % for a sieve with the like for private memory (measured; see thp)",
		confirm: "cat /sys/kernel/mm/transparent_hugepage/shmem_enabled",
		fix:     Fix{Runtime: []string{"echo never > /sys/kernel/mm/transparent_hugepage/shmem_enabled"}, Boot: "transparent_hugepage_shmem=never"},
		look:    lookShared,
	}, {
		id: "env-fixed", title: "equal start of every run", severity: S2,
		wanted:  "no hard limit on the stack of judged, so that every run gets the stack its problem gives",
		effect:  "a smaller stack than on other hosts ends programs that recurse deeply; where a stack begins moves times by up to 5 % (Mytkowicz and others 2009)",
		confirm: "grep 'Max stack size' /proc/$(pidof -s judged)/limits",
		fix:     Fix{Runtime: []string{"prlimit --stack=8388608:unlimited --pid $(pidof -s judged)"}, Boot: "LimitSTACK=8M:infinity in judged's unit"},
		look:    lookStack,
	}}
}

func lookReservedPages(v *view) Outcome {
	const dir = "/sys/kernel/mm/hugepages"
	v.saw(dir+"/[size]/{nr,nr_overcommit,surplus}_hugepages", nodeDir+"/node[id]/hugepages/[size]/{nr,surplus}_hugepages", "/proc/mounts")
	var held []string
	seen := 0
	for _, p := range []string{dir + "/hugepages-*/nr_hugepages", dir + "/hugepages-*/nr_overcommit_hugepages", dir + "/hugepages-*/surplus_hugepages",
		nodeDir + "/node[0-9]*/hugepages/hugepages-*/nr_hugepages", nodeDir + "/node[0-9]*/hugepages/hugepages-*/surplus_hugepages"} {
		// An unreadable pattern cannot happen: they are constants.
		files, _ := v.fs.Glob(p)
		for _, f := range files {
			text, err := v.fs.Read(f)
			if err != nil {
				return *refusal(f, err)
			}
			seen++
			if text != "0" {
				held = append(held, hugeLabel(f)+" "+text)
			}
		}
	}
	v1, v2 := v.hierarchies()
	_, legacy := v1["memory"]
	accounted := !legacy && v2 != nil && v2.has("memory_hugetlb_accounting")
	switch {
	case seen == 0:
		return skip(dir + " does not exist")
	case len(held) > 0 && accounted:
		return pass(listed(held) + "; counted by the memory cgroup")
	case len(held) > 0:
		return fail(listed(held), "the memory cgroup does not count them: a run can take them on top of its limit")
	default:
		return pass("none")
	}
}

// hugeLabel shortens ".../node1/hugepages/hugepages-2048kB/nr_hugepages".
func hugeLabel(file string) string {
	size := strings.TrimPrefix(path.Base(path.Dir(file)), "hugepages-")
	label := size + " " + strings.TrimSuffix(path.Base(file), "_hugepages")
	if node := path.Base(path.Dir(path.Dir(path.Dir(file)))); strings.HasPrefix(node, "node") {
		label = node + " " + label
	}
	return label
}

func lookMerging(v *view) Outcome {
	s, bad := v.word("/sys/kernel/mm/ksm/run")
	switch {
	case bad != nil:
		return *bad
	case s == "0" || s == "2":
		return pass(s)
	case s == "1":
		return fail(s, "pages are compared and merged")
	default:
		return unknown(s, "not a known value")
	}
}

func lookTidying(v *view) Outcome {
	var found, wrong []string
	for _, name := range []string{"compaction_proactiveness", "zone_reclaim_mode", "watermark_boost_factor"} {
		s, bad := v.word("/proc/sys/vm/" + name)
		if bad != nil && bad.Status != Skip {
			return *bad
		}
		if bad != nil {
			continue
		}
		found = append(found, name+" "+s)
		if s != "0" {
			wrong = append(wrong, name)
		}
	}
	for _, t := range v.tasks {
		if t.kernel() && strings.HasPrefix(t.comm, "kdamond") && t.allowed.Overlaps(v.reserved) && !slices.Contains(wrong, t.comm) {
			wrong = append(wrong, t.comm)
		}
	}
	switch {
	case len(found) == 0:
		return skip("/proc/sys/vm/compaction_proactiveness and its like do not exist")
	case len(wrong) > 0:
		return warn(strings.Join(found, ", "), "memory is tidied without being asked: "+listed(wrong))
	default:
		return pass(strings.Join(found, ", "))
	}
}

func lookShared(v *view) Outcome {
	line, bad := v.word("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
	if bad != nil {
		return *bad
	}
	switch chosen := bracketed(line); chosen {
	case "never", "advise", "deny":
		return pass(chosen)
	case "always", "within_size":
		return warn(chosen, "shared memory gets huge pages when there are some")
	case "force":
		return fail(chosen, "every memory file system gets huge pages, whatever its mount says")
	default:
		return unknown(line, "no known word stands in brackets")
	}
}

// lookStack wants room for the largest stack that a problem may give; what each run gets is then
// set by judged, as are its arguments, environment and directory.
func lookStack(v *view) Outcome {
	text, bad := v.word("/proc/self/limits")
	if bad != nil {
		return *bad
	}
	_, hard, ok := limitOf(text, "Max stack size")
	if !ok {
		return unknown("", `/proc/self/limits has no line "Max stack size"`)
	}
	if hard == "unlimited" {
		return pass(hard)
	}
	bytes, err := strconv.ParseInt(hard, 10, 64)
	if err != nil {
		return unknown(hard, "the hard limit is not a number")
	}
	return warn(fmt.Sprintf("%d MiB", bytes>>20), "a problem that gives more stack cannot be judged here")
}
