package sandbox

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
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

// parkedCounters returns the counters of the parked child before it executes the program.
func (s *Sandbox) parkedCounters() counters {
	c := s.endedCounters()
	c.usage = s.parked
	// The child sleeps after its report.
	c.usage.VoluntarySwitches++
	return c
}

// endedCounters reads counters that only /proc provides, also for a zombie.
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

// fill sets the differences between end and start. A counter that is missing in one of them stays nil.
func (r *Result) fill(end, start counters) {
	r.Migrations = since(end.migrations, start.migrations)
	if d := since(end.runDelay, start.runDelay); d != nil {
		r.RunDelay = new(time.Duration(*d))
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
	return new(end - start)
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

// waits measures for how long a run was runnable while others had its CPUs. The time that its threads and
// processes wait for each other is not included.
//
// The kernel measures this as the pressure of the run's group. If it does not, the watch counts the runnable
// threads at random times: on CPUs without other tasks they would have used that much CPU time, and the part
// that they did not use was used by others. The sum of the delays of all threads (/proc/TID/schedstat) would be
// wrong: it includes what threads waited for each other, and the delay of a thread or child is lost when it
// ends.
//
// For runs that share a limit this is the time during which any of them was runnable and none had the CPU, because each
// may wait for the others, one after the other. Each has another group, with another pressure, so their threads are
// counted, whether the kernel measures pressure or not.
type waits struct {
	s       *Sandbox
	base    *time.Duration // pressure at the start of the run; nil if the kernel does not measure it
	before  time.Duration  // CPU time that runs with the same limit had used at the start of this one
	asked   time.Duration  // time of the last count
	next    time.Duration  // time of the next count
	ready   time.Duration  // CPU time that the run could have used until the last count
	running int            // threads that had or could have had a CPU at the last count
	// total is the last result of waited. Other goroutines read it.
	total atomic.Int64
}

// Threads are counted at this interval. It is random, so that no program can be ready only at these times.
const leastLook, mostLook = 5 * time.Millisecond, 15 * time.Millisecond

// start starts measuring a run, whose group already has the pressure base.
func (w *waits) start(s *Sandbox, base *time.Duration) (err error) {
	if len(s.others) > 0 {
		base = nil
	}
	w.s, w.base = s, base
	w.plan(0)
	w.before, err = s.othersCPUTime()
	return err
}

// finish returns the result for a run that has ended, given the pressure of its group.
func (w *waits) finish(now, used time.Duration, pressure *time.Duration) *time.Duration {
	if w.base != nil {
		return w.since(pressure)
	}
	w.next = now + 1 // the threads no longer exist
	return w.waited(now, used)
}

// counts reports whether threads are to be counted.
func (w *waits) counts() bool { return w.s != nil && w.base == nil }

func (w *waits) plan(now time.Duration) { w.next = now + leastLook + rand.N(mostLook-leastLook) }

// waited returns the time so far for a run that has used the given CPU time, together with those that share its limit.
func (w *waits) waited(now, used time.Duration) *time.Duration {
	if w.base != nil {
		return w.since(w.s.group.Waited())
	}
	if now >= w.next {
		w.running = min(w.s.readyThreads(), len(w.s.slot.CPUs))
		w.plan(now)
	}
	w.ready += time.Duration(w.running) * (now - w.asked)
	w.asked = now
	d := max(w.ready-(used-w.before), 0)
	w.total.Store(int64(d))
	return &d
}

// since returns how much the pressure has grown. Pressure is averaged over the CPUs of the slot: if one thread
// waits while another one runs, two CPUs have half of its wait.
func (w *waits) since(pressure *time.Duration) *time.Duration {
	d := difference(pressure, w.base)
	if d != nil {
		*d *= time.Duration(len(w.s.slot.CPUs))
	}
	return d
}

// readyThreads counts the threads that have or want a CPU, with those of runs that share the limit, up to the number of
// CPUs.
func (s *Sandbox) readyThreads() (n int) {
	for _, one := range append([]*Sandbox{s}, s.others...) {
		if one.base.Load() == nil {
			continue // it has not started
		}
		threads, err := one.group.Threads()
		if err != nil {
			return n
		}
		for _, tid := range threads {
			if threadState(tid) == 'R' {
				n++
			}
			if n == len(s.slot.CPUs) {
				return n
			}
		}
	}
	return n
}

// Delay returns how long the run has waited so far while others had its CPUs; 0 before Run. It may be called
// only while Run is in progress.
func (s *Sandbox) Delay() time.Duration {
	w := s.waits.Load()
	if w == nil {
		return 0
	}
	if w.base == nil {
		return time.Duration(w.total.Load())
	}
	if d := w.since(s.group.Waited()); d != nil {
		return *d
	}
	return 0
}

// WaitingExplains is a Spec.Explained for programs other than a contestant's. It excludes the time during which
// others had the CPU.
func WaitingExplains(p Progress) Allowance {
	if p.Waited == nil {
		return Allowance{}
	}
	return Allowance{WallTime: *p.Waited}
}

// othersCPUTime returns the CPU time of the runs that share the limit of this one.
func (s *Sandbox) othersCPUTime() (sum time.Duration, err error) {
	for _, o := range s.others {
		base := o.base.Load()
		if base == nil {
			continue // it has not started
		}
		total, err := o.group.CPUTime()
		if err != nil {
			return 0, err
		}
		sum += total - base.Total
	}
	return sum, nil
}

// userTimeOfAll returns the user time of the runs that share a limit; nil if it is unknown.
func (s *Sandbox) userTimeOfAll() (*time.Duration, error) {
	var user time.Duration
	for _, o := range append([]*Sandbox{s}, s.others...) {
		base := o.base.Load()
		if base == nil {
			continue
		}
		now, err := o.group.CPU()
		if err != nil {
			return nil, err
		}
		used := difference(now.User, base.User)
		if used == nil {
			return nil, nil
		}
		user += *used
	}
	return &user, nil
}
