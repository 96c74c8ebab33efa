package doctor

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
)

// FuzzCounters tests the parsers of the kernel's counters.
func FuzzCounters(f *testing.F) {
	f.Add("   CPU0 CPU1\n 1: 2 3 x y\n")
	f.Add("cpu0 1 2 3 4 5 6 7 8\n")
	f.Add("cpu0 9223372036854775807 9223372036854775807 9223372036854775807 4 5 6 7 8\n")
	f.Add("6.1.0-56-cloud-amd64")
	f.Add("CPU0\nLOC: 18446744073709551615 x\n0: 5\n")
	f.Fuzz(func(t *testing.T, s string) {
		if steal, total := stealOf(s, cpuset.New(0, 1)); steal > total && total < 1<<62 {
			t.Errorf("steal %d of %d", steal, total)
		}
		for irq, row := range parseInterrupts(s) {
			if irq == "" || row.counts == nil {
				t.Errorf("interrupt %q %+v", irq, row)
			}
		}
		if _, ok := localTimers(s); ok && !strings.Contains(s, "LOC") && !strings.Contains(s, "arch_timer") {
			t.Error("timers out of nothing")
		}
		if seconds := busySeconds(s, 0); seconds < 0 && !strings.Contains(s, "-") {
			t.Errorf("%v s of work", seconds)
		}
		if major, minor, ok := release(s); !ok && (major != 0 && minor != 0) {
			t.Errorf("release %d.%d", major, minor)
		}
	})
}

// FuzzTable: for any names of files and processes, the table has only printable characters and no overlong
// lines.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"kworker/2:1 (2-3), bash (0-3) x2", "\x1b[31mred", "\u202egnp.exe", "\x9b2J",
		"a\tb\nc\r\x00\x7f", strings.Repeat("0,2,", 200),
		strings.Repeat("é ", 100), "\u200b\u2028\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := api.DoctorReport{CPUs: s, Host: api.DoctorHostSummary{Name: s, Kernel: s, CPUModel: s},
			Checks: []api.DoctorCheck{
				{ID: "turbo", Severity: api.SeverityS1, Status: api.DoctorFail, Found: s, Wanted: s, Reason: s, Effect: s,
					Fix: api.DoctorFix{Runtime: []string{s}, Boot: s}},
				{ID: "steal", Severity: api.SeverityS2, Status: api.DoctorUnknown, Reason: s},
			}}
		for line := range strings.Lines(format(text.Screen{Width: text.PageWidth}, r)) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > text.PageWidth {
				t.Errorf("line of %d columns: %q", n, line)
			}
			if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("line %q is not printable", line)
			}
		}
	})
}
