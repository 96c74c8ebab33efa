package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"judged/internal/api"
	"judged/internal/host/slots"
	"judged/internal/jobs"
)

// scrapeTimeout limits how long a scrape waits for the queue.
const scrapeTimeout = 2 * time.Second

// state computes gauges at each scrape.
type state struct {
	options Options

	ready, free, slot, check, turbo, tuned    *prometheus.Desc
	depth, poolDepth, poolJudging, screenOpen *prometheus.Desc
	node, deviation, deviates                 *prometheus.Desc
	disabledReceivers, expiry                 *prometheus.Desc
	queueFailures                             prometheus.Counter
	// pool is called for each pool; it may be nil.
	pool func(name string)
}

func newState(o Options) *state {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &state{
		options: o,
		ready:   desc("judged_ready", "Whether a job submitted now is accepted and can be judged, as in GET /readyz."),
		free: desc("judged_data_free_bytes",
			"Free space of the data folder, or of the blobs if that is less; absent if unknown."),
		expiry: desc("judged_certificate_expiry_timestamp_seconds",
			"Unix time at which the certificate in use expires; absent without HTTPS."),
		slot: desc("judged_slot_state", "State of a slot: 1 for the current state, 0 for the others.", "cpus",
			"state"),
		check: desc("judged_doctor_check_status",
			"Status of a doctor check: 1 for the current status, 0 for the others.", "check", "severity", "status"),
		turbo: desc("judged_turbo_enabled", "Whether the CPUs may exceed their base frequency; absent if unknown."),
		tuned: desc("judged_tune_setting_applied",
			"Whether a setting applied by judged tune is in force; absent if it was not applied.", "setting"),
		node: desc("judged_node_up", "Whether a judge node has registered lately.", "node", "pool"),
		deviation: desc("judged_host_deviation_ratio",
			"By how much the times of a judge node exceed those of its pool, by audits; 0.01 is 1 percent slower; absent "+
				"before it was compared.", "node", "pool"),
		deviates: desc("judged_host_deviates",
			"Whether a judge node deviates by more than equal hosts differ and noise explains.", "node", "pool"),
		depth: desc("judged_queue_depth",
			"Waiting jobs of the pool of this host, on a front of all pools, by priority.", "priority"),
		poolDepth: desc("judged_pool_queue_depth", "Waiting jobs of a pool, by priority.", "pool", "priority"),
		poolJudging: desc("judged_pool_judging_nodes", "Judge nodes of a pool that are up, ready and not drained.",
			"pool"),
		screenOpen: desc("judged_screen_open",
			"Whether a screening pool may decide: 0 after a check has closed it.", "pool"),
		disabledReceivers: desc("judged_callback_receivers_disabled",
			"Receivers of callbacks that are disabled because they failed too often or wanted no more."),
		queueFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "judged_queue_depth_errors_total",
			Help: "Scrapes at which the depth of the queue could not be read."}),
	}
}

// Describe implements prometheus.Collector.
func (s *state) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.ready, s.free, s.slot, s.check, s.turbo, s.tuned, s.depth, s.poolDepth,
		s.poolJudging, s.screenOpen, s.node, s.deviation, s.deviates, s.disabledReceivers, s.expiry} {
		out <- d
	}
	s.queueFailures.Describe(out)
}

// Collect implements prometheus.Collector.
func (s *state) Collect(out chan<- prometheus.Metric) {
	s.collectReady(out)
	s.collectSlots(out)
	s.collectDoctor(out)
	s.collectTurbo(out)
	s.collectTuned(out)
	s.collectQueue(out)
	s.collectNodes(out)
	s.collectReceivers(out)
}

func (s *state) collectReceivers(out chan<- prometheus.Metric) {
	if s.options.DisabledReceivers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if n, err := s.options.DisabledReceivers(ctx); err == nil { // counted in judged_store_errors_total
		out <- gauge(s.disabledReceivers, float64(n))
	}
}

