package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"judged/internal/api"
	"judged/internal/jobs"
)

// Options describe the daemon and the sources of its state. A nil function omits its metrics. The functions are called
// at every scrape, possibly concurrently.
type Options struct {
	Version  string
	Revision string
	Host     api.HostReport
	Virtual  bool

	Ready      func() error     // reason why a job submitted now would not be judged, or nil
	FreeBytes  func() int64     // on the file systems of the data; negative if unknown
	Expiry     func() time.Time // of the certificate in use; zero without one
	Slots      func() []api.SlotStatus
	Doctor     func() []api.DoctorCheck
	QueueDepth func(ctx context.Context) (jobs.Depths, error)
	Pool       string        // of the slots here; "" for a front
	Turbo      func() string // on, off, unknown
	Nodes      func(ctx context.Context) ([]api.Node, error)
	Pools      func(ctx context.Context, waiting jobs.Depths) ([]api.Pool, error)
	// Tuned returns for each setting that judged tune has applied whether it is in effect.
	Tuned    func() map[string]bool
	Settings []string // all settings that judged tune can apply
	// DisabledReceivers returns the number of receivers of callbacks that are disabled.
	DisabledReceivers func(ctx context.Context) (int, error)
	// StoreOperations are the values of the label operation.
	StoreOperations []string
	CanaryInterval  time.Duration    // 0 if reference kernels are off
	Now             func() time.Time // nil means time.Now
}

// Attempt is the outcome of one attempt at a job.
type Attempt string

// The outcomes of an attempt, a closed set.
const (
	AttemptDone      Attempt = "done"      // its report was stored
	AttemptCancelled Attempt = "cancelled" // the job was cancelled during the run
	AttemptStale     Attempt = "stale"     // a newer attempt had the job; its report was dropped
	AttemptReturned  Attempt = "returned"  // returned to the queue, by a drain or a failure of judged
	AttemptExhausted Attempt = "exhausted" // the last permitted attempt failed; the job ended as IE
)

func attempts() []Attempt {
	return []Attempt{AttemptDone, AttemptCancelled, AttemptStale, AttemptReturned, AttemptExhausted}
}

// Metrics are all metrics of one daemon, in their own registry.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	jobs *prometheus.CounterVec
	// For jobs with the verdict IE.
	internalErrors *prometheus.CounterVec
	attempts       *prometheus.CounterVec
	runs           *prometheus.CounterVec
	discarded      prometheus.Counter
	disturbed      *prometheus.CounterVec
	flips          prometheus.Counter
	repeated       prometheus.Counter
	foreign        *prometheus.CounterVec
	steal          *prometheus.CounterVec
	interrupts     *prometheus.CounterVec

	cpu         prometheus.Histogram
	wall        prometheus.Histogram
	limitRatio  prometheus.Histogram
	delay       prometheus.Histogram
	faultCost   prometheus.Histogram
	spread      prometheus.Histogram
	spreadRatio prometheus.Histogram
	queueWait   prometheus.Histogram
	overhead    prometheus.Histogram
	reading     prometheus.Histogram
	frequency   prometheus.Histogram

	canary          *prometheus.GaugeVec
	canaryDeviation *prometheus.GaugeVec
	canaryLast      *prometheus.GaugeVec

	reloadFailed prometheus.Gauge

	drift       *prometheus.CounterVec
	storeErrors *prometheus.CounterVec
	callbacks   *prometheus.CounterVec
	audits      *prometheus.CounterVec
	// For screening pools.
	screened, screenChecks *prometheus.CounterVec
	retired                *prometheus.CounterVec
	crossChecks            *prometheus.CounterVec
	frontsDiffer           prometheus.Gauge
}

// Histogram buckets. Those of run times follow common time limits; those of ratios are finest where a verdict changes.
var (
	runBuckets       = []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 3, 5, 10, 20}
	limitBuckets     = []float64{.1, .25, .5, .75, .9, .95, .98, .99, 1, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2}
	delayBuckets     = []float64{1e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .02, .05, .1, .5, 1}
	faultBuckets     = []float64{2e-7, 5e-7, 1e-6, 2e-6, 3e-6, 5e-6, 1e-5, 2e-5, 5e-5}
	ratioBuckets     = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2}
	spreadBuckets    = []float64{1e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .02, .05, .1, .2, .5, 1, 2}
	queueWaitBuckets = []float64{.001, .005, .02, .1, .5, 1, 2, 5, 10, 30, 60, 300, 1800}
	readingBuckets   = []float64{2e-5, 5e-5, 1e-4, 1.5e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .05}
	frequencyBuckets = []float64{.5, .8, .9, .95, .98, .99, .995, .997, 1, 1.003, 1.005, 1.01, 1.02, 1.05, 1.2, 1.5}
	overheadBuckets  = []float64{1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .02, .05, .1, .5}
)

