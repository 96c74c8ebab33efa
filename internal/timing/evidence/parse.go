package evidence

import (
	"bytes"

	"judged/internal/base/cpuset"
)

// The parsers take a whole file as the kernel wrote it. They skip what they do not recognize: a counter that cannot be
// read is absent, never zero. They return how many CPUs they summed over, so that a CPU that goes offline between two
// snapshots is noticed.

// tally is a counter summed over CPUs. Without CPUs it is absent.
type tally struct {
	sum  uint64
	cpus int
}

// addField adds the n-th word of b if it is a number.
func (t *tally) addField(b []byte, n int) {
	if v, ok := field(b, n); ok {
		t.sum += v
		t.cpus++
	}
}

// growth returns by how much the counter has grown, and whether that is known.
func (t tally) growth(after tally) (int64, bool) {
	if t.cpus == 0 || t.cpus != after.cpus || after.sum < t.sum {
		return 0, false
	}
	return int64(after.sum - t.sum), true
}

// parseSchedstat returns the time that tasks ran on the CPUs, in nanoseconds: the sum of field 7 of the cpuN lines of
// /proc/schedstat (the same in versions 15 to 17; it also counts with sched_schedstats=0). The kernel adds to it when a
// task leaves the CPU, by the run queue's clock, steal included.
func parseSchedstat(b []byte, cpus cpuset.Set) tally {
	const busy = 7
	var t tally
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		id, rest, ok := cpuLine(line)
		if !ok || !cpus.Contains(id) {
			continue
		}
		t.addField(rest, busy-1)
	}
	return t
}

// parseUsagePercpu returns the sum of the run time at the given positions of cpuacct.usage_percpu, in nanoseconds. The
// file has one number for every possible CPU, in order and without names.
func parseUsagePercpu(b []byte, positions []int) tally {
	var t tally
	for _, p := range positions {
		t.addField(b, p)
	}
	return t
}

// ticks are parts of a CPU's time in /proc/stat, in USER_HZ. That is 100 per second on every architecture that judged
// runs on, regardless of CONFIG_HZ; AT_CLKTCK of the auxiliary vector is the same.
type ticks struct{ user, system, irq, softirq, steal tally }

// parseStat parses /proc/stat: "cpuN user nice system idle iowait irq softirq steal …". user includes nice, and guests
// of this host.
func parseStat(b []byte, cpus cpuset.Set) ticks {
	const user, nice, system, irq, softirq, steal = 0, 1, 2, 5, 6, 7
	var t ticks
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break // the lines of CPUs come first, then the long line of interrupts
		}
		id, rest, ok := cpuLine(line)
		if !ok || !cpus.Contains(id) {
			continue
		}
		t.user.addField(rest, user)
		t.user.addField(rest, nice)
		t.system.addField(rest, system)
		t.irq.addField(rest, irq)
		t.softirq.addField(rest, softirq)
		t.steal.addField(rest, steal)
	}
	return t
}

// softirqs counts deferred work of devices on the CPUs. A run causes none: it has no network, and its files are in
// memory.
type softirqs struct{ net, block tally }

// parseSoftirqs parses /proc/softirqs, a table like that of the interrupts, but with all possible CPUs. columns is
// scratch space.
func parseSoftirqs(b []byte, cpus cpuset.Set, columns []bool) (softirqs, []bool) {
	header, b := cutLine(b)
	columns, found := pickColumns(header, cpus, columns[:0])
	var s softirqs
	if found == 0 {
		return s, columns
	}
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, counts, _ := bytes.Cut(skipSpace(line), []byte(":"))
		var to *tally
		switch string(label) {
		case "NET_TX", "NET_RX":
			to = &s.net
		case "BLOCK":
			to = &s.block
		default:
			continue
		}
		// The counts have 32 bits and wrap around; the growth of a sum that has decreased is unknown.
		if sum, _, ok := sumColumns(counts, columns); ok {
			to.sum += uint64(sum)
			to.cpus += found
		}
	}
	return s, columns
}

// vm counts pages that the host swapped in and out, and allocations that waited for compaction.
type vm struct{ swapped, stalls tally }

// parseVM parses the lines "name count" of /proc/vmstat.
func parseVM(b []byte) vm {
	var v vm
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		name, count := cutWord(line)
		switch string(name) {
		case "pswpin", "pswpout":
			v.swapped.addField(count, 0)
		case "compact_stall":
			v.stalls.addField(count, 0)
		}
	}
	return v
}

// known returns a pointer to a count, or nil if it is unknown.
func known(n int64, ok bool) *int64 {
	if !ok {
		return nil
	}
	return &n
}

// cutLine splits at the first line feed.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// cpuLine cuts "cpuN" off a line. It returns false for the line of the total, "cpu".
func cpuLine(line []byte) (id int, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(line, []byte("cpu"))
	if !ok {
		return 0, nil, false
	}
	word, rest := cutWord(rest)
	n, ok := number(word)
	if !ok || n > maxCPU {
		return 0, nil, false
	}
	return int(n), rest, true
}

// maxCPU is the largest CPU number: CONFIG_NR_CPUS is at most 8192.
const maxCPU = 8191

// field returns the n-th word, counted from 0, as a number.
func field(b []byte, n int) (uint64, bool) {
	var word []byte
	for range n + 1 {
		word, b = cutWord(skipSpace(b))
	}
	return number(word)
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// cutWord splits b after its first word.
func cutWord(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && !isSpace(b[i]) {
		i++
	}
	return b[:i], b[i:]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// number parses decimal digits without allocating.
func number(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 { // 19 digits always fit; no kernel counter used here has 20
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
