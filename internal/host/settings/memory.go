package settings

import (
	"judged/internal/api"
)

const hugePages = "/sys/kernel/mm/transparent_hugepage"

func memorySettings() []Setting {
	return []Setting{{
		ID: "thp", Title: "transparent huge pages", Severity: api.SeverityS1,
		Wanted: "never, or madvise",
		Effect: "with always, CPU time of a sieve falls from 311 to 233 ms, but its spread grows from 8 to 188 %, " +
			"because huge pages are not always available (measured)",
		Values: []Value{
			{Pattern: hugePages + "/enabled", Kind: Token, To: "madvise", Or: []string{"never"}, Wrong: Fails},
			{Pattern: hugePages + "/defrag", Kind: Token, To: "madvise",
				Or: []string{"never", "defer", "defer+madvise"}},
		},
		Boot: "transparent_hugepage=never",
		Risk: "programs that gained from huge pages without asking are slower",
	}, {
		ID: "swap", Title: "swap", Severity: api.SeverityS1,
		Wanted: "none, or a kernel that can keep each run out of it",
		Effect: "a page from a disk costs 0.1 to 10 ms, from memory 0.1 us (estimate); a run over its memory limit " +
			"slows down instead of being stopped",
		See:  "cat /proc/swaps",
		Run:  []string{"swapoff -a"},
		Boot: "no swap in /etc/fstab; swapaccount=1 if swap is needed",
		Risk: "swapped-out pages are read in, which can take minutes; afterwards the kernel kills programs when memory " +
			"runs out, in a group as soon as it reaches its limit; areas come back without the option discard",
	}, {
		ID: "numa-balancing", Title: "automatic NUMA balancing", Severity: api.SeverityS2,
		Wanted: "/proc/sys/kernel/numa_balancing is 0",
		Effect: "the kernel unmaps pages to see who uses them: page faults during a run, with no gain where memory is " +
			"bound (kernel documentation, sysctl/kernel)",
		Values: []Value{{Pattern: "/proc/sys/kernel/numa_balancing", Kind: Word, To: "0", Wrong: Fails}},
		Boot:   "numa_balancing=disable",
		Risk:   "memory of other programs stays on the node that touched it first",
	}, {
		ID: "aslr", Title: "address space randomization", Severity: api.SeverityInfo,
		Wanted: "2 on a host that also does other work",
		Effect: "addresses move cache conflicts: spread 8.1 % with, 6.4 % without (measured); repeats average it out",
		Values: []Value{{Pattern: "/proc/sys/kernel/randomize_va_space", Kind: Word, To: "2", Wrong: Warns}},
		Risk:   "none: it is the kernel's default",
	}}
}

func pagingSettings() []Setting {
	return []Setting{{
		ID: "hugetlb-reserved", Title: "reserved huge pages", Severity: api.SeverityS1,
		Wanted: "nr_hugepages, nr_overcommit_hugepages and surplus_hugepages are 0 for every size and node",
		Effect: "MAP_HUGETLB memory is not counted by the memory cgroup before Linux 6.7, nor later without " +
			"memory_hugetlb_accounting: a run exceeds its limit, and is faster (kernel documentation, cgroup-v2)",
		See: "grep . /sys/kernel/mm/hugepages/*/nr_hugepages /sys/kernel/mm/hugepages/*/nr_overcommit_hugepages",
		Run: []string{"for f in /sys/kernel/mm/hugepages/*/nr_hugepages " +
			"/sys/kernel/mm/hugepages/*/nr_overcommit_hugepages; do echo 0 > $f; done"},
		Boot:     "no hugepages= on the kernel command line, no vm.nr_hugepages in /etc/sysctl.d",
		NotTuned: "memory may be too fragmented to reserve the pages again",
	}, {
		ID: "ksm", Title: "same-page merging (KSM)", Severity: api.SeverityS3,
		Wanted: "/sys/kernel/mm/ksm/run is 0 or 2",
		Effect: "a thread compares pages, and a write to a merged page is a fault and a copy: below 0.5 % (estimate); " +
			"runs cannot ask for it, the filter refuses MADV_MERGEABLE",
		Values: []Value{{Pattern: "/sys/kernel/mm/ksm/run", Kind: Word, To: "0", Or: []string{"2"}, Wrong: Fails}},
		Boot:   "systemctl disable ksm ksmtuned",
		Risk:   "virtual machines on this host need more memory; merged pages stay merged",
	}, {
		ID: "compaction", Title: "compaction of memory", Severity: api.SeverityS3,
		Wanted: "compaction_proactiveness, zone_reclaim_mode and watermark_boost_factor 0, no kdamond on CPU {R}",
		Effect: "the kernel moves pages of a running program, which then faults: below 0.5 % (estimate; kernel " +
			"documentation, sysctl/vm)",
		Values: []Value{
			{Pattern: "/proc/sys/vm/compaction_proactiveness", Kind: Word, To: "0", Wrong: Warns},
			{Pattern: "/proc/sys/vm/zone_reclaim_mode", Kind: Word, To: "0", Wrong: Warns},
			{Pattern: "/proc/sys/vm/watermark_boost_factor", Kind: Word, To: "0", Wrong: Warns},
		},
		Boot: "the same three in /etc/sysctl.d",
		Risk: "large pages become scarcer as the host ages",
	}, {
		ID: "tmpfs-node", Title: "huge pages in memory file systems", Severity: api.SeverityS2,
		Wanted: hugePages + "/shmem_enabled never, advise or deny",
		Effect: "shared memory, and with force the working directory of a run, gets huge pages when available: spread 8 " +
			"-> 188 % for a sieve (measured; see thp)",
		Values: []Value{{Pattern: hugePages + "/shmem_enabled", Kind: Token, To: "never",
			Or: []string{"advise", "deny"}, Wrong: Warns, Worst: []string{"force"}}},
		Boot: "transparent_hugepage_shmem=never",
		Risk: "programs that gained from them are slower",
	}, {
		ID: "env-fixed", Title: "hard limit on the stack", Severity: api.SeverityS2,
		Wanted: "no hard limit on the stack of judged, so that every run gets the stack of its problem",
		Effect: "programs with deep recursion fail on this host only; the start of the stack changes times by up to 5 % " +
			"(Mytkowicz and others 2009)",
		See:      "grep 'Max stack size' /proc/$(pidof -s judged)/limits",
		Run:      []string{"prlimit --stack=8388608:unlimited --pid $(pidof -s judged)"},
		Boot:     "LimitSTACK=8M:infinity in judged's unit",
		NotTuned: "the sandbox gives every run the same stack and environment",
	}}
}
