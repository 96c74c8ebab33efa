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

// Final reports whether a job in this state can no longer change.
func (s State) Final() bool { return s == Done || s == CancelledState }

// Report is the report of a job, from its acceptance on.
type Report struct {
	ID            string   `json:"id,omitempty"`
	Tenant        string   `json:"tenant,omitempty"` // to which the job belongs
	State         State    `json:"state"`
	Verdict       Verdict  `json:"verdict,omitempty"`
	JudgementType string   `json:"judgement_type,omitempty"`
	Fault         Fault    `json:"fault,omitempty"` // only with IE
	Score         *float64 `json:"score,omitempty"`
	Deterministic *bool    `json:"deterministic,omitempty"` // repeats agreed on everything except time
	// Message is the reason for the verdict IE, CE or CX, or the missing file for which the job waits.
	Message     string            `json:"message,omitempty"`
	Compilation *Compilation      `json:"compilation,omitempty"` // of a job with a language
	Language    *LanguageReport   `json:"language,omitempty"`
	Problem     *ProblemVersion   `json:"problem,omitempty"`     // of a job that names a stored problem
	CPUTime     *time.Duration    `json:"cpu_time_ns,omitempty"` // of the worst test
	WallTime    *time.Duration    `json:"wall_time_ns,omitempty"`
	MemoryPeak  *units.Bytes      `json:"memory_peak_bytes,omitempty"`
	Groups      []GroupReport     `json:"groups,omitempty"` // of a problem with groups, in the order in which they run
	Tests       []TestReport      `json:"tests,omitempty"`
	Outputs     []Output          `json:"outputs,omitempty"` // what Keep and Collect of the job ask for
	Host        *HostReport       `json:"host,omitempty"`
	Screening   *Screening        `json:"screening,omitempty"`   // of a job for a pool for which another pool decides
	CrossCheck  *CrossCheck       `json:"cross_check,omitempty"` // of a contest or rejudging job near the limit
	Rejudging   *AppliedRejudging `json:"rejudging,omitempty"`   // rejudging that replaced the report
	Priority    Priority          `json:"priority,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	CreatedAt   time.Time         `json:"created_at,omitzero"`
	StartedAt   time.Time         `json:"started_at,omitzero"`
	FinishedAt  time.Time         `json:"finished_at,omitzero"`
	Attempt     int               `json:"attempt,omitempty"`
	// Kept holds the compiler's output that the job keeps, until it is stored and listed in Outputs.
	Kept []KeptOutput `json:"-"`
}

// Screening is the result of a job in a screening pool, whose times are not final.
type Screening struct {
	Pool    string `json:"pool"`             // pool that judged first
	Decided bool   `json:"decided"`          // its report counts: it is this one
	Job     string `json:"job,omitempty"`    // job with its report, if another pool decided
	Reason  string `json:"reason,omitempty"` // reason why another pool decided
	// SmallestRatio is the smallest known ratio of a time there to a time in the deciding pool. It is not used to scale
	// times.
	SmallestRatio float64 `json:"smallest_ratio,omitempty"`
}

// CrossCheck is the result of comparing several hosts. The report is that of the first host with the deciding verdict.
type CrossCheck struct {
	Hosts    []CrossCheckedHost `json:"hosts"` // in the order in which they judged
	Decision string             `json:"decision,omitempty"`
}

// The values of CrossCheck.Decision.
const (
	HostsAgree      = "agreed"      // the second host has the same verdict and score
	MajorityOfHosts = "majority"    // two of three hosts agree
	NoMajority      = "no_majority" // all three differ: the first report counts
	NoOtherHost     = "no_host"     // no other host was available, or it had no verdict: the first report counts
)

// CrossCheckedHost is the result of one host.
type CrossCheckedHost struct {
	Node    string         `json:"node"`
	Verdict Verdict        `json:"verdict"`
	Score   *float64       `json:"score,omitempty"`
	CPUTime *time.Duration `json:"cpu_time_ns,omitempty"` // of the worst test
	Job     string         `json:"job,omitempty"`         // job with its report, if another host judged after it
}

// AppliedRejudging describes, in a report, the rejudging that replaced it.
type AppliedRejudging struct {
	ID              string    `json:"id"`
	Job             string    `json:"job"` // job that now has the previous report
	PreviousVerdict Verdict   `json:"previous_verdict"`
	AppliedAt       time.Time `json:"applied_at"`
}

// ProblemVersion identifies a version of a stored problem.
type ProblemVersion struct {
	ID      string `json:"id"`
	Version string `json:"version"` // digest of the package's files: SHA-256 in hex
}

// Compilation is the result of compiling a job.
type Compilation struct {
	Program  string `json:"program,omitempty"` // checker or interactor, if that failed; otherwise the submission
	Language string `json:"language"`
	Output   string `json:"output,omitempty"` // first bytes
	// Bytes is the full size of the output, unless it is empty or an earlier version compiled.
	Bytes     units.Bytes `json:"output_bytes,omitempty"`
	Truncated bool        `json:"output_truncated,omitempty"`
	Cached    bool        `json:"cached"` // whether the result comes from the cache
}

// GroupReport is the result of a group of tests.
type GroupReport struct {
	Name     string   `json:"name"`
	Verdict  Verdict  `json:"verdict"`
	Score    *float64 `json:"score,omitempty"`
	MaxScore *float64 `json:"max_score,omitempty"` // absent means unlimited
}

// TestReport is the report of one test of a job. Its times are the deciding statistic over the kept runs; its memory
// and output are the largest of them.
type TestReport struct {
	Name       string         `json:"name"`
	Verdict    Verdict        `json:"verdict"`
	Fault      Fault          `json:"fault,omitempty"` // only with IE
	Score      *float64       `json:"score,omitempty"`
	Message    string         `json:"message,omitempty"` // reason for BAD or IE, or a limit that may explain it
	Limits     Limits         `json:"limits,omitzero"`   // limits that applied, if the test has its own
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
	Transcript *Transcript    `json:"transcript,omitempty"` // if the job asks for it
	// Instances are the instances of a program that communicates with a manager, in the deciding run. CPUTime is their
	// sum, MemoryPeak and Output are the largest of them, and WallTime lasts from the start of the first to the end of
	// the last.
	Instances []InstanceReport `json:"instances,omitempty"`
	Timing    *Timing          `json:"timing,omitempty"`
	Runs      []Run            `json:"runs,omitempty"`
	// Passes are all passes of a multi-pass problem. The other members are those of Pass, which counts from 1: the pass
	// that failed, otherwise the slowest one. MemoryPeak is the largest of all passes.
	Pass   int          `json:"pass,omitempty"`
	Passes []PassReport `json:"passes,omitempty"`
	// Kept holds the outputs of the deciding run that the job keeps, until they are stored and listed in Outputs.
	Kept []KeptOutput `json:"-"`
	// Agree means that the runs agreed on everything except time. The report has it for the whole job, as
	// deterministic.
	Agree bool `json:"-"`
	// Ratio means that Score is a fraction of the test's points, until the scheme converts it to points.
	Ratio bool `json:"-"`
}

// InstanceReport is the report of one of the instances of a program that communicate with a manager.
type InstanceReport struct {
	CPUTime    time.Duration `json:"cpu_time_ns"`
	WallTime   time.Duration `json:"wall_time_ns"`
	MemoryPeak *units.Bytes  `json:"memory_peak_bytes,omitempty"`
	Output     units.Bytes   `json:"output_bytes"`
	Exit       *Exit         `json:"exit,omitempty"` // absent if it did not start, or was stopped after another failed
}

// PassReport is the report of one pass of a test. Its members are as in TestReport.
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

// WithoutRuns returns the report as used in events.
func (t TestReport) WithoutRuns() TestReport {
	t.Runs, t.Passes = nil, slices.Clone(t.Passes)
	for i := range t.Passes {
		t.Passes[i].Runs = nil
	}
	return t
}

// Exit is how the first process ended: exactly one member is set.
type Exit struct {
	Code   *int   `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"` // SIGSEGV, SIGKILL, …
}

