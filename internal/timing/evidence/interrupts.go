package evidence

import (
	"bytes"
	"os"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// deviceRow is the name for the sum of the numbered rows.
const deviceRow = "device"

// timerRow is the name of the local timer's row on x86. arm64 has a numbered row instead.
const timerRow = "LOC"

// backgroundFrom is the size of /proc/interrupts from which it is read in the background, during the run. [M] Reading 2
// KiB takes 60 µs, because the kernel visits every CPU for each line; the 1.5 MB of 128 CPUs and 1000 devices take
// milliseconds. In the background, some early counts of the run are missed and a few after it are included, so small
// files are read immediately.
const backgroundFrom = 16 << 10

// interruptFile is /proc/interrupts. Only one goroutine reads it at a time.
type interruptFile struct {
	file       *os.File // nil if the host has none
	cpus       cpuset.Set
	background bool
	last       *reading

	buf     []byte
	columns []bool
	names   names
	rows    int // number of rows in the last reading
}

// reading is the content of the file. It is complete when done is closed.
type reading struct {
	done chan struct{}
	interrupts
	took time.Duration // duration if read in the background; otherwise it is part of Snapshot.took
}

// finished is the closed channel of readings that are not in the background.
var finished = closed()

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func openInterrupts(fs hostfs.FS, cpus cpuset.Set) *interruptFile {
	f := &interruptFile{file: open(fs, "/proc/interrupts"), cpus: cpus, names: names{}, buf: make([]byte, 16<<10)}
	if f.file != nil {
		var size int
		size, f.buf = readWhole(f.file, f.buf)
		f.background = size >= backgroundFrom
	}
	return f
}

// read starts a reading, which may finish later. Readings finish in the order in which they were started.
func (f *interruptFile) read() *reading {
	if f.file == nil {
		return nil
	}
	r := &reading{done: finished}
	if !f.background {
		r.interrupts = f.parse()
		return r
	}
	before := f.last
	r.done = make(chan struct{})
	f.last = r
	go func() {
		defer close(r.done)
		before.wait()
		begin := time.Now()
		r.interrupts = f.parse()
		r.took = time.Since(begin)
	}()
	return r
}

func (f *interruptFile) parse() interrupts {
	var n int
	n, f.buf = readWhole(f.file, f.buf)
	var i interrupts
	i, f.columns = parseInterrupts(f.buf[:n], f.cpus, f.names, f.columns, make([]row, 0, f.rows))
	f.rows = len(i.rows)
	return i
}

func (f *interruptFile) close() error {
	f.last.wait()
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// wait waits for the reading and returns it.
func (r *reading) wait() interrupts {
	if r == nil {
		return interrupts{}
	}
	<-r.done
	return r.interrupts
}

// row is one row of /proc/interrupts, summed over the slot's CPUs. The kernel's counters have 32 bits and wrap around,
// after 50 days at 1000 ticks a second, so sums and differences have 32 bits too.
type row struct {
	name  string
	count uint32
}

// interrupts are the rows of one reading.
type interrupts struct {
	rows []row
	cpus int // columns found; 0 if the file has none of the slot's CPUs
}

// names interns the names of rows, so that a snapshot allocates none. It stays small: a kernel has about thirty named
// rows, which do not change.
type names map[string]string

func (n names) of(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	s := string(b)
	n[s] = s
	return s
}

// parseInterrupts sums the columns of cpus. columns and rows are buffers of the caller: rows is appended to, columns is
// overwritten.
//
// The header lists the online CPUs, so the index of a column is not the number of its CPU. A row with fewer numbers
// than the header, such as ERR and MIS, is a count for the whole machine and is skipped.
func parseInterrupts(b []byte, cpus cpuset.Set, known names, columns []bool, rows []row) (interrupts, []bool) {
	header, b := cutLine(b)
	columns, found := pickColumns(header, cpus, columns[:0])
	if found == 0 {
		return interrupts{}, columns
	}
	device := len(rows)
	rows = append(rows, row{name: deviceRow})
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, counts, ok := bytes.Cut(skipSpace(line), []byte(":"))
		if !ok {
			continue
		}
		sum, source, ok := sumColumns(counts, columns)
		if !ok {
			continue
		}
		switch _, numbered := number(label); {
		case !numbered:
			rows = append(rows, row{known.of(label), sum})
		case bytes.HasSuffix(bytes.TrimRight(source, " \t"), []byte("arch_timer")):
			rows = addTo(rows, timerRow, sum)
		default:
			rows[device].count += sum
		}
	}
	return interrupts{rows: rows, cpus: found}, columns
}

// pickColumns marks the columns of the header that belong to cpus.
func pickColumns(header []byte, cpus cpuset.Set, columns []bool) ([]bool, int) {
	found := 0
	for header = skipSpace(header); len(header) > 0; header = skipSpace(header) {
		var word []byte
		word, header = cutWord(header)
		digits, ok := bytes.CutPrefix(word, []byte("CPU"))
		id, isNumber := number(digits)
		mine := ok && isNumber && id <= maxCPU && cpus.Contains(int(id))
		if mine {
			found++
		}
		columns = append(columns, mine)
	}
	return columns, found
}

// sumColumns adds the marked columns of a row and returns the text after the columns. It returns false for a row with
// too few numbers.
func sumColumns(b []byte, columns []bool) (sum uint32, rest []byte, ok bool) {
	for _, mine := range columns {
		var word []byte
		word, b = cutWord(skipSpace(b))
		n, ok := number(word)
		if !ok {
			return 0, nil, false
		}
		if mine {
			sum += uint32(n)
		}
	}
	return sum, b, true
}

// addTo adds to the row with that name, or appends it: big.LITTLE machines have an arch_timer row for each interrupt
// controller.
func addTo(rows []row, name string, n uint32) []row {
	for i := range rows {
		if rows[i].name == name {
			rows[i].count += n
			return rows
		}
	}
	return append(rows, row{name, n})
}

// growth returns by how much each row has grown, without rows that have not; it returns nil if unknown. A sum that
// decreased by less than half of the range did not wrap around: the kernel removed a row.
func (i interrupts) growth(after interrupts) map[string]int64 {
	if i.cpus == 0 || i.cpus != after.cpus {
		return nil
	}
	grown := make(map[string]int64)
	for n, a := range after.rows {
		b, ok := i.at(n, a.name)
		if d := int32(a.count - b); ok && d > 0 {
			grown[a.name] = int64(d)
		}
	}
	return grown
}

// at returns the row with a name, which nearly always has the same index.
func (i interrupts) at(n int, name string) (uint32, bool) {
	if n < len(i.rows) && i.rows[n].name == name {
		return i.rows[n].count, true
	}
	for _, r := range i.rows {
		if r.name == name {
			return r.count, true
		}
	}
	return 0, false
}
