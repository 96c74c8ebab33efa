package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

// ResetPeak resets the memory peak to the current usage if the kernel supports it.
func (g *Group) ResetPeak() error {
	if !g.files.peakReset {
		return nil // a new v2 group contains only the parked child, 0.3 MiB
	}
	return write(g.files.peak, "0")
}

// CPUTime returns the CPU time, user and system, of all processes that are or were in the group. The kernel's
// resolution is 1 µs on v2 and 1 ns on v1. The value is exact when the group is empty. While the group runs it
// is up to a tick old, and on a nohz_full CPU up to a second unless TouchAccounting was called.
func (g *Group) CPUTime() (time.Duration, error) {
	cpu, err := g.CPU()
	return cpu.Total, err
}

// CPU is a reading of the CPU counters of a group.
type CPU struct {
	Total time.Duration
	// User and System are nil if the kernel does not provide them. They are scaled from ticks and not used for
	// verdicts.
	User, System *time.Duration
	Throttled    *int64 // periods; only with the cpu controller
}

// CPU returns only the CPU counters, with one read of an open file.
func (g *Group) CPU() (CPU, error) {
	parse := parseUsage
	if g.v2 != nil {
		parse = parseCPUStat
	}
	return readCPU(g.usage, parse)
}

func readCPU(f *os.File, parse func(string) (CPU, error)) (CPU, error) {
	var buf [1024]byte
	n, err := f.ReadAt(buf[:], 0)
	if n == 0 {
		return CPU{}, fmt.Errorf("read CPU time: %w", err)
	}
	cpu, err := parse(string(buf[:n]))
	if err != nil {
		return CPU{}, fmt.Errorf("read CPU time from %q: %w", f.Name(), err)
	}
	return cpu, nil
}

// parseUsage parses cpuacct.usage of v1: nanoseconds.
func parseUsage(text string) (CPU, error) {
	ns, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
	if err != nil {
		return CPU{}, err
	}
	return CPU{Total: time.Duration(ns)}, nil
}

// parseCPUStat parses cpu.stat of v2, lines of "key value"; later kernels have more of them. 53 bits of microseconds
// are 285 years, and fit in nanoseconds.
func parseCPUStat(text string) (CPU, error) {
	var c CPU
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseUint(value, 10, 53)
		if err != nil {
			continue
		}
		us, n := time.Duration(v)*time.Microsecond, int64(v)
		switch key {
		case "usage_usec":
			c.Total, found = us, true
		case "user_usec":
			c.User = &us
		case "system_usec":
			c.System = &us
		case "nr_throttled":
			c.Throttled = &n
		}
	}
	if !found {
		return CPU{}, errors.New("no usage_usec")
	}
	return c, nil
}

// Stat contains the counters of a run's group.
type Stat struct {
	CPU
	OOMKills int64
	Memory   Memory
}

// Memory counts events of the group's pages. A field is nil if the kernel does not count it. On v1 all are nil:
// reading memory.stat takes 24 µs there, and with a limit on swap it does not count how often limits were
// reached (Linux 6.18). memory.numa_stat is not read: it shows where pages are, and a run that has ended has
// none.
type Memory struct {
	Refaults       *int64 // pages that were reclaimed and read again: memory.stat workingset_refault_*
	LimitHits      *int64 // memory.events max
	OOMs           *int64 // memory.events oom: how often the limit of the group left the kernel only an OOM kill
	NUMAMigrations *int64 // memory.stat numa_pages_migrated, since Linux 6.12
}

// Stat reads all counters. The group must be empty.
func (g *Group) Stat() (Stat, error) {
	cpu, err := g.CPU()
	if err != nil {
		return Stat{}, err
	}
	s := Stat{CPU: cpu}
	events, err := hostfs.FS{}.ReadFile(g.files.oomEvents)
	if err != nil {
		return Stat{}, err
	}
	if s.OOMKills, err = parseKey(string(events), "oom_kill"); err != nil {
		return Stat{}, fmt.Errorf("read %q: %w", g.files.oomEvents, err)
	}
	if g.files.stat == "" {
		return s, nil
	}
	stat, err := hostfs.FS{}.ReadFile(g.files.stat)
	if err != nil {
		return Stat{}, err
	}
	s.Memory = parseMemoryStat(string(stat))
	s.Memory.LimitHits, s.Memory.OOMs = findKey(string(events), "max"), findKey(string(events), "oom")
	return s, nil
}

