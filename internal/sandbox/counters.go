package sandbox

import (
	"strconv"
	"strings"
	"time"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// counters are the kernel's counters for the first process of a run, at one moment. Each file of /proc costs 10 µs
// while the run is set up or collected, so what wait4 returns at the end is not read from /proc as well.
type counters struct {
	runDelay   int64 // ns runnable but not running, of its first thread; -1 unknown
	migrations int64 // -1 unknown
	usage      linux.Usage
}

// parkedCounters are the counters of the parked child before it starts the program.
func (s *Sandbox) parkedCounters() counters {
	c := s.endedCounters()
	c.usage = s.parked
	// After its report it went to sleep.
	c.usage.VoluntarySwitches++
	return c
}

// endedCounters reads what only /proc shows, also for a zombie.
func (s *Sandbox) endedCounters() counters {
	c := counters{runDelay: -1, migrations: -1}
	proc := "/proc/" + strconv.Itoa(s.solution.pid)
	// Time on the CPU, time waiting for it, time slices.
	if fields := strings.Fields(read(proc + "/schedstat")); len(fields) > 1 {
		c.runDelay = parseCount(fields[1])
	}
	if len(s.slot.CPUs) == 1 {
		c.migrations = 0 // the cpuset has one CPU
	} else {
		// Needs CONFIG_SCHED_DEBUG.
		c.migrations = keyed(read(proc+"/sched"), "se.nr_migrations")
	}
	return c
}

// fill sets the differences between the end and the start. A counter that is missing in one of them stays nil.
func (r *Result) fill(end, start counters) {
	r.Migrations = since(end.migrations, start.migrations)
	if d := since(end.runDelay, start.runDelay); d != nil {
		delay := time.Duration(*d)
		r.RunDelay = &delay
	}
	r.VoluntarySwitches = since(end.usage.VoluntarySwitches, start.usage.VoluntarySwitches)
	r.InvoluntarySwitches = since(end.usage.InvoluntarySwitches, start.usage.InvoluntarySwitches)
	r.MinorFaults = since(end.usage.MinorFaults, start.usage.MinorFaults)
	r.MajorFaults = since(end.usage.MajorFaults, start.usage.MajorFaults)
}

func since(end, start int64) *int64 {
	if end < 0 || start < 0 {
		return nil
	}
	d := end - start
	return &d
}

// read returns the content of a file, or "" if it cannot be read.
func read(path string) string {
	b, err := hostfs.FS{}.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// keyed returns the count in a line "key : count", or -1.
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
