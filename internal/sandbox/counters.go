package sandbox

import (
	"os"
	"strconv"
	"strings"
)

// counters are the kernel's of the run's first process. -1 is not shown by
// this kernel.
type counters struct {
	runDelay                               int64 // ns runnable but not running, of the first thread
	migrations                             int64
	voluntarySwitches, involuntarySwitches int64
	minorFaults, majorFaults               int64 // of all its threads
}

func (c *counters) list() [6]*int64 {
	return [...]*int64{&c.runDelay, &c.migrations, &c.voluntarySwitches, &c.involuntarySwitches, &c.minorFaults, &c.majorFaults}
}

// since is what was added to each counter.
func (c counters) since(before counters) counters {
	old := before.list()
	for i, v := range c.list() {
		if *v < 0 || *old[i] < 0 {
			*v = -1
			continue
		}
		*v -= *old[i]
	}
	return c
}

// readCounters reads them from /proc, of a zombie too.
func readCounters(pid int) counters {
	c := counters{-1, -1, -1, -1, -1, -1}
	proc := "/proc/" + strconv.Itoa(pid)
	// schedstat: time on the CPU, time waiting for it, time slices.
	if fields := strings.Fields(read(proc + "/schedstat")); len(fields) > 1 {
		c.runDelay = parseCount(fields[1])
	}
	// stat, behind the name in parentheses, which may hold anything.
	stat := read(proc + "/stat")
	if fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]); len(fields) > 9 {
		c.minorFaults, c.majorFaults = parseCount(fields[7]), parseCount(fields[9])
	}
	// Only kernels with CONFIG_SCHED_DEBUG have the first.
	c.migrations = keyed(read(proc+"/sched"), "se.nr_migrations")
	status := read(proc + "/status")
	c.voluntarySwitches = keyed(status, "voluntary_ctxt_switches")
	c.involuntarySwitches = keyed(status, "nonvoluntary_ctxt_switches")
	return c
}

// read is the content of a file, or nothing where there is none.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// keyed finds the count of a line "key : count".
func keyed(text, key string) int64 {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return parseCount(strings.TrimSpace(value))
		}
	}
	return -1
}

func parseCount(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
