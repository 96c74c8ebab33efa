package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/api/hosts"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/proc"
	"judged/internal/host/settings"
	"judged/internal/host/turbo"
)

// Options say what to look at.
type Options struct {
	FS      hostfs.FS
	CPUs    cpuset.Set         // the CPUs reserved for runs; empty: the isolated ones, else the last one
	Width   int                // CPUs of one slot; 0 is 1
	Strict  bool               // S2 failures too keep the host from being ready
	Class   string             // the operator's name for hosts of this kind
	Member  *hosts.Fingerprint // of a host of the pool; nil: nothing to compare with
	Program []byte             // judged-init, which is part of the fingerprint
	// Window is how long to wait for a second look at what the kernel counts; with 0, and for a captured host, only the
	// counts since boot are known. Before is an earlier look, used as the first one.
	Window time.Duration
	Before *Counts
	// Languages are those of sources; nil: the host is captured, and nothing is known of them.
	Languages []Language
	Daemon    bool // this process is the daemon: its own threads must keep off the reserved CPUs

	capture bool // every check reads what it may need
}

// UsageError says that the request makes no sense on this machine; doctor did not run.
type UsageError = settings.UsageError

// Run looks, twice if there is a window, and changes nothing. The error is a *UsageError for options that do not fit
// the machine; any other means that doctor itself failed.
func Run(ctx context.Context, o Options) (api.DoctorReport, error) {
	r, _, err := Examine(ctx, o)
	return r, err
}

// Examine is Run for a caller that will ask again: the counts are the Before of the next time.
func Examine(ctx context.Context, o Options) (api.DoctorReport, Counts, error) {
	before, err := o.first(ctx)
	if err != nil {
		return api.DoctorReport{}, Counts{}, err
	}
	f, err := look(ctx, o)
	if err != nil {
		return api.DoctorReport{}, Counts{}, err
	}
	f.window = f.counts.since(before)
	r := api.DoctorReport{Schema: schema, Strict: o.Strict, CPUs: f.Reserved.String(), Host: f.describe()}
	if f.window != nil {
		r.WindowNS = f.window.length
	}
	looks, names := looks(), f.Names()
	for _, s := range settings.All() {
		r.Checks = append(r.Checks, f.check(s, looks[s.ID], names))
	}
	r.Ready = blocking(r) == 0
	return r, f.counts, nil
}

// look gathers what several checks need, and decides which CPUs are reserved.
func look(ctx context.Context, o Options) (facts, error) {
	h, err := settings.Examine(o.FS, o.CPUs, o.Width)
	if err != nil {
		return facts{}, err
	}
	f := facts{Host: h, daemon: o.Daemon, options: o, class: classify(o.FS),
		turbo:  turbo.Read(o.FS, h.Reserved.Intersect(h.Topology.Online)),
		config: proc.KernelConfig(o.FS, h.Topology.Kernel)}
	f.mounts = proc.Mounts(f.Optional("/proc/mounts"))
	f.own = proc.Cgroups(f.Optional("/proc/self/cgroup"))
	if f.tasks, err = proc.Threads(ctx, o.FS); err != nil {
		return facts{}, fmt.Errorf("examine host: %w", err)
	}
	f.groups = f.examineGroups()
	f.counts = f.count()
	return f, nil
}

// IDs are the ids of all checks, in the order of the report.
func IDs() []string { return ids(settings.All()) }

// ProbeIDs are the ids of all probes.
func ProbeIDs() []string { return ids(settings.Probes()) }

func ids(rows []settings.Setting) []string {
	var ids []string
	for _, s := range rows {
		ids = append(ids, s.ID)
	}
	return ids
}

// Explanation is what is known of a check without a host.
type Explanation struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Severity api.Severity  `json:"severity"`
	Wanted   string        `json:"wanted"`
	Effect   string        `json:"effect"`
	Confirm  string        `json:"confirm"` // a shell command that shows the value, before and after
	Fix      api.DoctorFix `json:"fix"`     // R stands for the reserved CPUs, H for the others
}

// Explain describes one check; false if the id is unknown.
func Explain(id string) (Explanation, bool) {
	s, ok := settings.Get(id)
	if !ok {
		return Explanation{}, false
	}
	names := settings.Generic()
	confirm := s.Command()
	if slices.Contains(ProbeIDs(), id) {
		confirm = "judged doctor --probe=" + id
	}
	return Explanation{ID: s.ID, Title: s.Title, Severity: s.Severity, Wanted: names.Replace(s.Wanted),
		Effect: s.Effect, Confirm: confirm,
		Fix: renderFix(explainFix(s), s, names)}, true
}

// AddProbe adds the outcome of a probe and decides again whether the host is ready. It reports whether there is a probe
// of that id.
func AddProbe(r *api.DoctorReport, id string, o Outcome, read []string) bool {
	s, ok := settings.Get(id)
	if !ok || !slices.Contains(ProbeIDs(), id) {
		return false
	}
	reserved, _ := cpuset.Parse(r.CPUs)
	names := (&settings.Host{Reserved: reserved}).Names()
	r.Checks = append(r.Checks, api.DoctorCheck{ID: id, Title: s.Title, Severity: s.Severity, Status: o.Status,
		Found:  o.Found,
		Wanted: s.Wanted,
		Reason: o.Reason, Read: append([]string{}, read...), Effect: s.Effect, Fix: renderFix(explainFix(s), s, names)})
	r.Ready = blocking(*r) == 0
	return true
}

// schema is the version of the JSON of a Report.
const schema = 1

// blocks reports whether this check keeps the host from being ready.
func blocks(c api.DoctorCheck, strict bool) bool {
	return c.Status == api.DoctorFail && (c.Severity == api.SeverityS1 || strict && c.Severity == api.SeverityS2)
}

// blocking counts what has to be fixed before the host is ready.
func blocking(r api.DoctorReport) int {
	n := 0
	for _, c := range r.Checks {
		if blocks(c, r.Strict) {
			n++
		}
	}
	return n
}

// The names under which a capture keeps what no file of the host holds as text.
const (
	adjtimexAnswer = "/judged/adjtimex" // adjtimex(2)
	smiAnswer      = "/judged/msr-0x34" // MSR_SMI_COUNT, from /dev/cpu/N/msr
	perfAnswer     = "/judged/perf"     // how many links of /proc/self/fd are perf events
)

// mustAsk is must for an answer that comes from a system call; the report names its source.
func (v *view) mustAsk(name, source string, live func() ([]byte, error)) string {
	v.saw(source)
	b, err := v.FS.Ask(name, live)
	if err != nil {
		v.refuse(source, err)
	}
	return strings.TrimSpace(string(b))
}

func adjtimex() ([]byte, error) {
	var t syscall.Timex // no mode is set, so nothing is changed
	if _, err := syscall.Adjtimex(&t); err != nil {
		return nil, os.NewSyscallError("adjtimex", err)
	}
	return fmt.Appendf(nil, "freq %d tick %d status %d\n", t.Freq, t.Tick, t.Status), nil
}

func countPerf() ([]byte, error) {
	const dir = "/proc/self/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	held := 0
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/" + fd.Name()); err == nil && target == "anon_inode:[perf_event]" {
			held++
		}
	}
	return strconv.AppendInt(nil, int64(held), 10), nil
}

// readSMI reads 8 bytes at the number of the register, which is how the msr driver is addressed.
func readSMI(cpu int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/dev/cpu/%d/msr", cpu))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0x34); err != nil {
		return nil, err
	}
	// The upper half of the register is reserved.
	return strconv.AppendUint(nil, uint64(binary.LittleEndian.Uint32(b[:4])), 10), nil
}
