package problem

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestBound checks that limits above those of the host are lowered, each with a finding that names the package's key.
func TestBound(t *testing.T) {
	limits := Limits{Time: 90 * time.Second, Memory: 64 << 30, Output: 1 << 20, Passes: 2}
	for _, tt := range []struct {
		name     string
		pkg      Package
		want     Limits
		findings []string
	}{
		{"a package of Kattis", Package{Limits: limits, Format: Kattis},
			Limits{Time: time.Minute, Memory: 4 << 30, Output: 1 << 20, Passes: 2},
			[]string{"limits.time_limit is 90.000 s; lowered to 60.000 s, the maximum of this host (limits.max.cpu_time)",
				"limits.memory is 64GiB; lowered to 4GiB, the maximum of this host (limits.max.memory)"}},
		{"a package of Polygon", Package{Limits: Limits{Output: 1 << 40}, Format: Polygon}, Limits{Output: 64 << 20},
			[]string{"output-limit is 1TiB; lowered to 64MiB, the maximum of this host (limits.max.output)"}},
		{"a package of DMOJ", Package{Limits: Limits{Output: 1 << 40}, Format: DMOJ}, Limits{Output: 64 << 20},
			[]string{"output_limit_length is 1TiB; lowered to 64MiB, the maximum of this host (limits.max.output)"}},
		{"limits of tests", Package{Format: Sinol, Limits: Limits{Time: 90 * time.Second}, Tests: []Test{{Name: "1"},
			{Name: "2", Limits: api.Limits{CPUTimeMS: 61_000, Memory: 5 << 30}}}}, Limits{Time: time.Minute},
			[]string{"time_limit is 90.000 s; lowered to 60.000 s, the maximum of this host (limits.max.cpu_time)",
				"the time limit of test 2 is 61.000 s; lowered to 60.000 s, the maximum of this host " +
					"(limits.max.cpu_time)",
				"the memory limit of test 2 is 5GiB; lowered to 4GiB, the maximum of this host (limits.max.memory)"}},
		{"within all bounds", Package{Limits: Limits{Time: time.Minute, Memory: 4 << 30, Output: 64 << 20}},
			Limits{Time: time.Minute, Memory: 4 << 30, Output: 64 << 20}, nil},
		{"no limits", Package{}, Limits{}, nil},
	} {
		tt.pkg.found = map[string]bool{}
		tt.pkg.Bound(time.Minute, 4<<30, 64<<20)
		if diff := cmp.Diff(tt.want, tt.pkg.Limits); diff != "" {
			t.Errorf("%s: limits (-want +got)\n%s", tt.name, diff)
		}
		for _, x := range tt.pkg.Tests {
			if x.Limits.CPUTime() > time.Minute || x.Limits.Memory > 4<<30 {
				t.Errorf("%s: test %s has the limits %+v", tt.name, x.Name, x.Limits)
			}
		}
		if diff := cmp.Diff(tt.findings, tt.pkg.Findings); diff != "" {
			t.Errorf("%s: findings (-want +got)\n%s", tt.name, diff)
		}
	}
}
