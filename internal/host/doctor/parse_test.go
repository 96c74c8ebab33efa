package doctor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

func TestParseStat(t *testing.T) {
	rest := " S 1 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 4 0 24 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0"
	for name, comm := range map[string]string{"plain": "bash", "spaces": "tmux: server", "parentheses": "a) R 9 (b", "empty": ""} {
		got, err := parseStat(fmt.Sprintf("42 (%s)%s", comm, rest))
		want := task{pid: 42, ppid: 1, comm: comm, state: "S", flags: 2129984, threads: 4, cpu: 3}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(task{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for name, text := range map[string]string{"empty": "", "no name": "42 S 1", "reversed": ")42(", "short": "42 (a) S 1", "no number": "x (a)" + rest} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParsers(t *testing.T) {
	if diff := cmp.Diff(map[string]string{"": "/", "cpu": "/a", "cpuacct": "/a", "name=systemd": "/x:y"},
		parseCgroups("3:cpu,cpuacct:/a\n1:name=systemd:/x:y\n0::/\nrubbish\n9:pids:relative\n")); diff != "" {
		t.Errorf("parseCgroups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]mount{{"/a b", "cgroup", []string{"rw", "cpu"}}},
		parseMounts("cgroup /a\\040b cgroup rw,cpu 0 0\nshort line\n"), cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("parseMounts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/dev/sda2", "/swap"},
		parseSwaps("Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/swap file 1 0 -3")); diff != "" {
		t.Errorf("parseSwaps (-want +got):\n%s", diff)
	}
	want := map[string]irqRow{"24": {"eth0", map[int]uint64{0: 7, 2: 9}}, "25": {"", map[int]uint64{0: 1, 2: 2}}}
	if diff := cmp.Diff(want, parseInterrupts("       CPU0  CPU2\n 24:  7  9  PCI-MSI edge eth0\n 25: 1 2\nLOC: 5 6 Local timer\nERR: 0\n"),
		cmp.AllowUnexported(irqRow{})); diff != "" {
		t.Errorf("parseInterrupts (-want +got):\n%s", diff)
	}
	for line, want := range map[string]string{"always [madvise] never": "madvise", "[always]": "always", "never": "", "[]": ""} {
		if got := bracketed(line); got != want {
			t.Errorf("bracketed(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestSteal(t *testing.T) {
	stat := "cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 10 0 0 80 0 0 0 10 5 0\nintr 1 2 3\n"
	if steal, total := stealOf(stat, cpuset.New(1)); steal != 10 || total != 100 {
		t.Errorf("stealOf = %d of %d, want 10 of 100", steal, total)
	}
	if _, total := stealOf(stat, cpuset.New(7)); total != 0 {
		t.Errorf("an absent CPU has %d ticks", total)
	}
}

func TestRelease(t *testing.T) {
	for text, want := range map[string][3]int{"6.1.0-56-cloud-amd64": {6, 1, 1}, "6.18": {6, 18, 1}, "5.15.0": {5, 15, 1}, "7.0-rc1": {7, 0, 1}, "weird": {0, 0, 0}, "": {0, 0, 0}} {
		major, minor, ok := release(text)
		if major != want[0] || minor != want[1] || ok != (want[2] == 1) {
			t.Errorf("release(%q) = %d.%d %t, want %v", text, major, minor, ok, want)
		}
	}
}

func TestDescends(t *testing.T) {
	parent := map[int]int{1: 0, 10: 1, 11: 10, 20: 1, 30: 31, 31: 30}
	for pid, want := range map[int]bool{10: true, 11: true, 20: false, 1: false, 30: false, 99: false} {
		if got := descends(pid, parent, map[int]bool{10: true}); got != want {
			t.Errorf("descends(%d) = %t", pid, got)
		}
	}
}

func TestBootOptions(t *testing.T) {
	const cmdline = "ro nosmt isolcpus=managed_irq,domain,2-3,6 nohz_full=1 nohz_full=2-3 irqaffinity=x -- isolcpus=7"
	for name, want := range map[string]string{"nosmt": "-", "nohz_full": "2-3", "isolcpus": "managed_irq,domain,2-3,6", "hugepages": ""} {
		if got := bootOption(cmdline, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"isolcpus": "2-3,6", "irqaffinity": "", "rcu_nocbs": ""} {
		if got := bootCPUs(cmdline, name).String(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTimerRows(t *testing.T) {
	x86 := "      CPU0 CPU2\n 1: 5 6 keyboard\nLOC: 7 9 Local timer interrupts\nMCE: 1 2 Machine check exceptions\n"
	arm := "      CPU0 CPU1\n 11: 3 4 GICv3 26 Level arch_timer\n"
	for name, tc := range map[string]struct {
		text string
		want map[int]uint64
	}{"x86": {x86, map[int]uint64{0: 7, 2: 9}}, "arm": {arm, map[int]uint64{0: 3, 1: 4}}, "none": {"CPU0\n1: 2 x\n", nil}} {
		got, ok := localTimers(tc.text)
		if diff := cmp.Diff(tc.want, got); diff != "" || ok != (tc.want != nil) {
			t.Errorf("%s: %t (-want +got):\n%s", name, ok, diff)
		}
	}
	if total, ok := rowTotal(x86, "MCE"); total != 3 || !ok {
		t.Errorf("MCE: %d, %t", total, ok)
	}
	if _, ok := rowTotal(arm, "MCE"); ok {
		t.Error("a row that is not there was found")
	}
	if s := busySeconds("cpu 9 9 9 9 9 9 9 9\ncpu1 100 200 300 9999 9999 400 500 7\n", 1); s != 15 {
		t.Errorf("%v s of work, want 15", s)
	}
}

func TestLimitsAndMemory(t *testing.T) {
	limits := "Limit                     Soft Limit           Hard Limit           Units\nMax cpu time              60  unlimited  seconds\n"
	if soft, hard, ok := limitOf(limits, "Max cpu time"); soft != "60" || hard != "unlimited" || !ok {
		t.Errorf("limitOf = %s, %s, %t", soft, hard, ok)
	}
	if _, _, ok := limitOf(limits, "Max stack size"); ok {
		t.Error("a limit that is not there was found")
	}
	if n := meminfoBytes("Node 0 MemTotal: 9 kB\nNode 0 MemFree:  1234 kB\n", "MemFree"); n != 1234<<10 {
		t.Errorf("%d bytes free, want %d", n, 1234<<10)
	}
	if v := variable("PATH=/bin\x00container=lxc\x00", "container"); v != "lxc" {
		t.Errorf("variable = %q", v)
	}
}
