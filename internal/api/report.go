package api

import (
	"os"
	"slices"
	"time"

	"judged/internal/base/units"
)

// State is the state of a job.
type State string

// The states. A job only moves down this list; done and cancelled are final.
const (
	Queued         State = "queued"
	Running        State = "running"
	Done           State = "done"
	CancelledState State = "cancelled"
)

// Final reports whether a job in this state never changes again.
func (s State) Final() bool { return s == Done || s == CancelledState }

// Report is what judged reports about a job, from its acceptance on.
type Report struct {
	ID            string            `json:"id,omitempty"`
	State         State             `json:"state"`
	Verdict       Verdict           `json:"verdict,omitempty"`
	JudgementType string            `json:"judgement_type,omitempty"`
	Fault         Fault             `json:"fault,omitempty"` // with IE only
	Score         *float64          `json:"score,omitempty"`
	Deterministic *bool             `json:"deterministic,omitempty"` // repeats agreed on everything but time
	Message       string            `json:"message,omitempty"`       // why, where the verdict is IE, CE or CX, and why it waits, where a file is missing
	Compilation   *Compilation      `json:"compilation,omitempty"`   // of a job with a language
	Problem       *ProblemVersion   `json:"problem,omitempty"`       // that judged, of a job that names a stored problem
	CPUTime       *time.Duration    `json:"cpu_time_ns,omitempty"`   // of the worst test
	WallTime      *time.Duration    `json:"wall_time_ns,omitempty"`
	MemoryPeak    *units.Bytes      `json:"memory_peak_bytes,omitempty"`
	Groups        []GroupReport     `json:"groups,omitempty"` // of a problem with groups, in the order in which they run
	Tests         []TestReport      `json:"tests,omitempty"`
	Host          *HostReport       `json:"host,omitempty"`
	Screening     *Screening        `json:"screening,omitempty"`   // of a job for a pool that another one decides for
	CrossCheck    *CrossCheck       `json:"cross_check,omitempty"` // of a job of a contest or a rejudging whose time is near the limit
	Rejudging     *AppliedRejudging `json:"rejudging,omitempty"`   // that replaced the report
	Priority      Priority          `json:"priority,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	CreatedAt     time.Time         `json:"created_at,omitzero"`
	StartedAt     time.Time         `json:"started_at,omitzero"`
	FinishedAt    time.Time         `json:"finished_at,omitzero"`
	Attempt       int               `json:"attempt,omitempty"`
}

// Screening is the result of a job in a pool whose times do not count in the end.
type Screening struct {
	Pool    string `json:"pool"`             // that judged first
	Decided bool   `json:"decided"`          // its report stands: it is this one
	Job     string `json:"job,omitempty"`    // that has its report, where another pool decided
	Reason  string `json:"reason,omitempty"` // why another pool decided
	// SmallestRatio is the smallest ratio known of a time there and a time in the deciding pool. No time is scaled with it.
	SmallestRatio float64 `json:"smallest_ratio,omitempty"`
}

// CrossCheck is what several hosts found. The report is that of the first host with the verdict that stands.
type CrossCheck struct {
	Hosts    []CrossCheckedHost `json:"hosts"` // in the order in which they judged
	Decision string             `json:"decision,omitempty"`
}

// The values of CrossCheck.Decision.
const (
	HostsAgree      = "agreed"      // the second host has the same verdict and score
	MajorityOfHosts = "majority"    // two of three have
	NoMajority      = "no_majority" // all three differ: the first report stands
	NoOtherHost     = "no_host"     // there is no further host, or it had no verdict: the first report stands
)

// CrossCheckedHost is what one host found.
type CrossCheckedHost struct {
	Node    string         `json:"node"`
	Verdict Verdict        `json:"verdict"`
	Score   *float64       `json:"score,omitempty"`
	CPUTime *time.Duration `json:"cpu_time_ns,omitempty"` // of the worst test
	Job     string         `json:"job,omitempty"`         // that has its report, where a further host judged after it
}

// AppliedRejudging is the rejudging that replaced a report, as that report names it.
type AppliedRejudging struct {
	ID              string    `json:"id"`
	Job             string    `json:"job"` // that now holds the previous report
	PreviousVerdict Verdict   `json:"previous_verdict"`
	AppliedAt       time.Time `json:"applied_at"`
}

// ProblemVersion is a stored problem at one time.
type ProblemVersion struct {
	ID      string `json:"id"`
	Version string `json:"version"` // digest of the package's files: SHA-256 in hex
}

// Compilation is what the compiler of a job said.
type Compilation struct {
	Program  string `json:"program,omitempty"` // checker or interactor, where that does not compile; else the submission
	Language string `json:"language"`
	Output   string `json:"output,omitempty"` // its first bytes
	Cached   bool   `json:"cached"`           // the same sources were compiled before
}

// GroupReport is the result of a group of tests.
type GroupReport struct {
	Name     string   `json:"name"`
	Verdict  Verdict  `json:"verdict"`
	Score    *float64 `json:"score,omitempty"`
	MaxScore *float64 `json:"max_score,omitempty"` // absent: unbounded
}

// TestReport is one test of a job. Its times are the deciding statistic over
// the kept runs, its memory and output the largest of them.
type TestReport struct {
	Name       string         `json:"name"`
	Verdict    Verdict        `json:"verdict"`
	Fault      Fault          `json:"fault,omitempty"` // with IE only
	Score      *float64       `json:"score,omitempty"`
	Message    string         `json:"message,omitempty"` // why, where the verdict is BAD or IE or a limit may explain it
	Limits     Limits         `json:"limits,omitzero"`   // that applied, where the test has its own
	CPUTime    *time.Duration `json:"cpu_time_ns,omitempty"`
	UserTime   *time.Duration `json:"user_time_ns,omitempty"`
	SystemTime *time.Duration `json:"system_time_ns,omitempty"`
	WallTime   *time.Duration `json:"wall_time_ns,omitempty"`
	MemoryPeak *units.Bytes   `json:"memory_peak_bytes,omitempty"`
	Output     *units.Bytes   `json:"output_bytes,omitempty"`
	Exit       *Exit          `json:"exit,omitempty"`
	Checker    *CheckReport   `json:"checker,omitempty"`
	StdoutHead *string        `json:"stdout_head,omitempty"`
	StderrHead *string        `json:"stderr_head,omitempty"`
	Transcript *Transcript    `json:"transcript,omitempty"` // where the job asks for it
	// Instances are those of a program that talks with a manager, in the run that decides. CPUTime is their sum, MemoryPeak
	// and Output are the largest of them, and WallTime lasts from the start of the first to the end of the last.
	Instances []InstanceReport `json:"instances,omitempty"`
	Timing    *Timing          `json:"timing,omitempty"`
	Runs      []Run            `json:"runs,omitempty"`
	// Passes are all passes of a multi-pass problem. The other members are those of Pass, which counts from 1: the pass
	// that failed, else the slowest one. MemoryPeak is the largest of all passes.
	Pass   int          `json:"pass,omitempty"`
	Passes []PassReport `json:"passes,omitempty"`
	// Agree says that the runs agreed on everything but time. The report has it for the whole job, as deterministic.
	Agree bool `json:"-"`
	// Ratio says that Score is a part of the points of the test, until its scheme makes points of it.
	Ratio bool `json:"-"`
}

// InstanceReport is one of the instances of a program that talk with a manager.
type InstanceReport struct {
	CPUTime    time.Duration `json:"cpu_time_ns"`
	WallTime   time.Duration `json:"wall_time_ns"`
	MemoryPeak *units.Bytes  `json:"memory_peak_bytes,omitempty"`
	Output     units.Bytes   `json:"output_bytes"`
	Exit       *Exit         `json:"exit,omitempty"` // absent: it did not start, or judged ended it when another one had failed
}

// PassReport is one pass of a test: its members are as in TestReport.
type PassReport struct {
	Verdict    Verdict        `json:"verdict"`
	CPUTime    *time.Duration `json:"cpu_time_ns,omitempty"`
	WallTime   *time.Duration `json:"wall_time_ns,omitempty"`
	MemoryPeak *units.Bytes   `json:"memory_peak_bytes,omitempty"`
	Output     *units.Bytes   `json:"output_bytes,omitempty"`
	Timing     *Timing        `json:"timing,omitempty"`
	Runs       []Run          `json:"runs,omitempty"`
}

// AllRuns returns the runs of all passes.
func (t TestReport) AllRuns() []Run {
	if len(t.Passes) == 0 {
		return t.Runs
	}
	var all []Run
	for _, p := range t.Passes {
		all = append(all, p.Runs...)
	}
	return all
}

// WithoutRuns returns the report as events have it.
func (t TestReport) WithoutRuns() TestReport {
	t.Runs, t.Passes = nil, slices.Clone(t.Passes)
	for i := range t.Passes {
		t.Passes[i].Runs = nil
	}
	return t
}

// Exit is how the first process ended: one member is set.
type Exit struct {
	Code   *int   `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"` // SIGSEGV, SIGKILL, …
}