// CheckReport is the result of the checker.
type CheckReport struct {
	Verdict     Verdict  `json:"verdict"`
	Message     string   `json:"message,omitempty"`      // for the jury
	TeamMessage string   `json:"team_message,omitempty"` // for the contestant, from checkers that provide one
	Stderr      string   `json:"stderr,omitempty"`       // of a checker that failed, with IE
	FirstExit   string   `json:"first_exit,omitempty"`   // which exited first: ExitProgram or ExitInteractor
	Fault       Fault    `json:"-"`                      // only with IE; the test has it
	Score       *float64 `json:"-"`
	Ratio       bool     `json:"-"` // Score is a fraction of the test's points, from 0 to 1
	// Accepts means that the checker accepts the output and gives it points, possibly none. 0 points are WA where a test
	// has a maximum; without a maximum they are a correct answer. In a problem without points any are.
	Accepts bool `json:"-"`
	// Exhausted means, with IE, that a program of the jury exceeded a limit. Its input may be the reason.
	Exhausted bool `json:"-"`
	// Said is all that a program of the jury with the protocol ICPC has said, also where Message has a part of it only.
	Said *JurySaid `json:"-"`
	// Next is the feedback folder with the next input if the checker asks for another pass; otherwise nil.
	Next *os.File `json:"-"`
}

