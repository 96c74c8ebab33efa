package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"judged/internal/cpuset"
	"judged/internal/hostfs"
)

// Reader reads the counters of one slot's CPUs. It holds its files open, since opening is most of
// what a read costs, and its buffers. It serves one goroutine at a time, which should be on a
// housekeeping CPU: a reader on the slot would be what it looks for.
type Reader struct {
	cpus       cpuset.Set
	busy       busySource
	busyFile   *os.File // nil: no source of run time
	positions  []int    // of cpus in cpuacct.usage_percpu
	stat       *os.File
	interrupts *os.File
	throttles  []*os.File

	buf     []byte
	columns []bool
	names   names
	rows    int // of the last snapshot
}

// busySource is where the run time of the CPUs comes from.
type busySource int

const (
	noBusySource busySource = iota
	schedstat
	cpuacct
)

// Snapshot is what the counters said at one moment. It is only good for Between.
type Snapshot struct {
	source     busySource
	busy       tally // nanoseconds
	ticks      ticks
	interrupts interrupts
	throttles  tally
}

// NewReader opens the sources that this host has. A source that is missing or unreadable is left
// out; the only error is an empty set of CPUs.
func NewReader(fs hostfs.FS, cpus cpuset.Set) (*Reader, error) {
	if len(cpus) == 0 {
		return nil, errors.New("read evidence: no CPUs given; name those of the slot")
	}
	r := &Reader{cpus: cpus, buf: make([]byte, 16<<10), names: names{}}
	r.stat = open(fs, "/proc/stat")
	r.interrupts = open(fs, "/proc/interrupts")
	r.openBusy(fs)
	for _, cpu := range cpus {
		if f := open(fs, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu)); f != nil {
			r.throttles = append(r.throttles, f)
		}
	}
	return r, nil
}

// openBusy prefers schedstat: it is one file for v1 and v2 hosts. The v2 hierarchy has no count of
// its own per CPU.
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
	if !ok {
		return
	}
	if f := open(fs, mount+"/cpuacct.usage_percpu"); f != nil {
		r.busy, r.busyFile, r.positions = cpuacct, f, positions
	}
}

// Sources names the files that are read, for the log.
func (r *Reader) Sources() []string {
	var names []string
	for _, f := range r.files() {
		names = append(names, f.Name())
	}
	return names
}

// Close closes the files. A Snapshot after it is empty.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files() {
		errs = append(errs, f.Close())
	}
	r.busyFile, r.stat, r.interrupts, r.throttles = nil, nil, nil, nil
	return errors.Join(errs...)
}

func (r *Reader) files() []*os.File {
	var open []*os.File
	for _, f := range append([]*os.File{r.busyFile, r.stat, r.interrupts}, r.throttles...) {
		if f != nil {
			open = append(open, f)
		}
	}
	return open
}

// Snapshot reads all counters, one after the other. Call it right before the run is let go and right
// after it was reaped: everything on the CPUs in between that was not the run counts as foreign.
func (r *Reader) Snapshot() Snapshot {
	var s Snapshot
	if b := r.read(r.interrupts); b != nil {
		rows := make([]row, 0, r.rows)
		s.interrupts, r.columns = parseInterrupts(b, r.cpus, r.names, r.columns, rows)
		r.rows = len(s.interrupts.rows)
	}
	for _, f := range r.throttles {
		s.throttles.addField(r.read(f), 0)
	}
	if b := r.read(r.stat); b != nil {
		s.ticks = parseStat(b, r.cpus)
	}
	s.source = r.busy
	switch b := r.read(r.busyFile); r.busy {
	case schedstat:
		s.busy = parseSchedstat(b, r.cpus)
	case cpuacct:
		s.busy = parseUsagePercpu(b, r.positions)
	}
	return s
}

// read returns the whole file, valid until the next read, or nil. The kernel renders these files
// anew when they are read from offset 0, a page at a time.
func (r *Reader) read(f *os.File) []byte {
	if f == nil {
		return nil
	}
	n := 0
	for {
		m, err := f.ReadAt(r.buf[n:], int64(n))
		n += m
		if errors.Is(err, io.EOF) {
			return r.buf[:n]
		}
		if err != nil {
			return nil
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
}

func open(fs hostfs.FS, path string) *os.File {
	f, err := fs.Open(path)
	if err != nil {
		return nil
	}
	return f
}

// cpuacctMount finds the v1 hierarchy that has cpuacct, alone or together with cpu.
func cpuacctMount(fs hostfs.FS) (string, bool) {
	mounts, err := fs.ReadFile("/proc/mounts")
	if err != nil {
		return "", false
	}
	return parseCpuacctMount(mounts)
}

// parseCpuacctMount reads the lines "device mountpoint type options 0 0". White space and
// backslashes in a mount point are escaped in octal there.
func parseCpuacctMount(mounts []byte) (string, bool) {
	for line := range bytes.Lines(mounts) {
		f := strings.Fields(string(line))
		if len(f) < 4 || f[2] != "cgroup" {
			continue
		}
		for option := range strings.SplitSeq(f[3], ",") {
			if option == "cpuacct" {
				return unescape.Replace(f[1]), true
			}
		}
	}
	return "", false
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// possiblePositions says at which place of cpuacct.usage_percpu each CPU stands. Without the list of
// possible CPUs, which every kernel with sysfs has, they are taken to be numbered without gaps.
func possiblePositions(fs hostfs.FS, cpus cpuset.Set) ([]int, bool) {
	text, err := fs.Read("/sys/devices/system/cpu/possible")
	if err != nil {
		return cpus, true
	}
	possible, err := cpuset.Parse(text)
	if err != nil {
		return nil, false
	}
	var positions []int
	for i, cpu := range possible {
		if cpus.Contains(cpu) {
			positions = append(positions, i)
		}
	}
	return positions, len(positions) == len(cpus)
}
