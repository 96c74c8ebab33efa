package evidence

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// FuzzParsers runs every parser on arbitrary files. It compares the parsers of counters with equivalent regular
// expressions.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{schedstatText, interruptsText, arm64Text, "cpu1 1 2 3 4 5 6 7 8\nintr 1\n",
		"cpu  1 2 3 4 5 6 7 8\ncpu3 1 2 3 4 5 6 7 8 9 0\ncpu1 9 9 9 9 9 9 9 9\n",
		"cpu1 1 2 3 4 5 18446744073709551615 7 8\n",
		"1 2 3\n", "cgroup /a cgroup rw,cpuacct 0 0\n", "cgroup /a\\0 cgroup cpuacct",
		"CPU1 CPU1\n1: 2 3 arch_timer\n"} {
		f.Add([]byte(seed), uint16(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cpu uint16) {
		cpus := cpuset.New(int(cpu%maxCPU), 3)
		holdInterrupts(t, b, cpus)
		if diff := cmp.Diff(ticksByPattern(b, cpus), parseStat(b, cpus), unexported); diff != "" {
			t.Error("stat (-pattern +got):", diff)
		}
		if got, want := parseSchedstat(b, cpus), fieldByPattern(string(b), cpus, 7); got != want {
			t.Errorf("schedstat %+v, by the pattern %+v", got, want)
		}
		if s, _ := parseSoftirqs(b, cpus, nil); s.block.sum > uint64(s.block.cpus)*(1<<32) {
			t.Errorf("softirqs %+v", s)
		}
		if got, want := parseVM(b).swapped, pagesByPattern(b); got != want {
			t.Errorf("swapped %+v, by the pattern %+v", got, want)
		}
		if got := parseUsagePercpu(b, []int{0, 1}); got.cpus > 2 {
			t.Errorf("found %d CPUs, asked for 2", got.cpus)
		}
	})
}

func holdInterrupts(t *testing.T, b []byte, cpus cpuset.Set) {
	before, columns := parseInterrupts(b, cpus, names{}, nil, nil)
	again, _ := parseInterrupts(b, cpus, names{}, columns, nil)
	if diff := cmp.Diff(before, again, unexported); diff != "" {
		t.Error("scratch space changes the result:", diff)
	}
	if grown := before.growth(again); len(grown) != 0 && !duplicateRows(before) {
		t.Error("grew from itself:", grown)
	}
}

func duplicateRows(i interrupts) bool {
	seen := map[string]bool{}
	for _, r := range i.rows {
		if seen[r.name] {
			return true
		}
		seen[r.name] = true
	}
	return false
}

var cpuPattern = regexp.MustCompile(`^cpu([0-9]{1,19})(?:[ \t](.*))?$`)

// fieldByPattern returns the sum of the n-th fields, counted from 1, of the lines of cpus.
func fieldByPattern(text string, cpus cpuset.Set, n int) tally {
	var sum tally
	for line := range strings.SplitSeq(text, "\n") {
		m := cpuPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil || id > maxCPU || !cpus.Contains(int(id)) {
			continue
		}
		fields := strings.FieldsFunc(m[2], func(r rune) bool { return r == ' ' || r == '\t' })
		if len(fields) < n || len(fields[n-1]) > 19 || strings.Trim(fields[n-1], "0123456789") != "" {
			continue
		}
		v, _ := strconv.ParseUint(fields[n-1], 10, 64) // 19 digits always fit
		sum.sum, sum.cpus = sum.sum+v, sum.cpus+1
	}
	return sum
}

// pagesByPattern returns the sum of the lines of swapped pages.
func pagesByPattern(b []byte) tally {
	var sum tally
	for line := range strings.SplitSeq(string(b), "\n") {
		if m := regexp.MustCompile(`^pswp(?:in|out)[ \t]+([0-9]{1,19})(?:[ \t]|$)`).FindStringSubmatch(line); m != nil {
			v, _ := strconv.ParseUint(m[1], 10, 64)
			sum.sum, sum.cpus = sum.sum+v, sum.cpus+1
		}
	}
	return sum
}

// ticksByPattern parses the file up to the end of the lines for CPUs.
func ticksByPattern(b []byte, cpus cpuset.Set) ticks {
	head := regexp.MustCompile(`^(cpu[^\n]*(\n|$))*`).FindString(string(b))
	user, nice := fieldByPattern(head, cpus, 1), fieldByPattern(head, cpus, 2)
	return ticks{user: tally{user.sum + nice.sum, user.cpus + nice.cpus}, system: fieldByPattern(head, cpus, 3),
		irq: fieldByPattern(head, cpus, 6), softirq: fieldByPattern(head, cpus, 7), steal: fieldByPattern(head, cpus, 8)}
}
