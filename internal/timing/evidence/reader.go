package evidence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// Reader reads the counters of one slot's CPUs. It keeps its buffers and its files open, because opening is most of the
// cost of a read. Only one goroutine may use it at a time, on a housekeeping CPU: on the slot it would disturb the run.
type Reader struct {
	fs         hostfs.FS
	cpus       cpuset.Set
	neighbours cpuset.Set // may be empty
	own        OwnTime
	busy       busySource
	busyFile   *os.File // nil without a source of run time
	positions  []int    // of cpus in cpuacct.usage_percpu
	besides    []int    // positions of neighbours there
	stat       *os.File
	softirqs   *os.File
	vmstat     *os.File // nil on a host without swap
	cores      []*os.File
	packages   []*os.File
	quotas     []*os.File // cpu.stat of the groups above the runs
	monitors   monitors
	perf       perf
	interrupts *interruptFile

	buf     []byte
	columns []bool
}

// busySource is the source of the CPUs' run time.
type busySource int

const (
	noBusySource busySource = iota
	schedstat
	cpuacct
)

// Snapshot holds the counters at one moment, for Between.
type Snapshot struct {
	source          busySource
	busy            tally // nanoseconds
	ticks           ticks
	neighbours      tally       // user ticks of the neighbours
	neighboursBusy  tally       // run time of the neighbours in nanoseconds, like busy
	own             tally       // CPU time of judged on the neighbours, nanoseconds
	ownUser         tally       // the part of own in user mode
	kernel          kernelTimes // nil if not read
	late            *late       // set by GlanceAtLimit; nil until then
	throttled       tally       // nanoseconds
	softirqs        softirqs
	vm              vm
	cores, packages tally // number of times that the processor was throttled because of heat
	traffic         traffic
	perf            totals
	interrupts      *reading
	took            time.Duration
}

// OwnTime returns the CPU time that judged's own work has used so far on the neighbours of a slot, and its part in user
// mode: this process, its programs of the jury, compilers and everything else that it starts there.
type OwnTime func() (total, user time.Duration, err error)

