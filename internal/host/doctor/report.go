package doctor

import (
	"time"

	"judged/internal/host/settings"
)

// Severity says how much a failed check can cost.
type Severity = settings.Severity

// The severities.
const (
	S1   = settings.S1
	S2   = settings.S2
	S3   = settings.S3
	Info = settings.Info
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	Pass    Status = "pass"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skip    Status = "skip"    // does not apply, or the kernel does not show it
	Unknown Status = "unknown" // applies, but cannot be determined
)

// schema is the version of the JSON of a Report.
const schema = 1

// Report is doctor's answer, as printed by judged doctor --json and GET /v1/doctor.
type Report struct {
	Schema int `json:"schema"`
	// Version is that of judged; "" if unknown.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`  // no S1 check fails; with Strict no S2 check either
	Strict  bool   `json:"strict"` // as asked
	CPUs    string `json:"cpus"`   // the reserved CPUs, as a kernel list
	// WindowNS is the time between two looks at what the kernel counts; 0 if counts are since boot.
	WindowNS time.Duration `json:"window_ns"`
	Host     HostSummary   `json:"host"`
	Checks   []Check       `json:"checks"`
}

// HostSummary is a summary of the machine.
type HostSummary struct {
	Name      string `json:"name"`
	Kernel    string `json:"kernel"`
	CPUModel  string `json:"cpu_model"`
	Class     string `json:"class"` // bare, vm, container
	CPUs      int    `json:"cpus_online"`
	NUMANodes int    `json:"numa_nodes"`
	Isolation string `json:"isolation"` // none, isolcpus, partition
	Turbo     string `json:"turbo"`     // on, off, unknown
}

// Check is one line of the report.
type Check struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	Status   Status   `json:"status"`
	Found    string   `json:"found"`
	Wanted   string   `json:"wanted"`
	Reason   string   `json:"reason"` // why the status is not pass; "" when it is
	Read     []string `json:"read"`   // host paths; [pid] and [irq] stand for all of them
	Effect   string   `json:"effect"` // what it costs in timing, and where the figure comes from
	Fix      Fix      `json:"fix"`
}

// Fix is how to fix it.
type Fix struct {
	Runtime []string `json:"runtime"` // shell commands, in order, until the next boot; never null
	Boot    string   `json:"boot"`    // kernel command line, firmware or unit; "" if there is nothing
	Tune    bool     `json:"tune"`    // judged tune can set and restore it
}

// FailedIDs are the ids of the checks that fail, of every severity, in the order of the report. It
// is never nil.
func (r Report) FailedIDs() []string {
	ids := []string{}
	for _, c := range r.Checks {
		if c.Status == Fail {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// blocks reports whether this check keeps the host from being ready.
func (c Check) blocks(strict bool) bool {
	return c.Status == Fail && (c.Severity == S1 || strict && c.Severity == S2)
}

// blocking counts what has to be fixed before the host is ready.
func (r Report) blocking() int {
	n := 0
	for _, c := range r.Checks {
		if c.blocks(r.Strict) {
			n++
		}
	}
	return n
}