// Refused returns how many processes and threads the limit has refused since Limit was called; nil if the
// kernel does not count them.
func (g *Group) Refused() *int64 {
	n := g.countRefused()
	if n != nil && g.refused != nil {
		*n -= *g.refused
	}
	return n
}

// countRefused returns the counter of the folder. On v1 it includes earlier runs.
func (g *Group) countRefused() *int64 {
	events, err := hostfs.FS{}.ReadFile(g.files.pidEvents)
	if err != nil {
		return nil // a kernel without the file
	}
	return findKey(string(events), "max")
}

// HasPeak reports whether the kernel records the peak of the group's memory; on v2 since Linux 5.19.
func (g *Group) HasPeak() bool {
	if g.hasPeak == nil {
		_, err := os.Stat(g.files.peak)
		g.hasPeak = new(err == nil)
	}
	return *g.hasPeak
}

// Peak returns the highest memory charge of the group.
func (g *Group) Peak() (units.Bytes, error) {
	peak, err := readInt(g.files.peak)
	return units.Bytes(peak), err
}

// Cache returns how much of the group's memory is page cache, excluding memory file systems.
func (g *Group) Cache() (units.Bytes, error) {
	text, err := hostfs.FS{}.ReadFile(g.files.cache)
	if err != nil {
		return 0, err
	}
	return parseCache(string(text)), nil
}

// parseCache parses memory.stat; v1 calls files "cache". Both versions include shared memory.
func parseCache(text string) units.Bytes {
	var n int64
	for key, sign := range map[string]int64{"file": 1, "cache": 1, "shmem": -1} {
		if v := findKey(text, key); v != nil {
			n += sign * *v
		}
	}
	return units.Bytes(max(n, 0))
}

// parseMemoryStat sums pages of files and of processes. The kernel batches its counters per CPU, so a few pages may
// be missing.
func parseMemoryStat(text string) Memory {
	m := Memory{NUMAMigrations: findKey(text, "numa_pages_migrated")}
	for _, key := range []string{"workingset_refault_anon", "workingset_refault_file", "workingset_refault"} {
		if n := findKey(text, key); n != nil {
			if m.Refaults == nil {
				m.Refaults = new(int64)
			}
			*m.Refaults += *n
		}
	}
	return m
}

// Pressure is how long the group's processes have been runnable without a CPU since the group was created. A
// field is nil if the kernel does not measure it (CONFIG_PSI, psi=1; for All Linux 5.13; for IRQ also
// CONFIG_IRQ_TIME_ACCOUNTING, Linux 6.1) and on v1.
type Pressure struct {
	CPU *time.Duration // some: at least one of them waited
	All *time.Duration // full: at least one of them waited, and none of them had the CPU
	IRQ *time.Duration // full: interrupts used the CPUs of all of them
}

// Pressure returns all counters with two reads of open files, which makes the kernel update them.
func (g *Group) Pressure() Pressure {
	cpu := readPressure(g.waits)
	return Pressure{CPU: parsePressure(cpu, "some"), All: parsePressure(cpu, "full"),
		IRQ: parsePressure(readPressure(g.irqs), "full")}
}

// Since returns the growth since an earlier reading.
func (p Pressure) Since(before Pressure) Pressure {
	return Pressure{growth(before.CPU, p.CPU), growth(before.All, p.All), growth(before.IRQ, p.IRQ)}
}

func growth(before, after *time.Duration) *time.Duration {
	if before == nil || after == nil {
		return nil
	}
	return new(*after - *before)
}

// Waited returns Pressure.All alone.
func (g *Group) Waited() *time.Duration { return parsePressure(readPressure(g.waits), "full") }

func readPressure(f *os.File) string {
	if f == nil {
		return ""
	}
	var buf [256]byte
	n, _ := f.ReadAt(buf[:], 0) // on an error other than EOF there is nothing to parse
	return string(buf[:n])
}

// parsePressure parses the total of a line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", in microseconds.
func parsePressure(text, line string) *time.Duration {
	for l := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		if kind != line {
			continue
		}
		_, total, found := strings.Cut(rest, " total=")
		if us, err := strconv.ParseUint(total, 10, 53); found && err == nil {
			return new(time.Duration(us) * time.Microsecond)
		}
	}
	return nil
}
