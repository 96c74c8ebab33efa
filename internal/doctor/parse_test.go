package doctor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/cpuset"
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
