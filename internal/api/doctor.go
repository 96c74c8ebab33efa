package api

import "time"

// Severity says how much a wrong setting can cost.
type Severity string

// The severities.
const (
	SeverityS1   Severity = "S1"   // can move a verdict: more than 5 % of a time
	SeverityS2   Severity = "S2"   // 0.5 to 5 %
	SeverityS3   Severity = "S3"   // less, or only start-up latency
	SeverityInfo Severity = "info" // describes the host
)

// DoctorStatus is the result of a check.
type DoctorStatus string

// The statuses.
const (
	DoctorPass    DoctorStatus = "pass"
	DoctorWarn    DoctorStatus = "warn"
	DoctorFail    DoctorStatus = "fail"
	DoctorSkip    DoctorStatus = "skip"    // does not apply, or the kernel does not show it
	DoctorUnknown DoctorStatus = "unknown" // applies, but cannot be determined
)

// DoctorReport is doctor's answer, as printed by judged doctor --json and GET /v1/doctor.
type DoctorReport struct {
	Schema int `json:"schema"`
	// Version is that of judged; "" if unknown.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`  // no S1 check fails; with Strict no S2 check either
	Strict  bool   `json:"strict"` // as asked
	CPUs    string `json:"cpus"`   // the reserved CPUs, as a kernel list
	// WindowNS is the time between two looks at what the kernel counts; 0 if counts are since boot.
	WindowNS time.Duration     `json:"window_ns"`
	Host     DoctorHostSummary `json:"host"`
	Checks   []DoctorCheck     `json:"checks"`
}

// DoctorHostSummary is a summary of the machine.
type DoctorHostSummary struct {
	Name      string `json:"name"`
	Kernel    string `json:"kernel"`
	CPUModel  string `json:"cpu_model"`
	Class     string `json:"class"` // bare, vm, container
	CPUs      int    `json:"cpus_online"`
	NUMANodes int    `json:"numa_nodes"`
	Isolation string `json:"isolation"` // none, isolcpus, partition
	Turbo     string `json:"turbo"`     // on, off, unknown
}

// DoctorCheck is one line of the report.
type DoctorCheck struct {
	ID       string       `json:"id"`
	Title    string       `json:"title"`
	Severity Severity     `json:"severity"`
	Status   DoctorStatus `json:"status"`
	Found    string       `json:"found"`
	Wanted   string       `json:"wanted"`
	Reason   string       `json:"reason"` // why the status is not pass; "" when it is
	Read     []string     `json:"read"`   // host paths; [pid] and [irq] stand for all of them
	Effect   string       `json:"effect"` // what it costs in timing, and where the figure comes from
	Fix      DoctorFix    `json:"fix"`
}

// DoctorFix is how to fix it.
type DoctorFix struct {
	Runtime []string `json:"runtime"` // shell commands, in order, until the next boot; never null
	Boot    string   `json:"boot"`    // kernel command line, firmware or unit; "" if there is nothing
	Tune    bool     `json:"tune"`    // judged tune can set and restore it
}

// FailedIDs are the ids of the checks that fail, of every severity, in the order of the report. It
// is never nil.
func (r DoctorReport) FailedIDs() []string {
	ids := []string{}
	for _, c := range r.Checks {
		if c.Status == DoctorFail {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
