package stage

import (
	"os"
	"strconv"
	"strings"
)

// counters are the kernel's of the run's first process. -1 is not shown by
// this kernel.
type counters struct {
	RunDelay                               int64 // ns runnable but not running; all threads of it that have ended are missing
	Migrations                             int64
	VoluntarySwitches, InvoluntarySwitches int64
	MinorFaults, MajorFaults               int64 // of all its threads
}

// list names the members in the order of the wire.
func (c *counters) list() [6]*int64 {
	return [...]*int64{&c.RunDelay, &c.Migrations, &c.VoluntarySwitches, &c.InvoluntarySwitches, &c.MinorFaults, &c.MajorFaults}
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
	if fields := readFields(proc + "/schedstat"); len(fields) > 1 {
		c.RunDelay = parseCount(fields[1])
	}
	// stat, behind the name in parentheses, which may hold anything.
	if b, err := os.ReadFile(proc + "/stat"); err == nil {
		if fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])); len(fields) > 9 {
			c.MinorFaults, c.MajorFaults = parseCount(fields[7]), parseCount(fields[9])
		}
	}
	c.readSched(proc + "/sched")
	c.readStatus(proc + "/status")
	return c
}

// readSched takes the migrations from "key : value" lines, which kernels with
// CONFIG_SCHED_DEBUG have.
func (c *counters) readSched(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "se.nr_migrations" {
			c.Migrations = parseCount(strings.TrimSpace(value))
			return
		}
	}
}

// readStatus takes the switches of the first thread from its last two lines.
func (c *counters) readStatus(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "voluntary_ctxt_switches":
			c.VoluntarySwitches = parseCount(strings.TrimSpace(value))
		case "nonvoluntary_ctxt_switches":
			c.InvoluntarySwitches = parseCount(strings.TrimSpace(value))
		}
	}
}

func readFields(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

func parseCount(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
