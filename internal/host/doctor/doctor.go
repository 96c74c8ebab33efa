package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/host/fingerprint"
	"judged/internal/host/hostfs"
	"judged/internal/host/topology"
	"judged/internal/host/turbo"
)

// Options say what to look at.
type Options struct {
	FS      hostfs.FS
	CPUs    cpuset.Set               // the CPUs reserved for runs; empty: the isolated ones, else the last one
	Width   int                      // CPUs of one slot; 0 is 1
	Strict  bool                     // S2 failures too keep the host from being ready
	Class   string                   // what the operator calls hosts of this kind
	Member  *fingerprint.Fingerprint // of a host of the pool; nil if nobody gave one
	Program []byte                   // judged-init, which is part of the fingerprint
	// Window is how long to wait for a second look at what the kernel counts; 0, and a captured host,
	// know what was counted since boot and no more. Before is an earlier look, in place of a first one.
	Window time.Duration
	Before *Counts
	Daemon bool // this process is the daemon: its own threads must keep off the reserved CPUs
}

// UsageError says that the question made no sense on this machine; doctor did not run.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// Run looks, twice if there is a window, and changes nothing. The error is a *UsageError for options
// that do not fit the machine; any other means that doctor itself could not work.
func Run(ctx context.Context, o Options) (Report, error) {
	r, _, err := Examine(ctx, o)
	return r, err
}

// Examine is Run for who will ask again: its counts are the Before of the next time.
func Examine(ctx context.Context, o Options) (Report, Counts, error) {
	before, err := o.first(ctx)
	if err != nil {
		return Report{}, Counts{}, err
	}
	f, err := look(ctx, o)
	if err != nil {
		return Report{}, Counts{}, err
	}
	f.window = f.counts.since(before)
	r := Report{Schema: schema, Strict: o.Strict, CPUs: f.reserved.String(), Host: f.describe()}
	if f.window != nil {
		r.WindowNS = f.window.length
	}
	for _, c := range allChecks() {
		r.Checks = append(r.Checks, c.examine(f))
	}
	r.Ready = r.blocking() == 0
	return r, f.counts, nil
}

// look gathers what several checks need, and decides which CPUs it is about.
func look(ctx context.Context, o Options) (facts, error) {
	f, err := see(o)
	if err != nil {
		return facts{}, err
	}
	f.turbo = turbo.Read(o.FS, f.reserved.Intersect(f.top.Online))
	f.class = classify(o.FS)
	f.config = kernelConfig(o.FS, f.top.Kernel)
	f.mounts = parseMounts(f.optional("/proc/mounts"))
	f.own = parseCgroups(f.optional("/proc/self/cgroup"))
	if f.tasks, err = scanTasks(ctx, o.FS); err != nil {
		return facts{}, fmt.Errorf("examine host: %w", err)
	}
	f.groups = f.examineGroups()
	f.counts = f.count()
	return f, nil
}

// see finds the CPUs that it is about.
func see(o Options) (facts, error) {
	top, err := topology.Read(o.FS)
	if err != nil {
		return facts{}, fmt.Errorf("examine host: %w", err)
	}
	f := facts{fs: o.FS, top: top, width: max(o.Width, 1), daemon: o.Daemon, options: o}
	if f.reserved, err = reserve(o, top); err != nil {
		return facts{}, err
	}
	f.housekeeping = top.Online.Minus(f.reserved)
	return f, nil
}

func reserve(o Options, top topology.Topology) (cpuset.Set, error) {
	switch known := top.Present.Union(top.Online); {
	case o.Width < 0:
		return nil, &UsageError{fmt.Sprintf("width %d is not a number of CPUs; give 1 or more", o.Width)}
	case len(o.CPUs) > 0 && !o.CPUs.IsSubsetOf(known):
		return nil, &UsageError{fmt.Sprintf("CPU %s is not on this machine; it has %s", o.CPUs.Minus(known), known)}
	case len(o.CPUs) > 0:
		return o.CPUs, nil
	case len(top.Isolated) > 0:
		return top.Isolated, nil
	default:
		return cpuset.New(top.Online[len(top.Online)-1]), nil
	}
}

// IDs are the ids of all checks, in the order of the report.
func IDs() []string {
	var ids []string
	for _, c := range allChecks() {
		ids = append(ids, c.id)
	}
	return ids
}

// Explanation is what doctor knows about a check before it looks at a host.
type Explanation struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	Wanted   string   `json:"wanted"`
	Effect   string   `json:"effect"`
	Confirm  string   `json:"confirm"` // a shell command that shows the value, before and after
	Fix      Fix      `json:"fix"`     // R stands for the reserved CPUs, H for the others
}

// Explain describes one check; false if there is none of that id.
func Explain(id string) (Explanation, bool) {
	checks := slices.Concat(allChecks(), probeChecks())
	i := slices.IndexFunc(checks, func(c check) bool { return c.id == id })
	if i < 0 {
		return Explanation{}, false
	}
	c := checks[i]
	names := strings.NewReplacer("{R}", "R", "{RW}", "R", "{H}", "H", "{W}", "W", "{P}", "isolated", "{HM}", "MASK_OF_H")
	return Explanation{ID: c.id, Title: c.title, Severity: c.severity, Wanted: names.Replace(c.wanted),
		Effect: c.effect, Confirm: c.confirm, Fix: c.explainFix().render(c.id, names)}, true
}