// CheckReport is the result of the checker.
type CheckReport struct {
	Verdict     Verdict  `json:"verdict"`
	Message     string   `json:"message,omitempty"`      // for the jury
	TeamMessage string   `json:"team_message,omitempty"` // for the contestant, from checkers that have one
	Stderr      string   `json:"stderr,omitempty"`       // of a checker that failed, at IE
	FirstExit   string   `json:"first_exit,omitempty"`   // of a program and its interactor: ExitProgram or ExitInteractor
	Fault       Fault    `json:"-"`                      // with IE only; the test has it
	Score       *float64 `json:"-"`
	Ratio       bool     `json:"-"` // Score is a part of the points of the test, from 0 to 1
	// Exhausted says, at IE, that a program of the jury used more than it may of something. What it read may be why.
	Exhausted bool `json:"-"`
	// Next is the feedback folder, with the next input, where the checker asks for another pass; else nil.
	Next *os.File `json:"-"`
}

// Transcript is what a program and its interactor said.
type Transcript struct {
	Note      string           `json:"note"`      // that the times of the test do not count
	Truncated bool             `json:"truncated"` // there was more
	Lines     []TranscriptLine `json:"lines"`
}

// TranscriptLine is what one of them wrote at once.
type TranscriptLine struct {
	Time time.Duration `json:"time_ns"` // since both were let go
	From string        `json:"from"`    // ExitProgram or ExitInteractor
	Text string        `json:"text"`
}

