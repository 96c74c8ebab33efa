package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// Counts holds kernel counters since boot, read at one time. The difference of two is what happened in between.
type Counts struct {
	uptime      time.Duration  // 0 if unknown
	stat        string         // /proc/stat
	interrupts  string         // /proc/interrupts
	switches    map[int]uint64 // context switches by thread id; a thread has run if the number grew
	throttles   int
	errors      uint64
	smis        uint64
	smisCounted bool
}

// window is the time between two readings; nil after a single reading.
type window struct {
	before Counts
	length time.Duration
}

// since returns the window between before and c; nil if the host has rebooted in between, or without a clock.
func (c Counts) since(before *Counts) *window {
	if before == nil || before.uptime == 0 || c.uptime <= before.uptime {
		return nil
	}
	return &window{before: *before, length: c.uptime - before.uptime}
}

func (w *window) String() string { return fmt.Sprintf("in the last %.0f s", w.length.Seconds()) }

// first reads the counters for the first time if a second reading can differ.
func (o Options) first(ctx context.Context) (*Counts, error) {
	if o.Before != nil || o.Window <= 0 || !o.FS.Live() {
		return o.Before, nil
	}
	f, err := look(ctx, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(o.Window):
		return &f.counts, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("examine host: %w", context.Cause(ctx))
	}
}

// count returns the counters, for comparison with a later reading.
func (f facts) count() Counts {
	c := Counts{uptime: uptime(f.Optional("/proc/uptime")), stat: f.Optional("/proc/stat"),
		interrupts: f.Optional("/proc/interrupts"), switches: map[int]uint64{}}
	for _, t := range f.tasks {
		c.switches[t.TID] = t.Switches
	}
	c.throttles, _, _ = (&view{facts: f}).throttles()
	errors, _ := (&view{facts: f}).hardwareErrors()
	c.errors = total(errors)
	if v := (&view{facts: f}); f.class.hypervisor == "" {
		c.smis = v.smis()
		c.smisCounted = v.refused == nil
	}
	return c
}

// uptime parses the first number of /proc/uptime.
func uptime(text string) time.Duration {
	first, _, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || seconds < 0 || seconds > 1e9 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// ran reports whether a thread has run since the window began.
func (w *window) ran(t hostfs.Thread) bool {
	before, known := w.before.switches[t.TID]
	return !known || t.Switches != before
}

// stealOf returns the stolen and the total time of the CPUs since boot, in ticks. Columns: user nice system idle
// iowait irq softirq steal; user includes guest time.
func stealOf(stat string, cpus cpuset.Set) (steal, total uint64) {
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) < 9 {
			continue
		}
		id, err := strconv.Atoi(strings.TrimPrefix(f[0], "cpu"))
		if err != nil || !strings.HasPrefix(f[0], "cpu") || !cpus.Contains(id) {
			continue
		}
		for i, s := range f[1:9] {
			n, err := strconv.ParseUint(s, 10, 63)
			if err != nil {
				return 0, 0
			}
			total += n
			if i == 7 {
				steal += n
			}
		}
	}
	return steal, total
}

// irqRow is one numbered row of /proc/interrupts.
type irqRow struct {
	name   string         // the device: the last words of the row
	counts map[int]uint64 // by CPU, since boot
}

// parseInterrupts parses the numbered rows of /proc/interrupts. The columns are the online CPUs, which the heading
// names.
func parseInterrupts(text string) map[string]irqRow {
	heading, rest, _ := strings.Cut(text, "\n")
	var cpus []int
	for f := range strings.FieldsSeq(heading) {
		id, err := strconv.Atoi(strings.TrimPrefix(f, "CPU"))
		if err != nil {
			return nil
		}
		cpus = append(cpus, id)
	}
	rows := map[string]irqRow{}
	for line := range strings.Lines(rest) {
		irq, columns, ok := strings.Cut(line, ":")
		irq = strings.TrimSpace(irq)
		if _, err := strconv.Atoi(irq); !ok || err != nil {
			continue
		}
		f := strings.Fields(columns)
		row := irqRow{counts: map[int]uint64{}}
		for i, id := range cpus {
			if i < len(f) {
				row.counts[id], _ = strconv.ParseUint(f[i], 10, 64)
			}
		}
		if len(f) > len(cpus) {
			row.name = f[len(f)-1]
		}
		rows[irq] = row
	}
	return rows
}

// interruptRow parses one row of /proc/interrupts by its name, such as LOC.
func interruptRow(text, name string) (map[int]uint64, bool) {
	heading, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		label, columns, _ := strings.Cut(line, ":")
		if strings.TrimSpace(label) != name {
			continue
		}
		// With a number as its name the row has the same form as that of a device.
		row, ok := parseInterrupts(heading + "\n0:" + columns)["0"]
		return row.counts, ok
	}
	return nil, false
}

// localTimers returns the interrupts of each CPU's local timer: the row LOC on x86, a device on ARM.
func localTimers(interrupts string) (map[int]uint64, bool) {
	if counts, ok := interruptRow(interrupts, "LOC"); ok {
		return counts, true
	}
	for _, row := range parseInterrupts(interrupts) {
		if row.name == "arch_timer" {
			return row.counts, true
		}
	}
	return nil, false
}

// rowTotal returns the sum of a row over all CPUs.
func rowTotal(interrupts, name string) (total uint64, ok bool) {
	counts, ok := interruptRow(interrupts, name)
	for _, n := range counts {
		total += n
	}
	return total, ok
}

// busySeconds returns the busy time of a CPU since boot. The unit of /proc/stat is 10 ms.
func busySeconds(stat string, cpu int) float64 {
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] != "cpu"+strconv.Itoa(cpu) {
			continue
		}
		busy := 0.0
		for _, i := range []int{1, 2, 3, 6, 7} { // without idle (4) and iowait (5)
			n, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return 0
			}
			busy += n / 100
		}
		return busy
	}
	return 0
}