// New registers all metrics. Series with closed sets of labels start at 0, so that a rate includes the first event.
func New(o Options) *Metrics {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), now: o.Now}
	state := newState(o)
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), state)
	m.info(o)
	m.registerJobs()
	m.registerRuns()
	m.registerCanary(o.CanaryInterval)
	m.reloadFailed = registered(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: "judged_reload_failed",
		Help: "Whether the last reload failed, so that the settings, tokens and certificates from before are in force."}))
	m.drift = m.counter("judged_tune_drift_total",
		"Times that a setting applied by judged tune was found changed, by setting.", "setting")
	m.storeErrors = m.counter("judged_store_errors_total",
		"Operations that failed because the database or the disk was unavailable, by operation.", "operation")
	m.callbacks = m.counter("judged_callbacks_total",
		"Tries to deliver a callback, by result; only failed and interrupted ones are repeated.", "result")
	if o.Nodes != nil {
		m.audits = m.counter("judged_audits_total",
			"Jobs judged once more to compare nodes, by pool and by whether their times could be compared.", "pool",
			"result")
		m.screened = m.counter("judged_screened_jobs_total",
			"Jobs that a screening pool has judged, by whether it decided or forwarded them.", "pool", "result")
		m.screenChecks = m.counter("judged_screen_checks_total",
			"Jobs that a screening pool has accepted and the deciding pool has judged, too, by what that showed.", "pool",
			"result")
		m.crossChecks = m.counter("judged_cross_checks_total",
			"Jobs of contests near a limit that several nodes have judged, by what that decided.", "pool", "decision")
		m.frontsDiffer = registered(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: "judged_fronts_differ",
			Help: "Other fronts of the database whose settings differ from those of this one; the log names them."}))
		m.retired = m.counter("judged_nodes_retired_total", "Nodes drained because their times deviate.", "pool")
		state.pool = func(name string) { m.retired.WithLabelValues(name) } // the counter is 0 before the first
	}
	m.preset(o)
	return m
}

func (m *Metrics) info(o Options) {
	environment := "bare"
	if o.Virtual {
		environment = "vm"
	}
	m.gauge("judged_build_info", "Version of judged; always 1.", "version", "revision").
		WithLabelValues(o.Version, o.Revision).Set(1)
	m.gauge("judged_host_info", "Host that judged runs on; always 1.",
		"pool", "fingerprint", "cpu_model", "kernel", "isolation", "environment").
		WithLabelValues(o.Host.Pool, o.Host.Fingerprint, o.Host.CPUModel, o.Host.Kernel, o.Host.Isolation,
			environment).Set(1)
}

func (m *Metrics) registerJobs() {
	m.jobs = m.counter("judged_jobs_total", "Finished jobs, by verdict and priority.", "verdict", "priority")
	m.internalErrors = m.counter("judged_internal_errors_total",
		"Finished jobs with the verdict IE, by whose fault it is.", "fault")
	m.attempts = m.counter("judged_attempts_total", "Attempts at jobs, by outcome.", "outcome")
	m.queueWait = m.histogram("judged_queue_wait_seconds",
		"Time between the acceptance of a job and the start of its last attempt.", queueWaitBuckets)
	m.overhead = m.histogram("judged_sandbox_overhead_seconds",
		"Time that judged itself spent on one run, outside of the run.", overheadBuckets)
	m.reading = m.histogram("judged_evidence_seconds",
		"Time spent reading the counters of a slot's CPUs before and after one run.", readingBuckets)
}