// The values of CheckReport.FirstExit and TranscriptLine.From.
const (
	ExitProgram    = "program"
	ExitInteractor = "interactor"
)

// Timing is the dispersion of the kept runs' CPU times and what was decided
// from it.
type Timing struct {
	N           int            `json:"n"`
	Statistic   string         `json:"statistic"` // single, median, second_min, min: which order statistic decided
	Min         time.Duration  `json:"min_ns"`
	Median      time.Duration  `json:"median_ns"`
	Max         time.Duration  `json:"max_ns"`
	Spread      time.Duration  `json:"spread_ns"`              // max - min
	SpreadRatio *float64       `json:"spread_ratio,omitempty"` // spread / median; absent when the median is 0
	MAD         *time.Duration `json:"mad_ns,omitempty"`       // median absolute deviation, unscaled; absent below 3 runs
	Sigma       *time.Duration `json:"sigma_ns,omitempty"`     // standard deviation, estimated from MAD; absent below 3 runs
	// Interval contains the true median with a confidence near 95 %, with any distribution: two order statistics. It is
	// absent with fewer than 6 runs.
	Interval    *[2]time.Duration `json:"interval_ns,omitempty"`
	Limit       time.Duration     `json:"limit_ns"`
	MarginRatio float64           `json:"margin_ratio"` // (limit - deciding value) / limit; negative is over
	// Guard is the half width of the band around the limit within which one run proves nothing: learned from the pool's
	// reference kernels, or a static value.
	Guard        time.Duration `json:"guard_ns"`
	GuardLearned bool          `json:"guard_learned"`
	Policy       Policy        `json:"policy"`
	DecidedBy    string        `json:"decided_by"` // first, fixed, quorum, clear, majority, budget
	Confidence   Confidence    `json:"confidence"`
}

