package doctor

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// FuzzParsers holds the parsers of /proc files.
func FuzzParsers(f *testing.F) {
	f.Add("cgroup2 /sys/fs/cgroup\\134x cgroup2 rw 0 0\n")
	f.Add("0::/a\n3:cpu,cpuacct:/\n")
	f.Add("1 (a) b) S 1 0 0 0 -1 1 0 0 0 0 0 0 0 0 20 0 4 0 24 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 3")
	f.Add("   CPU0 CPU1\n 1: 2 3 x y\n")
	f.Add("cpu0 1 2 3 4 5 6 7 8\n")
	f.Add("cpu0 9223372036854775807 9223372036854775807 9223372036854775807 4 5 6 7 8\n")
	f.Add("a [b] c")
	f.Add("Cpus_allowed_list:\t0-3\n")
	f.Add("Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n")
	f.Add("6.1.0-56-cloud-amd64")
	f.Add("ro isolcpus=managed_irq,domain,2-3 nohz_full=0-8191 -- isolcpus=7")
	f.Add("CPU0\nLOC: 18446744073709551615 x\n0: 5\n")
	f.Add("Max cpu time  60 unlimited seconds\n")
	f.Add("MemFree: 9223372036854775807 kB\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range parseMounts(s) {
			if m.fstype == "" || len(m.options) == 0 {
				t.Errorf("mount %+v", m)
			}
		}
		for _, path := range parseCgroups(s) {
			if !strings.HasPrefix(path, "/") || len(upwards("/cg", path, "cpu.max")) == 0 {
				t.Errorf("cgroup %q", path)
			}
		}
		if steal, total := stealOf(s, cpuset.New(0, 1)); steal > total && total < 1<<62 {
			t.Errorf("steal %d of %d", steal, total)
		}
		for irq, row := range parseInterrupts(s) {
			if irq == "" || row.counts == nil {
				t.Errorf("interrupt %q %+v", irq, row)
			}
		}
		for _, name := range []string{"isolcpus", "nohz_full"} {
			if len(bootCPUs(s, name)) > 0 && !strings.Contains(s, name) {
				t.Errorf("%s out of nothing", name)
			}
		}
		if _, ok := localTimers(s); ok && !strings.Contains(s, "LOC") && !strings.Contains(s, "arch_timer") {
			t.Error("timers out of nothing")
		}
		if soft, hard, ok := limitOf(s, "Max cpu time"); ok && (soft == "" || hard == "") {
			t.Errorf("limit %q %q", soft, hard)
		}
		if n := meminfoBytes(s, "MemFree"); n < 0 && !strings.Contains(s, "-") {
			t.Errorf("%d bytes free", n)
		}
		if seconds := busySeconds(s, 0); seconds < 0 && !strings.Contains(s, "-") {
			t.Errorf("%v s of work", seconds)
		}
		_ = keepStat(s)
		for _, device := range parseSwaps(s) {
			if device == "" || !strings.Contains(s, device) {
				t.Errorf("swap %q", device)
			}
		}
		for _, word := range []string{bracketed(s), statusField(s, "Cpus_allowed_list")} {
			if !strings.Contains(s, word) {
				t.Errorf("%q out of nothing", word)
			}
		}
		if major, minor, ok := release(s); !ok && (major != 0 && minor != 0) {
			t.Errorf("release %d.%d", major, minor)
		}
	})
}

// FuzzStat holds that any name of a process is read back, as is what stands
// behind it.
func FuzzStat(f *testing.F) {
	for _, comm := range []string{"bash", "tmux: server", "a) R 9 (b", "", ")", "(", "\x1b[2J", "\n"} {
		f.Add(comm, 42, 1, 2129984, 4, 3)
	}
	f.Fuzz(func(t *testing.T, comm string, pid, ppid, flags, threads, cpu int) {
		const between = " 0 0 0 -1 %d 0 0 0 0 0 0 0 0 0 0 %d 0 24 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0"
		text := fmt.Sprintf("%d (%s) S %d"+between, pid, comm, ppid, flags, threads, cpu)
		got, err := parseStat(text)
		want := task{pid: pid, ppid: ppid, comm: comm, state: "S", flags: flags, threads: threads, cpu: cpu}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(task{})); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		_, _ = parseStat(comm) // no panic
	})
}

// FuzzTable holds that whatever a host's files and processes are called, the
// table has only lines of printable characters, none longer than promised.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"kworker/2:1 (2-3), bash (0-3) x2", "\x1b[31mred", "\u202egnp.exe", "\x9b2J", "a\tb\nc\r\x00\x7f", strings.Repeat("0,2,", 200),
		strings.Repeat("é ", 100), "\u200b\u2028\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := Report{CPUs: s, Host: Host{Name: s, Kernel: s, CPUModel: s}, Checks: []Check{
			{ID: "turbo", Severity: S1, Status: Fail, Found: s, Wanted: s, Reason: s, Effect: s, Fix: Fix{Runtime: []string{s}, Boot: s}},
			{ID: "steal", Severity: S2, Status: Unknown, Reason: s},
		}}
		var b bytes.Buffer
		if err := r.WriteTable(&b, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > tableWidth {
				t.Errorf("line of %d columns: %q", n, line)
			}
			if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("line %q is not printable", line)
			}
		}
	})
}
