package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"judged/internal/units"
)

// ResetPeak makes the memory peak start from what is in use now, where the
// kernel can.
func (g *Group) ResetPeak() error {
	if !g.files.peakReset {
		return nil // a fresh v2 group holds only the parked child, 0.3 MiB
	}
	return write(g.files.peak, "0")
}

// CPUTime is the CPU time of every process that is or was in the group, user
// and system, in the kernel's resolution: microseconds on v2, nanoseconds on
// v1. It is exact when the group is empty, up to a tick late while it runs,
// and up to a second late on a nohz_full CPU unless TouchAccounting was
// called.
func (g *Group) CPUTime() (time.Duration, error) {
	cpu, err := g.CPU()
	return cpu.Total, err
}

// CPU is a reading of the CPU counters of a group.
type CPU struct {
	Total time.Duration
	// The split is nil where the kernel has none. It is scaled from ticks
	// and decides nothing.
	User, System *time.Duration
	Throttled    *int64 // periods; present with the cpu controller only
}

// CPU reads the CPU counters alone: one read of an open file.
func (g *Group) CPU() (CPU, error) {
	var buf [1024]byte
	n, err := g.usage.ReadAt(buf[:], 0)
	if n == 0 {
		return CPU{}, fmt.Errorf("read CPU time: %w", err)
	}
	parse := parseUsage
	if g.v2 != nil {
		parse = parseCPUStat
	}
	cpu, err := parse(string(buf[:n]))
	if err != nil {
		return CPU{}, fmt.Errorf("read CPU time from %q: %w", g.usage.Name(), err)
	}
	return cpu, nil
}

// parseUsage reads cpuacct.usage of v1: nanoseconds.
func parseUsage(text string) (CPU, error) {
	ns, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
	if err != nil {
		return CPU{}, err
	}
	return CPU{Total: time.Duration(ns)}, nil
}

// parseCPUStat reads cpu.stat of v2. Of its lines, "key value", later kernels
// have more. 53 bits of microseconds are 285 years, and still fit in nanoseconds.
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
		return CPU{}, errors.New("there is no usage_usec")
	}
	return c, nil
}

// Stat is what a run's group counted.
type Stat struct {
	CPU
	MemoryPeak *units.Bytes // nil before Linux 5.19 on v2
	OOMKills   int64
}

// Stat reads all counters. Read it when the group is empty.
func (g *Group) Stat() (Stat, error) {
	cpu, err := g.CPU()
	if err != nil {
		return Stat{}, err
	}
	s := Stat{CPU: cpu}
	peak, err := readInt(g.files.peak)
	switch {
	case err == nil:
		b := units.Bytes(peak)
		s.MemoryPeak = &b
	case !errors.Is(err, os.ErrNotExist):
		return Stat{}, err
	}
	s.OOMKills, err = readKey(g.files.oomEvents, "oom_kill")
	return s, err
}