// Run is one execution of a program.
type Run struct {
	CPUTime    time.Duration  `json:"cpu_time_ns"` // cgroup: user + system, all processes, exited ones too
	UserTime   *time.Duration `json:"user_time_ns,omitempty"`
	SystemTime *time.Duration `json:"system_time_ns,omitempty"`
	WallTime   time.Duration  `json:"wall_time_ns"` // CLOCK_MONOTONIC, from go to the end of the first process
	MemoryPeak *units.Bytes   `json:"memory_peak_bytes,omitempty"`
	CPUs       string         `json:"cpus"` // kernel list
	NUMANode   int            `json:"numa_node"`
	Disturbed  []Cause        `json:"disturbed"` // never null
	Explained  Explained      `json:"explained,omitzero"`
	Kept       bool           `json:"kept"`
	Evidence   Evidence       `json:"evidence"`
	// Instances are as in TestReport.
	Instances []InstanceReport `json:"instances,omitempty"`
	// Reading is the time that it took to read the counters of the evidence. It is a metric only.
	Reading time.Duration `json:"-"`
	// Overhead is the time that judged needed for the run in addition to it: preparing the sandbox, reading counters,
	// cleaning up. It is a metric only.
	Overhead time.Duration `json:"-"`
}

// Explained bounds what noise can have added to a run: causes that no program can produce by itself, each with a bound. A
// run over a limit is set aside only if it is within the limit without that time, and counts after all if the runs over it
// agree more closely than noise would let them.
type Explained struct {
	CPUTime  time.Duration `json:"cpu_time_ns"`
	WallTime time.Duration `json:"wall_time_ns"` // includes what was added to CPU time
	Causes   []Explanation `json:"causes,omitempty"`
}

// Explanation is the bound of one cause.
type Explanation struct {
	Cause    Cause         `json:"cause"`
	CPUTime  time.Duration `json:"cpu_time_ns"`
	WallTime time.Duration `json:"wall_time_ns"`
}

// Add adds a cause, unless it explains nothing.
func (e *Explained) Add(c Cause, cpu, wall time.Duration) {
	if cpu <= 0 && wall <= 0 {
		return
	}
	e.CPUTime, e.WallTime = e.CPUTime+cpu, e.WallTime+wall
	e.Causes = append(e.Causes, Explanation{c, cpu, wall})
}

// Except returns what the other causes explain.
func (e Explained) Except(causes ...Cause) Explained {
	var rest Explained
	for _, x := range e.Causes {
		if !slices.Contains(causes, x.Cause) {
			rest.Add(x.Cause, x.CPUTime, x.WallTime)
		}
	}
	return rest
}