// Rejects reports whether the program of the jury has decided against the program, or failed.
func (c CheckReport) Rejects() bool { return c.Verdict.Failed() && !c.Accepts }

// JurySaid holds the messages of a program of the jury to the jury: judgemessage.txt, judgeerror.txt and its streams.
type JurySaid struct{ Message, Error, Stdout, Stderr string }

// Transcript is the conversation of a program and its interactor.
type Transcript struct {
	Note      string           `json:"note"`      // says that the times of the test do not count
	Truncated bool             `json:"truncated"` // part of the conversation is missing
	Lines     []TranscriptLine `json:"lines"`
}

// TranscriptLine is one write by the program or the interactor.
type TranscriptLine struct {
	Time time.Duration `json:"time_ns"` // since both were started
	From string        `json:"from"`    // ExitProgram or ExitInteractor
	Text string        `json:"text"`
}

// The values of CheckReport.FirstExit and TranscriptLine.From.
const (
	ExitProgram    = "program"
	ExitInteractor = "interactor"
)

// Timing is the dispersion of the kept runs' CPU times, and the decision derived from it.
type Timing struct {
	N           int            `json:"n"`
	Statistic   string         `json:"statistic"` // single, median, second_min, min: which order statistic decided
	Min         time.Duration  `json:"min_ns"`
	Median      time.Duration  `json:"median_ns"`
	Max         time.Duration  `json:"max_ns"`
	Spread      time.Duration  `json:"spread_ns"`              // max - min
	SpreadRatio *float64       `json:"spread_ratio,omitempty"` // spread / median; absent if the median is 0
	MAD         *time.Duration `json:"mad_ns,omitempty"`       // median absolute deviation, unscaled; absent below 3 runs
	Sigma       *time.Duration `json:"sigma_ns,omitempty"`     // standard deviation, estimated from MAD; absent below 3 runs
	// Interval contains the true median with a confidence near 95 %, for any distribution: two order statistics. It is
	// absent with fewer than 6 runs.
	Interval    *[2]time.Duration `json:"interval_ns,omitempty"`
	Limit       time.Duration     `json:"limit_ns"`
	MarginRatio float64           `json:"margin_ratio"` // (limit - deciding value) / limit; negative if over the limit
	// Guard is the half width of the band around the limit within which one run proves nothing. It is learned from the
	// pool's reference kernels, or static.
	Guard        time.Duration `json:"guard_ns"`
	GuardLearned bool          `json:"guard_learned"`
	Policy       Policy        `json:"policy"`
	DecidedBy    string        `json:"decided_by"` // first, fixed, quorum, clear, majority, budget
	Confidence   Confidence    `json:"confidence"`
}

// Run is one execution of a program.
type Run struct {
	CPUTime    time.Duration  `json:"cpu_time_ns"` // cgroup: user + system, all processes, including exited ones
	UserTime   *time.Duration `json:"user_time_ns,omitempty"`
	SystemTime *time.Duration `json:"system_time_ns,omitempty"`
	WallTime   time.Duration  `json:"wall_time_ns"` // CLOCK_MONOTONIC, from the start to the end of the first process
	MemoryPeak *units.Bytes   `json:"memory_peak_bytes,omitempty"`
	CPUs       string         `json:"cpus"` // kernel list
	NUMANode   int            `json:"numa_node"`
	Disturbed  []Cause        `json:"disturbed"` // never null
	Explained  Explained      `json:"explained,omitzero"`
	Kept       bool           `json:"kept"`
	Evidence   Evidence       `json:"evidence"`
	// Instances are as in TestReport.
	Instances []InstanceReport `json:"instances,omitempty"`
	// Reading is the time for reading the counters of the evidence. It is used only for a metric.
	Reading time.Duration `json:"-"`
	// Overhead is the time that judged needed in addition to the run: preparing the sandbox, reading counters, cleaning
	// up. It is used only for a metric.
	Overhead time.Duration `json:"-"`
}

// Explained is the most that noise can have added to a run: causes that no program can produce by itself, each with a
// bound. A run over a limit is set aside only if it is within the limit without that time, and counts after all if the
// runs over the limit agree more closely than noise would allow.
type Explained struct {
	CPUTime  time.Duration `json:"cpu_time_ns"`
	WallTime time.Duration `json:"wall_time_ns"` // includes the time added to CPU time
	Causes   []Explanation `json:"causes,omitempty"`
}

