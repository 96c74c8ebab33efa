package api

// Cause is a reason why a run counts as disturbed. The set is closed: metrics use it as a label.
type Cause string

// The causes. Catalogue describes them, package evidence has the thresholds.
const (
	CauseWait       Cause = "wait"
	CauseForeign    Cause = "foreign"
	CauseSteal      Cause = "steal"
	CauseMigrated   Cause = "migrated"
	CauseIRQ        Cause = "irq"
	CauseTick       Cause = "tick"
	CauseIPI        Cause = "ipi"
	CauseThrottle   Cause = "throttle"
	CauseMajfault   Cause = "majfault"
	CauseFaultCost  Cause = "faultcost"
	CausePreempted  Cause = "preempted"
	CauseSoftIRQ    Cause = "softirq"
	CauseFrequency  Cause = "frequency"
	CauseSMI        Cause = "smi"
	CauseSwap       Cause = "swap"
	CauseRefault    Cause = "refault"
	CauseRemote     Cause = "remote"
	CauseCanary     Cause = "canary"
	CauseNeighbours Cause = "neighbours"
)

// CauseEntry describes a cause. The help texts and the OpenAPI document are generated from these entries or tested
// against them.
type CauseEntry struct {
	Cause Cause  `json:"cause"`
	Means string `json:"means"` // one sentence: what was observed
	Short string `json:"short"` // the same for several runs: "2 had other tasks on the CPU"
	// SelfMade describes how a contestant's program can produce the cause by itself; empty if it cannot. A cause that a
	// program can produce explains nothing, so that no program can get its runs repeated.
	SelfMade string    `json:"self_made,omitempty"`
	Adds     Lengthens `json:"lengthens"`
	Remedy   string    `json:"remedy"` // what the operator can do
}

// Explains reports whether the cause can explain why a run is over its limit. How much it explains is limited for each
// run.
func (e CauseEntry) Explains() bool { return e.SelfMade == "" }

// Lengthens is the kind of time that a cause adds to.
type Lengthens string

// The kinds of time that a cause can lengthen.
const (
	LengthensCPU  Lengthens = "CPU time"
	LengthensWall Lengthens = "wall time"
	LengthensBoth Lengthens = "CPU time and wall time"
)

// Catalogue returns the causes in the order in which reports and metrics list them.
func Catalogue() []CauseEntry {
	return []CauseEntry{
		{CauseWait, "The program was ready to run and waited for a CPU.", "waited for a CPU",
			"more threads than the slot has CPUs, or kernel work on its behalf", LengthensWall,
			"Keep other work off the slot's CPUs (checks sched-isolated, user-tasks)."},
		{CauseForeign, "Other programs ran in user mode on the slot's CPUs.", "had other tasks on the CPU",
			"", LengthensBoth,
			"Isolate the slot's CPUs, or move the programs that judged doctor names (checks sched-isolated, " +
				"user-tasks)."},
		{CauseSteal, "The hypervisor ran something else on a CPU of the slot.", "lost the CPU to the hypervisor",
			"", LengthensBoth,
			"Use dedicated CPUs or a host of your own (check steal)."},
		{CauseMigrated, "The kernel moved the program to another CPU.", "moved between CPUs",
			"threads that change their own affinity", LengthensCPU,
			"Use slots of one CPU each (check sched-isolated)."},
		{CauseIRQ, "Device interrupts, machine checks or interrupt handlers took time on the slot's CPUs.",
			"had device interrupts",
			"input and output that ends in an interrupt on its CPU", LengthensBoth,
			"Move device interrupts to the other CPUs (checks irq-affinity, irqbalance, ecc-mce)."},
		{CauseTick, "There were more timer interrupts than the kernel's tick explains.", "had many timer interrupts",
			"its own timers, such as setitimer", LengthensBoth,
			"Boot with nohz_full for the slot's CPUs (checks nohz-full, tick-probe)."},
		{CauseIPI, "Other CPUs interrupted the slot's CPU.", "had interrupts from other CPUs",
			"threads that change the memory map, or membarrier", LengthensBoth,
			"Stop what changes memory maps or traces all CPUs (checks tracing-off, vm-noise)."},
		{CauseThrottle, "The processor slowed down because of heat or power, or a CPU quota stopped the slot.",
			"had a throttled CPU",
			"", LengthensBoth,
			"Improve cooling, and remove quotas above the slots (checks thermal-throttle, power-limit, " +
				"cpu-throttle-config)."},
		{CauseMajfault, "The program waited for a page from a disk.", "waited for a disk",
			"a mapping of a file that is not in memory", LengthensBoth,
			"Give the host enough memory for its files and switch swap off (check swap)."},
		{CauseFaultCost, "Page faults took more system time than they do on this host.", "had slow page faults",
			"fork loops, or mapping and unmapping in turns", LengthensCPU,
			"Switch off what makes page faults slow (checks thp, ksm, compaction, numa-balancing)."},
		{CausePreempted, "The kernel took the program off its CPU in favour of another task.",
			"lost the CPU to other tasks",
			"more threads than the slot has CPUs", LengthensBoth,
			"Keep other work off the slot's CPUs (checks sched-isolated, user-tasks, kthreads)."},
		{CauseSoftIRQ, "Network or disk work that the kernel had put off ran on the slot's CPUs.",
			"had network or disk work on the CPU",
			"traffic between its own sockets", LengthensBoth,
			"Move network and disk work to the other CPUs (checks irq-affinity, net-rps-xps)."},
		{CauseFrequency, "The CPU ran slower or faster than planned.", "had another CPU frequency",
			"", LengthensBoth,
			"Fix the frequency and switch turbo off (checks freq-pinned, turbo-off, governor, effective-freq)."},
		{CauseSMI, "The firmware took the CPU (system management interrupts).", "lost the CPU to the firmware",
			"", LengthensBoth,
			"Switch off power management and USB emulation in the firmware's setup (check smi)."},
		{CauseSwap, "The host moved pages to or from swap.", "had a host that swapped",
			"enough memory in use to make the host swap", LengthensBoth,
			"Switch swap off, or give the host more memory (check swap)."},
		{CauseRefault, "Pages of the program were dropped from memory and read again.", "lost pages from memory",
			"memory use close to its limit", LengthensBoth,
			"Give the host more memory (checks swap, slot-mems)."},
		{CauseRemote, "The program used memory of another NUMA node.", "used memory of another node",
			"pages that it shares or moves between nodes", LengthensCPU,
			"Give each slot enough memory on its own node (checks slot-mems, slot-one-node, numa-balancing)."},
		{CauseCanary, "A reference kernel right before or after the run took longer or shorter than it does on this " +
			"host.", "had a reference kernel off its usual time",
			"", LengthensCPU,
			"Find out what changed on the host: judged doctor, then the metric judged_canary_deviation_ratio."},
		{CauseNeighbours, "Other CPUs of the slot's cache and memory domain were busy with work that is not judged's.",
			"had busy neighbours",
			"", LengthensCPU,
			"Move that work to another host, or give each cache domain one slot (check llc-private)."},
	}
}