// Evidence is what was measured about a run's surroundings. Every member may be absent: not every kernel has every counter.
type Evidence struct {
	RunDelay        *time.Duration `json:"run_delay_ns,omitempty"`         // /proc/PID/schedstat, field 2, of the first process
	Waited          *time.Duration `json:"waited_ns,omitempty"`            // ready, without a CPU because others had it: excludes waiting of its threads for each other
	ForeignTime     *time.Duration `json:"foreign_time_ns,omitempty"`      // time on the slot's CPUs that was not the run's
	ForeignUserTime *time.Duration `json:"foreign_user_time_ns,omitempty"` // its part in user mode, in ticks of 10 ms: excludes work of the kernel for the run
	// ForeignSystemTime is what else of it other programs used, in kernel mode: neither a kernel thread nor an interrupt
	// handler, which may work for the run. It is known of runs that reached a limit, from then on.
	ForeignSystemTime *time.Duration `json:"foreign_system_time_ns,omitempty"`

	StealTime *time.Duration `json:"steal_time_ns,omitempty"` // /proc/stat, in ticks of 10 ms
	// NeighboursBusy is the time of other programs than judged in user mode on the other CPUs of the slot's cache and NUMA
	// node, as a part of the wall time, at most 1.
	NeighboursBusy      *float64         `json:"neighbours_busy_ratio,omitempty"`
	VoluntarySwitches   *int64           `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64           `json:"involuntary_switches,omitempty"`
	Migrations          *int64           `json:"migrations,omitempty"`
	MinorFaults         *int64           `json:"minor_faults,omitempty"`
	MajorFaults         *int64           `json:"major_faults,omitempty"`
	Throttled           *int64           `json:"throttled,omitempty"`         // periods, cpu.stat nr_throttled
	ThrottledTime       *time.Duration   `json:"throttled_time_ns,omitempty"` // by quotas of the groups above the run
	Interrupts          map[string]int64 `json:"interrupts,omitempty"`        // rows of /proc/interrupts that grew on the slot's CPUs; numbered rows summed as "device"

	Pressure         *time.Duration `json:"cpu_pressure_ns,omitempty"`   // cpu.pressure of the run, some: any of its threads waited for a CPU
	IRQPressure      *time.Duration `json:"irq_pressure_ns,omitempty"`   // irq.pressure of the run, full: interrupts took its CPUs
	Refaults         *int64         `json:"refaults,omitempty"`          // pages of the run that were evicted and read again
	LimitHits        *int64         `json:"limit_hits,omitempty"`        // how often the run was at its memory limit
	NUMAMigrations   *int64         `json:"numa_migrations,omitempty"`   // pages of the run that the kernel moved between nodes
	Swapped          *int64         `json:"swapped_pages,omitempty"`     // in and out, of the whole host
	CompactionStalls *int64         `json:"compaction_stalls,omitempty"` // of the whole host

	// On the slot's CPUs, by perf; the last four without the kernel's share.
	CPUSwitches     *int64   `json:"cpu_switches,omitempty"`
	CPUArrivals     *int64   `json:"cpu_arrivals,omitempty"`    // tasks that came from another CPU
	FrequencyRatio  *float64 `json:"frequency_ratio,omitempty"` // APERF / MPERF: 1 is the nominal frequency
	SMIs            *int64   `json:"smis,omitempty"`            // system management interrupts
	Instructions    *int64   `json:"instructions,omitempty"`
	Cycles          *int64   `json:"cycles,omitempty"`
	ReferenceCycles *int64   `json:"reference_cycles,omitempty"`
	CacheMisses     *int64   `json:"cache_misses,omitempty"` // of the last level

	// Of all CPUs of the slot's L3 cache, by resctrl.
	L3Traffic   *units.Bytes `json:"l3_traffic_bytes,omitempty"`   // to and from memory
	L3Remote    *units.Bytes `json:"l3_remote_bytes,omitempty"`    // of it, memory of other nodes
	L3Occupancy *units.Bytes `json:"l3_occupancy_bytes,omitempty"` // of the cache, at the end
}

// HostReport is what a report says about the machine.
type HostReport struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"` // its name in the fleet
	// Admitted means that it differs from its pool, and that an operator has admitted it.
	Admitted    bool        `json:"admitted,omitempty"`
	Pool        string      `json:"pool,omitempty"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	Kernel      string      `json:"kernel"`
	CPUModel    string      `json:"cpu_model"`
	Isolation   string      `json:"isolation"` // none, isolcpus, partition
	Turbo       string      `json:"turbo"`     // on, off, unknown
	Doctor      *DoctorHost `json:"doctor,omitempty"`
}

// DoctorHost summarizes doctor's last report.
type DoctorHost struct {
	Ready  bool     `json:"ready"`
	Failed []string `json:"failed"` // never null
}
