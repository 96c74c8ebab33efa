package initproc

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGapLine(t *testing.T) {
	want := Gaps{Elapsed: 3 * time.Second, Lost: 20 * time.Millisecond, Longest: 4 * time.Millisecond, Floor: 500,
		Waited: 7 * time.Microsecond,
		Counts: []uint64{1, 2, 3, 4, 5, 6, 0, 0}}
	line := string(want.append(nil, gapCounts{1, 2, 3, 4, 5, 6}))
	got, err := ParseGaps(line)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(GapBounds()) != len(gapCounts{}) {
		t.Errorf("%d bounds for %d counts", len(GapBounds()), len(gapCounts{}))
	}
	for _, broken := range []string{"", "1", strings.TrimSuffix(line, "0\n"), "x" + line,
		strings.Replace(line, "3000000000", "0", 1),
		strings.Replace(line, "20000000", "3000000001", 1), strings.Replace(line, "500", "-1", 1)} {
		if g, err := ParseGaps(broken); err == nil {
			t.Errorf("parsed %q: %+v", broken, g)
		}
	}
}

// TestSpin checks that counts and lost time agree, regardless of other load on this machine.
func TestSpin(t *testing.T) {
	const length = 20 * time.Millisecond
	g, counts := spin(length)
	var gaps uint64
	for _, n := range counts {
		gaps += n
	}
	if g.Elapsed < length || g.Lost > g.Elapsed || g.Longest > g.Elapsed || g.Floor < GapBounds()[0] {
		t.Errorf("inconsistent gaps %+v", g)
	}
	if (gaps == 0) != (g.Longest == 0) || g.Lost > time.Duration(gaps)*g.Longest {
		t.Errorf("%d gaps, longest %s, lost %s", gaps, g.Longest, g.Lost)
	}
}

func TestMedian(t *testing.T) {
	var steps [255]time.Duration
	for i := range steps {
		steps[i] = time.Duration(i * 101 % 255) // each number once, unsorted
	}
	if m := median(&steps); m != 127 {
		t.Errorf("median %d, want 127", m)
	}
}
