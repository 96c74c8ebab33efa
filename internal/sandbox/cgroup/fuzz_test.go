package cgroup

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzFiles compares the parsers of cgroupfs with patterns that express the same differently.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		"usage_usec 2816\nuser_usec 1408\nsystem_usec 1408\nnr_periods 0\nnr_throttled 3\n",
		"usage_usec 9007199254740993\n", "usage_usec -1\n", "usage_usec\n", "user_usec 1\n",
		"nr_throttled 1\nusage_usec 1",
		"30346672016\n", "-5\n", " 12 ", "9223372036854775808",
		"oom_kill 2\noom 1\n", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n", "oom_kill max\n",
		"oom_kill  7\n",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=71\n", "workingset_refault_file 3\nnuma_pages_migrated 4\n",
		"1\n22\n333\n", "1\n(null)\n", "0::/a:b\n", "4:memory:/a\n2:cpu,cpuacct:/\n1:name=systemd:/x\n", ":::\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkCPUStat(t, text)
		if c, err := parseUsage(text); (err == nil) != wholeNumber.MatchString(strings.TrimSpace(text)) &&
			!tooLarge(err) || c.Total < 0 || err != nil && c != (CPU{}) {
			t.Errorf("usage %+v, %v", c, err)
		}
		if n, err := parseKey(text, "oom_kill"); n != 0 &&
			(err != nil || !strings.Contains(text, "oom_kill ") || !strings.Contains(text, digits(n))) {
			t.Errorf("oom_kill %d, %v", n, err)
		}
		if p := parsePressure(text, "some"); p != nil && (*p < 0 || !strings.Contains(text, digits(p.Microseconds()))) {
			t.Errorf("pressure %s", *p)
		}
		if m := parseMemoryStat(text).NUMAMigrations; m != nil && !strings.Contains(text, "numa_pages_migrated ") {
			t.Errorf("%d pages moved", *m)
		}
		if ids, err := parseIDs(text); err == nil && len(ids) != len(strings.Fields(text)) {
			t.Errorf("ids %v", ids)
		}
	})
}

var (
	wholeNumber = regexp.MustCompile(`^[0-9]+$`)
	usageLine   = regexp.MustCompile(`(?m)^\s*usage_usec ([0-9]+)\s*$`)
)

func tooLarge(err error) bool { return err != nil && strings.Contains(err.Error(), "out of range") }

// digits returns the digits of n, to which a text may add a sign and leading zeros.
func digits(n int64) string { return strings.TrimPrefix(strconv.FormatInt(n, 10), "-") }

func checkCPUStat(t *testing.T, text string) {
	c, err := parseCPUStat(text)
	found := usageLine.MatchString(text)
	if err == nil && !found || c.Total < 0 || c.Total%time.Microsecond != 0 {
		t.Errorf("cpu.stat: %+v, %v", c, err)
	}
	for _, d := range []*time.Duration{c.User, c.System} {
		if d != nil && *d < 0 {
			t.Errorf("cpu.stat: %v", *d)
		}
	}
}
