// Package doctor reports whether a host is ready to judge. Its checks are the rows of the catalogue (package
// settings). Most compare values in kernel files with the wanted values; the others are functions.
//
// If a file is missing, the result is skip or unknown, never pass; if it cannot be read, the result is warn.
// Kernel counters are read twice, a window apart, if there is time: only their growth is evaluated.
//
// Belongs here: static checks, the report, its table for people, the manual deploy/HOST.md, the fixes that
// depend on the host, the properties that run times depend on (the fingerprint), and the capture of the files that
// all of these read.
//
// Does not belong here: the texts and wanted values (settings), changing anything (tune), running anything
// (lab/probe), sampling over time (measure, evidence). Package doctor only opens files for reading.
package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
)

// Options says what to examine.
type Options struct {
	FS      hostfs.FS
	CPUs    cpuset.Set       // the CPUs reserved for runs; if empty, the isolated CPUs or else the last one
	Width   int              // number of CPUs per slot; 0 means 1
	Strict  bool             // failures of severity S2 also make the host not ready
	Class   string           // the operator's name for this kind of host
	Member  *api.Fingerprint // fingerprint of a host of the pool; nil means no comparison
	Program []byte           // judged-init, part of the fingerprint
	// KernelConfig returns what hostfs.KernelConfig does, for a caller that has it already. It may be nil.
	KernelConfig func() string
	// Window is the time between two readings of kernel counters. If it is 0, or the host is captured, counters
	// are known only since boot. Before is an earlier reading, used in place of the first one.
	Window time.Duration
	Before *Counts
	// Languages lists the programming languages. It is nil for a captured host, about which this is unknown.
	Languages []Language
	Daemon    bool // this process is the daemon, whose threads must not run on reserved CPUs

	capture bool // checks read all files that they could need
}

// UsageError means that the request is invalid for this machine; doctor did not run.
type UsageError = settings.UsageError

// Run examines the host without changing it, twice if there is a window. The error is a *UsageError if the
// options do not fit the machine; other errors mean that doctor itself failed.
func Run(ctx context.Context, o Options) (api.DoctorReport, error) {
	r, _, err := Examine(ctx, o)
	return r, err
}

// Examine is like Run but also returns the counters, for Options.Before of the next call.
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

// kernelConfig returns the configuration of a host's kernel, from known unless that is nil.
func kernelConfig(h hostfs.FS, release string, known func() string) string {
	if known != nil {
		return known()
	}
	return hostfs.KernelConfig(h, release)
}

// look collects the facts that several checks need and determines the reserved CPUs.
func look(ctx context.Context, o Options) (facts, error) {
	h, err := settings.Examine(o.FS, o.CPUs, o.Width)
	if err != nil {
		return facts{}, err
	}
	f := facts{Host: h, daemon: o.Daemon, options: o, class: classify(o.FS),
		turbo: machine.ReadTurbo(o.FS, h.Reserved.Intersect(h.Topology.Online))}
	if config := kernelConfig(o.FS, h.Topology.Kernel, o.KernelConfig); config != "" {
		f.config = "\n" + config
	}
	f.mounts = hostfs.Mounts(f.Optional("/proc/mounts"))
	f.own = hostfs.Cgroups(f.Optional("/proc/self/cgroup"))
	if f.tasks, err = hostfs.Threads(ctx, o.FS); err != nil {
		return facts{}, fmt.Errorf("examine host: %w", err)
	}
	f.groups = f.examineGroups()
	f.counts = f.count()
	return f, nil
}

// ProbeIDs returns the IDs of all probes.
func ProbeIDs() []string { return ids(settings.Probes()) }

func ids(rows []settings.Setting) []string {
	var ids []string
	for _, s := range rows {
		ids = append(ids, s.ID)
	}
	return ids
}

// Explanation is the description of a check, independent of a host.
type Explanation struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Severity api.Severity  `json:"severity"`
	Wanted   string        `json:"wanted"`
	Effect   string        `json:"effect"`
	Confirm  string        `json:"confirm"` // a shell command that shows the value, before and after
	Fix      api.DoctorFix `json:"fix"`     // R stands for the reserved CPUs, H for the others
}

// Explain describes a check. It returns false if id is unknown.
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
		Effect: s.Effect, Confirm: confirm, Fix: renderFix(explainFix(s), s, names)}, true
}

// AddProbe adds the outcome of a probe and updates whether the host is ready. It reports whether id is a probe.
func AddProbe(r *api.DoctorReport, id string, o Outcome, read []string) bool {
	s, ok := settings.Get(id)
	if !ok || !slices.Contains(ProbeIDs(), id) {
		return false
	}
	add(r, s, o, read)
	return true
}

func add(r *api.DoctorReport, s settings.Setting, o Outcome, read []string) {
	reserved, _ := cpuset.Parse(r.CPUs)
	names := (&settings.Host{Reserved: reserved}).Names()
	r.Checks = append(r.Checks, api.DoctorCheck{ID: s.ID, Title: s.Title, Severity: s.Severity, Status: o.Status,
		Found: o.Found, Wanted: s.Wanted,
		Reason: o.Reason, Read: append([]string{}, read...), Effect: s.Effect, Fix: renderFix(explainFix(s), s, names)})
	r.Ready = blocking(*r) == 0
}

// Front describes the host of a front. The checks of Run do not apply to it, because nothing runs there.
func Front(ctx context.Context, fs hostfs.FS) (api.DoctorReport, error) {
	f, err := look(ctx, Options{FS: fs})
	if err != nil {
		return api.DoctorReport{}, err
	}
	return api.DoctorReport{Schema: schema, Ready: true, Host: f.describe(), Checks: []api.DoctorCheck{}}, nil
}

// AddFronts adds the check that the fronts of a database have the same settings. differ has the keys that differ, by
// the other front.
func AddFronts(r *api.DoctorReport, differ map[string][]string) {
	o := pass("no other front with other settings")
	if len(differ) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(differ)) {
			all = append(all, name+": "+strings.Join(differ[name], " "))
		}
		o = fail(text.Count(len(all), "front")+" with other settings", strings.Join(all, "; "))
	}
	add(r, settings.FrontSettings(), o, nil)
}

// schema is the version of a report's JSON.
const schema = 1

// blocks reports whether a check prevents the host from being ready.
func blocks(c api.DoctorCheck, strict bool) bool {
	return c.Status == api.DoctorFail && (c.Severity == api.SeverityS1 || strict && c.Severity == api.SeverityS2)
}

// blocking counts the problems that must be fixed before the host is ready.
func blocking(r api.DoctorReport) int {
	n := 0
	for _, c := range r.Checks {
		if blocks(c, r.Strict) {
			n++
		}
	}
	return n
}

// Paths under which a capture stores values that the host has in no text file.
const (
	adjtimexAnswer = "/judged/adjtimex" // adjtimex(2)
	smiAnswer      = "/judged/msr-0x34" // MSR_SMI_COUNT, from /dev/cpu/N/msr
	perfAnswer     = "/judged/perf"     // number of links in /proc/self/fd to perf events
)

// mustAsk is like must, for a value that a system call returns. The report names source.
func (v *view) mustAsk(name, source string, live func() ([]byte, error)) string {
	v.saw(source)
	b, err := v.FS.Ask(name, live)
	if err != nil {
		v.refuse(source, err)
	}
	return strings.TrimSpace(string(b))
}

func adjtimex() ([]byte, error) {
	var t syscall.Timex // without a mode, adjtimex changes nothing
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

// readSMI reads 8 bytes at the offset of the register's number, as the msr driver requires.
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