// NewReader opens the sources of this host, except for those that are missing or unreadable. It fails only for an empty
// set of CPUs. neighbours are the CPUs that share a cache or a NUMA node with the slot; own returns what judged uses
// there.
func NewReader(fs hostfs.FS, cpus, neighbours cpuset.Set, own OwnTime) (*Reader, error) {
	if len(cpus) == 0 {
		return nil, errors.New("read evidence: no CPUs given; name those of the slot")
	}
	r := &Reader{fs: fs, cpus: cpus, neighbours: neighbours, own: own, buf: make([]byte, 16<<10)}
	r.stat = open(fs, "/proc/stat")
	r.softirqs = open(fs, "/proc/softirqs")
	if swapping(fs) {
		r.vmstat = open(fs, "/proc/vmstat")
	}
	r.openBusy(fs)
	for _, cpu := range cpus {
		r.cores = appendOpen(r.cores, fs, fmt.Sprintf(
			"/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu))
	}
	// All CPUs of a slot are in one package.
	r.packages = appendOpen(nil, fs, fmt.Sprintf(
		"/sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", cpus[0]))
	r.quotas = openQuotas(fs)
	r.monitors = openMonitors(fs, cpus)
	r.perf = openPerf(chooseEvents(fs, cpus), cpus)
	r.interrupts = openInterrupts(fs, cpus)
	return r, nil
}

// openBusy prefers schedstat, which is the same file with cgroup v1 and v2. cgroup v2 has no per-CPU count.
func (r *Reader) openBusy(fs hostfs.FS) {
	if f := open(fs, "/proc/schedstat"); f != nil {
		r.busy, r.busyFile = schedstat, f
		return
	}
	mount, ok := cpuacctMount(fs)
	if !ok {
		return
	}
	positions, ok := possiblePositions(fs, r.cpus)
	besides, alsoOK := possiblePositions(fs, r.neighbours)
	if !ok || !alsoOK {
		return
	}
	if f := open(fs, mount+"/cpuacct.usage_percpu"); f != nil {
		r.busy, r.busyFile, r.positions, r.besides = cpuacct, f, positions, besides
	}
}

// Close closes the files. A Snapshot after Close is empty.
func (r *Reader) Close() error {
	errs := []error{r.perf.close(), r.interrupts.close()}
	for _, f := range r.files() {
		if f != r.interrupts.file {
			errs = append(errs, f.Close())
		}
	}
	*r = Reader{fs: r.fs, cpus: r.cpus, neighbours: r.neighbours, busy: r.busy, interrupts: &interruptFile{}}
	return errors.Join(errs...)
}

func (r *Reader) files() []*os.File {
	all := slices.Concat([]*os.File{r.busyFile, r.stat, r.softirqs, r.vmstat, r.interrupts.file}, r.cores, r.packages,
		r.quotas, r.monitors.files())
	return slices.DeleteFunc(all, func(f *os.File) bool { return f == nil })
}

// Snapshot reads all counters, one after the other. Call it right before the run starts and right after it was reaped:
// all time on the CPUs in between that is not the run's counts as foreign.
//
// The order is: first the counters whose reading interrupts the CPUs, last the CPUs' run time.
func (r *Reader) Snapshot() Snapshot {
	begin := time.Now()
	var s Snapshot
	s.perf = r.perf.read(r.buf)
	s.traffic = traffic{r.sumOf(r.monitors.total), r.sumOf(r.monitors.local), r.sumOf(r.monitors.occupancy)}
	s.interrupts = r.interrupts.read()
	s.cores, s.packages = r.sumOf(r.cores), r.sumOf(r.packages)
	s.throttled = r.throttled()
	if b := r.read(r.softirqs); b != nil {
		s.softirqs, r.columns = parseSoftirqs(b, r.cpus, r.columns)
	}
	s.vm = parseVM(r.read(r.vmstat))
	r.readStat(&s)
	s.source = r.busy
	r.readBusy(&s)
	s.took = time.Since(begin)
	return s
}

// Glance reads only what Explain uses, for a run that is not finished.
func (r *Reader) Glance() Snapshot {
	s := Snapshot{source: r.busy, perf: r.perf.read(r.buf), throttled: r.throttled()}
	r.readStat(&s)
	r.readBusy(&s)
	return s
}

// GlanceAtLimit is like Glance and, if others have used the CPUs, also reads the time of the kernel's threads since the
// first such call after before. Only then is it known how much of the time in kernel mode was that of other programs.
func (r *Reader) GlanceAtLimit(before *Snapshot) Snapshot {
	s := r.Glance()
	if ran, ok := before.ticks.system.growth(s.ticks.system); before.late == nil && ok && ran > 0 {
		before.late = &late{s.ticks.system, r.kernelThreads()}
	}
	if before.late != nil {
		s.kernel = r.kernelThreads()
	}
	return s
}

// SnapshotAfter returns the Snapshot at the end of a run that started with before.
func (r *Reader) SnapshotAfter(before Snapshot) Snapshot {
	s := r.Snapshot()
	if before.late != nil {
		s.kernel = r.kernelThreads()
	}
	return s
}

func (r *Reader) readStat(s *Snapshot) {
	b := r.read(r.stat)
	s.ticks = parseStat(b, r.cpus)
	if len(r.neighbours) == 0 {
		return
	}
	s.neighbours = parseStat(b, r.neighbours).user
	if total, user, err := r.own(); err == nil {
		s.own, s.ownUser = tally{uint64(total), 1}, tally{uint64(user), 1}
	}
}

func (r *Reader) readBusy(s *Snapshot) {
	switch b := r.read(r.busyFile); r.busy {
	case schedstat:
		s.busy, s.neighboursBusy = parseSchedstat(b, r.cpus), parseSchedstat(b, r.neighbours)
	case cpuacct:
		s.busy, s.neighboursBusy = parseUsagePercpu(b, r.positions), parseUsagePercpu(b, r.besides)
	}
}

// read returns the content of the whole file, valid until the next read, or nil.
func (r *Reader) read(f *os.File) []byte {
	if f == nil {
		return nil
	}
	var n int
	n, r.buf = readWhole(f, r.buf)
	return r.buf[:n]
}

// readWhole reads a file from its start into a buffer that grows, and returns 0 on an error. A read from offset 0 makes
// the kernel generate the file again, a page at a time.
func readWhole(f *os.File, buf []byte) (int, []byte) {
	n := 0
	for {
		m, err := f.ReadAt(buf[n:], int64(n))
		n += m
		if errors.Is(err, io.EOF) {
			return n, buf
		}
		if err != nil {
			return 0, buf
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}
