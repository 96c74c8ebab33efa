package api

import "time"

// Severity is how much a wrong setting can affect times.
type Severity string

// The severities.
const (
	SeverityS1   Severity = "S1"   // can change a verdict: more than 5 % of a time
	SeverityS2   Severity = "S2"   // 0.5 to 5 %
	SeverityS3   Severity = "S3"   // less, or only start-up latency
	SeverityInfo Severity = "info" // describes the host
)

// Severities returns all severities, the highest first.
func Severities() []Severity { return []Severity{SeverityS1, SeverityS2, SeverityS3, SeverityInfo} }

// Effect describes the severity: how much of a time a wrong setting costs.
func (s Severity) Effect() string {
	switch s {
	case SeverityS1:
		return "can move a verdict: more than 5 %"
	case SeverityS2:
		return "0.5 to 5 %"
	case SeverityS3:
		return "less than 0.5 %"
	case SeverityInfo:
		return "for information"
	}
	return string(s)
}

// DoctorStatus is the result of a check.
type DoctorStatus string

// The statuses.
const (
	DoctorPass    DoctorStatus = "pass"
	DoctorWarn    DoctorStatus = "warn"
	DoctorFail    DoctorStatus = "fail"
	DoctorSkip    DoctorStatus = "skip"    // does not apply, or the kernel does not report it
	DoctorUnknown DoctorStatus = "unknown" // applies, but cannot be determined
)

// DoctorReport is the result of judged doctor --json and GET /v1/doctor.
type DoctorReport struct {
	Schema int `json:"schema"`
	// Version is the version of judged; "" if unknown.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`  // no S1 check fails; with Strict no S2 check either
	Strict  bool   `json:"strict"` // as requested
	CPUs    string `json:"cpus"`   // the reserved CPUs, as a kernel list
	// WindowNS is the time between two readings of the kernel's counters; 0 if they count since boot.
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
	Reason   string       `json:"reason"` // why the status is not pass; "" if it is
	Read     []string     `json:"read"`   // host paths; [pid] and [irq] stand for all of them
	Effect   string       `json:"effect"` // cost in timing, and the source of the figure
	Fix      DoctorFix    `json:"fix"`
}

// DoctorFix describes how to fix a failed check.
type DoctorFix struct {
	Runtime []string `json:"runtime"` // shell commands in order, effective until the next boot; never null
	Boot    string   `json:"boot"`    // kernel command line, firmware or unit; "" if there is nothing
	Tune    bool     `json:"tune"`    // whether judged tune can set and restore it
}

// FailedIDs returns the IDs of the failed checks of every severity, in the order of the report. It never returns nil.
func (r DoctorReport) FailedIDs() []string {
	ids := []string{}
	for _, c := range r.Checks {
		if c.Status == DoctorFail {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
