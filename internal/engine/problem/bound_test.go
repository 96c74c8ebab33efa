package problem

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			[]string{"limits.time_limit is 90.000 s; this host allows 60.000 s, which is used instead (limits.max.cpu_time)",
				"limits.memory is 64GiB; this host allows 4GiB, which is used instead (limits.max.memory)"}},
		{"a package of Polygon", Package{Limits: Limits{Output: 1 << 40}, Format: Polygon}, Limits{Output: 64 << 20},
			[]string{"output-limit is 1TiB; this host allows 64MiB, which is used instead (limits.max.output)"}},
		{"within all bounds", Package{Limits: Limits{Time: time.Minute, Memory: 4 << 30, Output: 64 << 20}},
			Limits{Time: time.Minute, Memory: 4 << 30, Output: 64 << 20}, nil},
		{"no limits", Package{}, Limits{}, nil},
	} {
		tt.pkg.found = map[string]bool{}
		tt.pkg.Bound(time.Minute, 4<<30, 64<<20)
		if diff := cmp.Diff(tt.want, tt.pkg.Limits); diff != "" {
			t.Errorf("%s: limits (-want +got)\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.findings, tt.pkg.Findings); diff != "" {
			t.Errorf("%s: findings (-want +got)\n%s", tt.name, diff)
		}
	}
}
