package metrics

import (
	"slices"
	"time"

	"judged/internal/api"
)

// manyFaults is the minimum number of page faults for which system time per fault is recorded: with fewer faults, other
// system calls dominate.
const manyFaults = 5000

// verdicts returns the values of the label verdict.
func verdicts() []api.Verdict {
	return []api.Verdict{api.Accepted, api.Partial, api.WrongAnswer, api.PresentationError, api.OutputLimit,
		api.TimeLimit, api.WallTimeLimit, api.IdlenessLimit, api.MemoryLimit, api.RuntimeError,
		api.SecurityViolation, api.NotExecutable, api.CompileError, api.Skipped, api.Cancelled, api.InternalError}
}

// JobDone counts a finished job with all its tests and runs. It ignores a report that is not final. A negative
// queueWait means unknown.
func (m *Metrics) JobDone(rep *api.Report, queueWait time.Duration) {
	if !rep.State.Final() {
		return
	}
	verdict := verdictLabel(rep.Verdict)
	m.jobs.WithLabelValues(verdict, priorityLabel(rep.Priority)).Inc()
	if verdict == string(api.InternalError) {
		m.internalErrors.WithLabelValues(faultLabel(rep.Fault)).Inc()
	}
	if queueWait >= 0 {
		m.queueWait.Observe(queueWait.Seconds())
	}
	m.TestsDone(rep.Tests)
}

// JobReplaced counts a job that JobDone has counted with another verdict, and that is IE because the front accepts no
// report of it.
func (m *Metrics) JobReplaced() {
	m.internalErrors.WithLabelValues(string(api.JudgedFault)).Inc()
}

// TestsDone counts the runs of tests that belong to no job.
func (m *Metrics) TestsDone(tests []api.TestReport) {
	for i := range tests {
		m.test(&tests[i])
	}
}

// AttemptDone counts one attempt at a job.
func (m *Metrics) AttemptDone(outcome Attempt) {
	m.attempts.WithLabelValues(string(outcome)).Inc()
}

// StoreFailed counts an operation that failed because its storage was unavailable.
func (m *Metrics) StoreFailed(operation string) { m.storeErrors.WithLabelValues(operation).Inc() }

// CanaryDone records a run of a reference kernel: its CPU time in seconds, and its deviation from the
// baseline, time/baseline - 1, which is nil while the baseline is learned.
func (m *Metrics) CanaryDone(cpu, kernel string, seconds float64, deviation *float64) {
	m.canary.WithLabelValues(cpu, kernel).Set(seconds)
	if deviation == nil {
		m.canaryDeviation.DeleteLabelValues(cpu, kernel)
	} else {
		m.canaryDeviation.WithLabelValues(cpu, kernel).Set(*deviation)
	}
	m.canaryLast.WithLabelValues(cpu).Set(float64(m.now().UnixMilli()) / 1000)
}

func (m *Metrics) test(t *api.TestReport) {
	for _, r := range t.AllRuns() {
		m.run(&r, t)
	}
	if t.Timing == nil || t.Timing.N < 2 {
		return
	}
	m.repeated.Inc()
	m.spread.Observe(t.Timing.Spread.Seconds())
	if t.Timing.SpreadRatio != nil {
		m.spreadRatio.Observe(*t.Timing.SpreadRatio)
	}
	if flipped(t) {
		m.flips.Inc()
	}
}

// flipped reports whether kept runs of one test were on both sides of its limit.
func flipped(t *api.TestReport) bool {
	var within, over bool
	for _, r := range t.Runs {
		if r.Kept {
			within = within || r.CPUTime <= t.Timing.Limit
			over = over || r.CPUTime > t.Timing.Limit
		}
	}
	return t.Timing.Limit > 0 && within && over
}

func (m *Metrics) run(r *api.Run, t *api.TestReport) {
	m.runs.WithLabelValues(verdictLabel(t.Verdict)).Inc()
	if !r.Kept {
		m.discarded.Inc()
	}
	for _, c := range r.Disturbed {
		m.disturbed.WithLabelValues(string(c)).Inc()
	}
	m.cpu.Observe(r.CPUTime.Seconds())
	m.wall.Observe(r.WallTime.Seconds())
	if t.Timing != nil && t.Timing.Limit > 0 {
		m.limitRatio.Observe(r.CPUTime.Seconds() / t.Timing.Limit.Seconds())
	}
	if r.Overhead > 0 {
		m.overhead.Observe(r.Overhead.Seconds())
	}
	if r.Reading > 0 {
		m.reading.Observe(r.Reading.Seconds())
	}
	m.evidence(r)
}

