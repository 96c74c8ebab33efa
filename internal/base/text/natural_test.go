package text

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNatural(t *testing.T) {
	for name, want := range map[string][]string{
		"numbers":       {"1", "2", "10", "99999999999999999999999", "100000000000000000000000"},
		"within names":  {"a", "a1", "a2", "a10", "a10b", "b", "sample-1", "sample-2", "sample-10"},
		"groups":        {"1-2", "1-10", "2-1", "10-1"},
		"leading zeros": {"01", "1", "002", "02", "2"},
		"others":        {"", "A", "a", "é1", "é2", "é10"},
		"digits first":  {"1a", "10", "a"},
	} {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, Natural)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzNatural checks that the order is consistent, because sorting by an inconsistent order could lose tests.
func FuzzNatural(f *testing.F) {
	f.Add("1", "02", "a10")
	f.Add("a", "a1", "a01")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		ab, ba, bc, ac := Natural(a, b), Natural(b, a), Natural(b, c), Natural(a, c)
		if (ab < 0) != (ba > 0) || (ab == 0) != (a == b) {
			t.Errorf("%q, %q: %d and %d", a, b, ab, ba)
		}
		if ab < 0 && bc < 0 && ac >= 0 {
			t.Errorf("%q < %q < %q, but not the first before the last", a, b, c)
		}
	})
}
