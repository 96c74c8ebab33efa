package doctor

import (
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

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
	name   string         // the device, the last words of the row
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
		// With a number in place of its name, the row has the form of a device's.
		row, ok := parseInterrupts(heading + "\n0:" + columns)["0"]
		return row.counts, ok
	}
	return nil, false
}

// localTimers counts the interrupts of each CPU's own timer: the row LOC on x86, a device on ARM.
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

// rowTotal adds up a row over all CPUs.
func rowTotal(interrupts, name string) (total uint64, ok bool) {
	counts, ok := interruptRow(interrupts, name)
	for _, n := range counts {
		total += n
	}
	return total, ok
}

// busySeconds is how long a CPU has worked since boot according to /proc/stat, whose unit is 10 ms.
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