func (m *Metrics) evidence(r *api.Run) {
	e := r.Evidence
	if e.RunDelay != nil {
		m.delay.Observe(e.RunDelay.Seconds())
	}
	if e.ForeignTime != nil {
		m.foreign.WithLabelValues(r.CPUs).Add(max(e.ForeignTime.Seconds(), 0))
	}
	if e.StealTime != nil {
		m.steal.WithLabelValues(r.CPUs).Add(max(e.StealTime.Seconds(), 0))
	}
	if r.SystemTime != nil && e.MinorFaults != nil && *e.MinorFaults >= manyFaults {
		m.faultCost.Observe(r.SystemTime.Seconds() / float64(*e.MinorFaults))
	}
	if e.FrequencyRatio != nil {
		m.frequency.Observe(*e.FrequencyRatio)
	}
	if e.SMIs != nil && *e.SMIs > 0 {
		m.interrupts.WithLabelValues(r.CPUs, "smi").Add(float64(*e.SMIs))
	}
	for row, n := range e.Interrupts {
		if kind, ok := interruptKind(row); ok && n > 0 {
			m.interrupts.WithLabelValues(r.CPUs, kind).Add(float64(n))
		}
	}
}

// interruptKind maps rows of /proc/interrupts to the closed set of the label kind. It returns false for rows that cost
// a run no time.
func interruptKind(row string) (string, bool) {
	switch row {
	case "LOC":
		return "timer", true
	case "RES", "IPI0":
		return "resched", true
	case "CAL", "IPI1":
		return "call", true
	case "TLB":
		return "tlb", true
	case "device":
		return "device", true
	case "NMI":
		return "nmi", true
	case "TRM", "core_throttles", "package_throttles":
		return "thermal", true
	case "softirq_net":
		return "net", true
	case "softirq_block":
		return "block", true
	case "MCE", "THR", "DFR":
		return "mce", true
	}
	return "", false
}

// verdictLabel maps anything that is not a verdict to an internal error, so that the set of labels is closed.
func verdictLabel(v api.Verdict) string {
	if v == "" || v.JudgementType() == "" && v != api.Skipped && v != api.Cancelled {
		return string(api.InternalError)
	}
	return string(v)
}

// faultLabel maps an unknown fault of an IE to judged's, so that the set of labels is closed.
func faultLabel(f api.Fault) string {
	if !slices.Contains(api.AllFaults(), f) {
		f = api.JudgedFault
	}
	return string(f)
}

// priorityLabel maps an unknown priority to practice, so that the set of labels is closed.
func priorityLabel(p api.Priority) string {
	if !slices.Contains(api.AllPriorities(), p) {
		p = api.Practice
	}
	return string(p)
}

// AuditDone counts an audit of a pool.
func (m *Metrics) AuditDone(pool string, usable bool) {
	result := "not_comparable"
	if usable {
		result = "compared"
	}
	m.audits.WithLabelValues(pool, result).Inc()
}

// CrossChecked counts a job that several nodes have judged, with one of the decisions of api.CrossCheck.
func (m *Metrics) CrossChecked(pool, decision string) {
	m.crossChecks.WithLabelValues(pool, decision).Inc()
}

// FrontsDiffer sets the number of other fronts whose settings differ.
func (m *Metrics) FrontsDiffer(n int) { m.frontsDiffer.Set(float64(n)) }

// NodeRetired counts a node that was drained because its times deviate.
func (m *Metrics) NodeRetired(pool string) { m.retired.WithLabelValues(pool).Inc() }

// Screened counts a job that a screening pool has judged.
func (m *Metrics) Screened(pool string, decided bool) {
	result := "forwarded"
	if decided {
		result = "decided"
	}
	m.screened.WithLabelValues(pool, result).Inc()
}

// ScreenChecked counts a job that a screening pool has accepted and the deciding pool has judged too.
func (m *Metrics) ScreenChecked(pool string, refuted, usable bool) {
	result := "not_comparable"
	switch {
	case refuted:
		result = "refuted"
	case usable:
		result = "confirmed"
	}
	m.screenChecks.WithLabelValues(pool, result).Inc()
}

// CallbackTried counts a try to deliver a callback.
func (m *Metrics) CallbackTried(result api.CallbackResult) {
	m.callbacks.WithLabelValues(string(result)).Inc()
}

// TuneDrifted counts a setting of judged tune that was found to have changed.
func (m *Metrics) TuneDrifted(setting string) { m.drift.WithLabelValues(setting).Inc() }

// Reloaded records the result of a reload.
func (m *Metrics) Reloaded(err error) { m.reloadFailed.Set(is(err != nil)) }