// Explanation is the bound of one cause.
type Explanation struct {
	Cause    Cause         `json:"cause"`
	CPUTime  time.Duration `json:"cpu_time_ns"`
	WallTime time.Duration `json:"wall_time_ns"`
}

// Add adds a cause unless it explains nothing.
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

// Evidence holds the measurements of the environment of a run. Every member may be absent: not every kernel has every
// counter.
type Evidence struct {
	RunDelay *time.Duration `json:"run_delay_ns,omitempty"` // /proc/PID/schedstat, field 2, of the first process
	// Waited is how long the run was ready while others used the CPUs. It excludes waiting of its threads for each other.
	Waited      *time.Duration `json:"waited_ns,omitempty"`
	ForeignTime *time.Duration `json:"foreign_time_ns,omitempty"` // time on the slot's CPUs other than the run's
	// ForeignUserTime is its part in user mode, in ticks of 10 ms, which excludes work of the kernel for the run.
	ForeignUserTime *time.Duration `json:"foreign_user_time_ns,omitempty"`
	// ForeignSystemTime is the rest of it that other programs used in kernel mode: not kernel threads or interrupt
	// handlers, which may work for the run. It is known for runs that reached a limit, from then on.
	ForeignSystemTime *time.Duration `json:"foreign_system_time_ns,omitempty"`

	StealTime *time.Duration `json:"steal_time_ns,omitempty"` // /proc/stat, in ticks of 10 ms
	// NeighboursBusy is the time of other programs than judged in user mode on the other CPUs of the slot's cache and
	// NUMA node, as a fraction of the wall time, at most 1.
	NeighboursBusy      *float64       `json:"neighbours_busy_ratio,omitempty"`
	VoluntarySwitches   *int64         `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64         `json:"involuntary_switches,omitempty"`
	Migrations          *int64         `json:"migrations,omitempty"`
	MinorFaults         *int64         `json:"minor_faults,omitempty"`
	MajorFaults         *int64         `json:"major_faults,omitempty"`
	Throttled           *int64         `json:"throttled,omitempty"`         // periods, cpu.stat nr_throttled
	ThrottledTime       *time.Duration `json:"throttled_time_ns,omitempty"` // by quotas of the groups above the run
	// Interrupts has the rows of /proc/interrupts that increased on the slot's CPUs; numbered rows are summed as "device".
	Interrupts map[string]int64 `json:"interrupts,omitempty"`

	Pressure         *time.Duration `json:"cpu_pressure_ns,omitempty"`   // cpu.pressure of the run, some: any of its threads waited for a CPU
	IRQPressure      *time.Duration `json:"irq_pressure_ns,omitempty"`   // irq.pressure of the run, full: interrupts took its CPUs
	Refaults         *int64         `json:"refaults,omitempty"`          // pages of the run that were evicted and read again
	LimitHits        *int64         `json:"limit_hits,omitempty"`        // number of times that the run reached its memory limit
	NUMAMigrations   *int64         `json:"numa_migrations,omitempty"`   // pages of the run that the kernel moved between nodes
	Swapped          *int64         `json:"swapped_pages,omitempty"`     // in and out, of the whole host
	CompactionStalls *int64         `json:"compaction_stalls,omitempty"` // of the whole host

	// On the slot's CPUs, from perf; the last four exclude the kernel.
	CPUSwitches     *int64   `json:"cpu_switches,omitempty"`
	CPUArrivals     *int64   `json:"cpu_arrivals,omitempty"`    // tasks that came from another CPU
	FrequencyRatio  *float64 `json:"frequency_ratio,omitempty"` // APERF / MPERF: 1 is the nominal frequency
	SMIs            *int64   `json:"smis,omitempty"`            // system management interrupts
	Instructions    *int64   `json:"instructions,omitempty"`
	Cycles          *int64   `json:"cycles,omitempty"`
	ReferenceCycles *int64   `json:"reference_cycles,omitempty"`
	CacheMisses     *int64   `json:"cache_misses,omitempty"` // of the last-level cache

	// Of all CPUs of the slot's L3 cache, from resctrl.
	L3Traffic   *units.Bytes `json:"l3_traffic_bytes,omitempty"`   // to and from memory
	L3Remote    *units.Bytes `json:"l3_remote_bytes,omitempty"`    // part of it to and from memory of other nodes
	L3Occupancy *units.Bytes `json:"l3_occupancy_bytes,omitempty"` // of the cache, at the end of the run
}

// HostReport describes the machine in a report.
type HostReport struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"` // its name in the fleet
	// Admitted means that the node differs from its pool and that an operator has admitted it.
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