func (m *Metrics) registerRuns() {
	m.runs = m.counter("judged_runs_total", "Program runs, by the verdict of their test.", "verdict")
	m.discarded = m.one("judged_runs_discarded_total",
		"Runs set aside because of a disturbance; they do not count for the verdict.")
	m.disturbed = m.counter("judged_runs_disturbed_total",
		"Disturbed runs, by cause; a run counts once for each of its causes.", "cause")
	m.flips = m.one("judged_verdict_flips_total", "Tests with kept runs on both sides of the time limit.")
	m.repeated = m.one("judged_tests_repeated_total", "Tests with more than one kept run.")
	m.foreign = m.counter("judged_run_foreign_cpu_seconds_total",
		"Time that other tasks ran on the CPUs of a slot during runs.", "cpus")
	m.steal = m.counter("judged_run_steal_seconds_total",
		"Time stolen by the hypervisor from the CPUs of a slot during runs.", "cpus")
	m.interrupts = m.counter("judged_run_interrupts_total", "Interrupts on the CPUs of a slot during runs, by kind.",
		"cpus", "kind")
	m.cpu = m.histogram("judged_run_cpu_seconds", "CPU time of one run, summed over its processes.", runBuckets)
	m.wall = m.histogram("judged_run_wall_seconds", "Wall time of one run.", runBuckets)
	m.limitRatio = m.histogram("judged_run_limit_ratio", "CPU time of one run divided by its time limit.", limitBuckets)
	m.delay = m.histogram("judged_run_delay_seconds",
		"Time that the first thread of a run waited for a CPU (run delay).", delayBuckets)
	m.faultCost = m.histogram("judged_run_page_fault_cost_seconds",
		"System time per minor page fault, for runs with at least 5000 of them.", faultBuckets)
	m.frequency = m.histogram("judged_run_frequency_ratio",
		"CPU frequency during a run divided by the nominal frequency.", frequencyBuckets)
	m.spread = m.histogram("judged_repeat_spread_seconds",
		"Slowest minus fastest CPU time among the kept runs of one test.", spreadBuckets)
	m.spreadRatio = m.histogram("judged_repeat_spread_ratio",
		"Slowest minus fastest CPU time among the kept runs of one test, divided by their median.", ratioBuckets)
}

func (m *Metrics) registerCanary(interval time.Duration) {
	if interval > 0 {
		registered(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: "judged_canary_interval_seconds",
			Help: "Time between two runs of the reference kernels on an idle slot; absent if they are off."})).
			Set(interval.Seconds())
	}
	m.canary = m.gauge("judged_canary_seconds", "CPU time of the last run of a reference kernel, by CPUs of the slot.",
		"cpu", "kernel")
	m.canaryDeviation = m.gauge("judged_canary_deviation_ratio",
		"Deviation of the last run of a reference kernel from its baseline; 0.01 is 1 percent slower; absent while the "+
			"baseline is learned.", "cpu", "kernel")
	m.canaryLast = m.gauge("judged_canary_last_timestamp_seconds",
		"Unix time at which a reference kernel last ran, by CPUs of the slot.", "cpu")
}

// preset creates the series of closed sets.
func (m *Metrics) preset(o Options) {
	for _, s := range o.Settings {
		m.drift.WithLabelValues(s)
	}
	for _, v := range verdicts() {
		m.runs.WithLabelValues(string(v))
		for _, p := range api.AllPriorities() {
			m.jobs.WithLabelValues(string(v), string(p))
		}
	}
	for _, f := range api.AllFaults() {
		m.internalErrors.WithLabelValues(string(f))
	}
	for _, c := range api.Causes() {
		m.disturbed.WithLabelValues(string(c))
	}
	for _, a := range attempts() {
		m.attempts.WithLabelValues(string(a))
	}
	for _, r := range api.CallbackResults() {
		m.callbacks.WithLabelValues(string(r))
	}
	for _, op := range o.StoreOperations {
		m.storeErrors.WithLabelValues(op)
	}
}

// Handler serves the registry, as OpenMetrics if requested. A failing source of state omits only its own series.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true,
		ErrorHandling: promhttp.ContinueOnError})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return registered(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (m *Metrics) one(name, help string) prometheus.Counter {
	return registered(m, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// histogram returns a histogram that also has native buckets with a growth of 10 %, for servers that request them.
func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return registered(m, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		NativeHistogramMinResetDuration: time.Hour}))
}

func registered[C prometheus.Collector](m *Metrics, c C) C {
	m.registry.MustRegister(c)
	return c
}
