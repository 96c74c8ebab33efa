package sandbox

import (
	"strconv"
	"strings"
	"time"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// counters are the kernel's of the run's first process at one moment. Each
// file of /proc costs 10 µs on the way of a run, so what wait4 tells in the end
// is not read again.
type counters struct {
	runDelay   int64 // ns runnable but not running, of its first thread; -1 unknown
	migrations int64 // -1 unknown
	usage      linux.Usage
}

// parkedCounters are what the parked child has on them before it is let go.
func (s *Sandbox) parkedCounters() counters {
	c := s.endedCounters()
	c.usage = s.parked
	// It told of itself before it went to sleep.
	c.usage.VoluntarySwitches++
	return c
}

// endedCounters reads what only /proc tells, of a zombie too.
func (s *Sandbox) endedCounters() counters {
	c := counters{runDelay: -1, migrations: -1}
	proc := "/proc/" + strconv.Itoa(s.solution.pid)
	// Time on the CPU, time waiting for it, time slices.
	if fields := strings.Fields(read(proc + "/schedstat")); len(fields) > 1 {
		c.runDelay = parseCount(fields[1])
	}
	if len(s.slot.CPUs) == 1 {
		c.migrations = 0 // the cpuset leaves nowhere to go
	} else {
		// Only with CONFIG_SCHED_DEBUG.
		c.migrations = keyed(read(proc+"/sched"), "se.nr_migrations")
	}
	return c
}

// fill tells the difference between the end and the start. A counter that one
// of them does not have stays nil.
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

// read is the content of a file, or nothing where there is none.
func read(path string) string {
	b, err := hostfs.FS{}.ReadFile(path)
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