// Causes returns the closed set, in the order of the catalogue.
func Causes() []Cause {
	var causes []Cause
	for _, e := range Catalogue() {
		causes = append(causes, e.Cause)
	}
	return causes
}

// Explain returns the catalogue's entry for a cause.
func Explain(c Cause) (CauseEntry, bool) {
	for _, e := range Catalogue() {
		if e.Cause == c {
			return e, true
		}
	}
	return CauseEntry{}, false
}

// Meaning is a word in a report with its meaning.
type Meaning struct {
	Word  string `json:"word"`
	Means string `json:"means"`
}

// WordList is a member of Timing and the closed set of its values.
type WordList struct {
	Member string    `json:"member"`
	About  string    `json:"about"`
	Words  []Meaning `json:"words"`
}

// WordLists returns the members whose values need an explanation.
func WordLists() []WordList {
	return []WordList{
		{"confidence", "How far a time verdict can be trusted", Confidences()},
		{"decided_by", "What ended the repeats", Deciders()},
		{"fault", "Whose an IE is", Faults()},
	}
}

// Confidence is how reliable a time verdict is.
type Confidence string

// The values of Confidence.
const (
	OneRun     Confidence = "single"
	Stable     Confidence = "stable"
	Borderline Confidence = "borderline"
	Noisy      Confidence = "noisy"
)

// Confidences returns the meanings of the values of Timing.Confidence.
func Confidences() []Meaning {
	return []Meaning{
		{string(OneRun), "One run decided; its time is far from the limit."},
		{string(Stable), "Repeats agree."},
		{string(Borderline), "Runs are on both sides of the limit, or so close to it that one run proves nothing."},
		{string(Noisy), "Repeats differ by more than usual, or noise may explain the verdict and more runs did not " +
			"settle it."},
	}
}

// The values of Timing.DecidedBy.
const (
	ByFirst    = "first"
	ByFixed    = "fixed"
	ByQuorum   = "quorum"
	ByClear    = "clear"
	ByMajority = "majority"
	ByBudget   = "budget"
	ByVerdict  = "verdict"
)

// Deciders returns the meanings of the values of Timing.DecidedBy.
func Deciders() []Meaning {
	return []Meaning{
		{ByFirst, "The first run was enough."},
		{ByFixed, "The number of runs was given; their median decided, or the fastest under policy min."},
		{ByQuorum, "Enough runs were within the limit: two, or one under policy min."},
		{ByClear, "No run was within the limit, and either two were clearly over it or one was stopped far beyond it " +
			"with nothing that explains the excess."},
		{ByMajority, "Four runs were over the limit."},
		{ByBudget, "No more runs were allowed; the runs so far decided."},
		{ByVerdict, "No time decided: the verdict of a run, such as RTE or MLE, did."},
	}
}
