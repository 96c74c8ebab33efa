package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

// mount is one line of /proc/mounts.
type mount struct {
	point, fstype string
	options       []string
}

func (m mount) has(option string) bool {
	for _, o := range m.options {
		if o == option {
			return true
		}
	}
	return false
}

func parseMounts(text string) []mount {
	var ms []mount
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) >= 4 {
			ms = append(ms, mount{point: unescape(f[1]), fstype: f[2], options: strings.Split(f[3], ",")})
		}
	}
	return ms
}

// unescape undoes the octal escapes of /proc/mounts, for the four characters that it escapes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// parseCgroups reads /proc/<pid>/cgroup: "3:cpuset:/a" for v1 and "0::/a" for v2.
func parseCgroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			own[controller] = f[2]
		}
	}
	return own
}

// parseStat reads /proc/<pid>/stat. The name stands in parentheses and may itself hold spaces and
// parentheses, so the last one ends it.
func parseStat(text string) (task, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return task{}, errors.New("parse stat: no name in parentheses")
	}
	// f[0] is field 3 of proc(5), the state.
	f := strings.Fields(text[end+1:])
	if len(f) < 37 {
		return task{}, fmt.Errorf("parse stat: %d fields after the name, want 37", len(f))
	}
	t := task{comm: text[open+1 : end], state: f[0]}
	var err error
	number := func(s string) int {
		n, e := strconv.ParseInt(s, 10, 64)
		if e != nil && err == nil {
			err = fmt.Errorf("parse stat: number %q: %w", s, errors.Unwrap(e))
		}
		return int(n)
	}
	t.pid = number(strings.TrimSpace(text[:open]))
	t.ppid, t.flags, t.threads, t.cpu = number(f[1]), number(f[6]), number(f[17]), number(f[36])
	if len(f) > 38 {
		policy := number(f[38])
		t.realTime = policy == 1 || policy == 2 // SCHED_FIFO, SCHED_RR
	}
	return t, err
}

// statusField finds a line of /proc/<pid>/status.
func statusField(status, key string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// bracketed returns the chosen word of a line such as "always [madvise] never"; "" if there is none.
func bracketed(line string) string {
	for f := range strings.FieldsSeq(line) {
		if len(f) > 2 && f[0] == '[' && f[len(f)-1] == ']' {
			return f[1 : len(f)-1]
		}
	}
	return ""
}

// parseSwaps returns the devices in /proc/swaps; the first line is a heading.
func parseSwaps(text string) []string {
	var devices []string
	for i, line := range strings.Split(text, "\n") {
		if f := strings.Fields(line); i > 0 && len(f) >= 5 {
			devices = append(devices, f[0])
		}
	}
	return devices
}

// stealOf returns the stolen and the total time of the CPUs since boot, in ticks. Columns: user
// nice system idle iowait irq softirq steal; guest time is in user already.
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

// parseInterrupts reads the numbered rows of /proc/interrupts. The heading names the online CPUs;
// the columns follow it and not the ids.
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

// hasFlag reports whether the first processor of /proc/cpuinfo has the flag ("flags" on x86,
// "Features" on ARM).
func hasFlag(cpuinfo, flag string) bool {
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); key != "flags" && key != "Features" {
			continue
		}
		for f := range strings.FieldsSeq(value) {
			if f == flag {
				return true
			}
		}
		return false
	}
	return false
}

// release reads the first two numbers of a kernel release such as 6.1.0-56-cloud-amd64.
func release(s string) (major, minor int, ok bool) {
	var rest string
	n, err := fmt.Sscanf(s, "%d.%d%s", &major, &minor, &rest)
	// "6.18" alone has no rest, which Sscanf reports as an error after two conversions.
	return major, minor, n >= 2 || err == nil
}

// interruptRow reads one row of /proc/interrupts by its name, such as LOC.
func interruptRow(text, name string) (map[int]uint64, bool) {
	heading, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		label, columns, _ := strings.Cut(line, ":")
		if strings.TrimSpace(label) != name {
			continue
		}
		// Under the name of a number the row reads like that of a device.
		row, ok := parseInterrupts(heading + "\n0:" + columns)["0"]
		return row.counts, ok
	}
	return nil, false
}

// localTimers counts the interrupts of each CPU's own timer: a row of its own on x86, a device on ARM.
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

// busySeconds is how long a CPU has worked since boot, by /proc/stat, whose unit is 10 ms.
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

// distinct lists the different values of a map, sorted.
func distinct(values map[string]string) []string {
	kinds := slices.Collect(maps.Values(values))
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