func (s *state) collectNodes(out chan<- prometheus.Metric) {
	if s.options.Nodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	nodes, err := s.options.Nodes(ctx)
	if err != nil {
		return // counted in judged_store_errors_total
	}
	for _, n := range nodes {
		out <- gauge(s.node, is(n.Up), n.Name, n.Pool)
		if d := n.Deviation; d != nil {
			out <- gauge(s.deviation, d.Ratio, n.Name, n.Pool)
			out <- gauge(s.deviates, is(d.Deviates), n.Name, n.Pool)
		}
	}
}

func (s *state) collectReady(out chan<- prometheus.Metric) {
	if s.options.Ready != nil {
		out <- gauge(s.ready, is(s.options.Ready() == nil))
	}
	if s.options.Expiry != nil {
		if at := s.options.Expiry(); !at.IsZero() {
			out <- gauge(s.expiry, float64(at.Unix()))
		}
	}
	if s.options.FreeBytes != nil {
		if free := s.options.FreeBytes(); free >= 0 {
			out <- gauge(s.free, float64(free))
		}
	}
}

func (s *state) collectSlots(out chan<- prometheus.Metric) {
	if s.options.Slots == nil {
		return
	}
	seen := map[string]bool{}
	for _, slot := range s.options.Slots() {
		if seen[slot.CPUs] {
			continue // a duplicate series would fail the whole scrape
		}
		seen[slot.CPUs] = true
		for _, state := range slots.States() {
			out <- gauge(s.slot, is(state == slot.State), slot.CPUs, state)
		}
	}
}

func (s *state) collectDoctor(out chan<- prometheus.Metric) {
	if s.options.Doctor == nil {
		return
	}
	seen := map[string]bool{}
	for _, check := range s.options.Doctor() {
		if seen[check.ID] {
			continue
		}
		seen[check.ID] = true
		for _, status := range []api.DoctorStatus{api.DoctorPass, api.DoctorWarn, api.DoctorFail, api.DoctorSkip,
			api.DoctorUnknown} {
			out <- gauge(s.check, is(status == check.Status), check.ID, string(check.Severity), string(status))
		}
	}
}

func (s *state) collectTurbo(out chan<- prometheus.Metric) {
	if s.options.Turbo == nil {
		return
	}
	if on := s.options.Turbo(); slices.Contains([]string{"on", "off"}, on) {
		out <- gauge(s.turbo, is(on == "on"))
	}
}

func (s *state) collectTuned(out chan<- prometheus.Metric) {
	if s.options.Tuned == nil {
		return
	}
	for setting, inForce := range s.options.Tuned() {
		out <- gauge(s.tuned, is(inForce), setting)
	}
}

func (s *state) collectQueue(out chan<- prometheus.Metric) {
	if s.options.QueueDepth == nil {
		return
	}
	defer s.queueFailures.Collect(out)
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	depths, err := s.options.QueueDepth(ctx)
	if err != nil {
		s.queueFailures.Inc()
		return
	}
	for _, p := range api.Priorities() {
		n := 0
		for pool, depth := range depths {
			if s.options.Pool == "" || s.options.Pool == pool {
				n += depth[p]
			}
		}
		out <- gauge(s.depth, float64(n), string(p))
	}
	s.collectPools(ctx, out, depths)
}

func (s *state) collectPools(ctx context.Context, out chan<- prometheus.Metric, depths jobs.Depths) {
	if s.options.Pools == nil {
		return
	}
	pools, err := s.options.Pools(ctx, depths)
	if err != nil {
		return // counted in judged_store_errors_total
	}
	for _, pool := range pools {
		if s.pool != nil {
			s.pool(pool.Name)
		}
		out <- gauge(s.poolJudging, float64(pool.Judging), pool.Name)
		if pool.Screen != nil {
			out <- gauge(s.screenOpen, is(pool.Screen.Open), pool.Name)
		}
		for _, p := range api.Priorities() {
			out <- gauge(s.poolDepth, float64(depths[pool.Name][p]), pool.Name, string(p))
		}
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
