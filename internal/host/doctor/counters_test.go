package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

func TestParsers(t *testing.T) {
	want := map[string]irqRow{"24": {"eth0", map[int]uint64{0: 7, 2: 9}}, "25": {"", map[int]uint64{0: 1, 2: 2}}}
	if diff := cmp.Diff(want, parseInterrupts(
		"       CPU0  CPU2\n 24:  7  9  PCI-MSI edge eth0\n 25: 1 2\nLOC: 5 6 Local timer\nERR: 0\n"),
		cmp.AllowUnexported(irqRow{})); diff != "" {
		t.Errorf("parseInterrupts (-want +got):\n%s", diff)
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
	for text, want := range map[string][3]int{"6.1.0-56-cloud-amd64": {6, 1, 1}, "6.18": {6, 18, 1},
		"5.15.0": {5, 15, 1}, "7.0-rc1": {7, 0, 1}, "weird": {0, 0, 0}, "": {0, 0, 0}} {
		major, minor, ok := release(text)
		if major != want[0] || minor != want[1] || ok != (want[2] == 1) {
			t.Errorf("release(%q) = %d.%d %t, want %v", text, major, minor, ok, want)
		}
	}
}

func TestTimerRows(t *testing.T) {
	x86 := "      CPU0 CPU2\n 1: 5 6 keyboard\nLOC: 7 9 Local timer interrupts\nMCE: 1 2 Machine check exceptions\n"
	arm := "      CPU0 CPU1\n 11: 3 4 GICv3 26 Level arch_timer\n"
	for name, tc := range map[string]struct {
		text string
		want map[int]uint64
	}{"x86": {x86, map[int]uint64{0: 7, 2: 9}}, "arm": {arm, map[int]uint64{0: 3, 1: 4}},
		"none": {"CPU0\n1: 2 x\n", nil}} {
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
