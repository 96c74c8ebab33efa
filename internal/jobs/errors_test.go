package jobs

import (
	"strings"
	"testing"
)

func TestValidID(t *testing.T) {
	for _, id := range []string{"0", "9", "a", "z", "A", "Z", "a.", "a_", "a-", "a0Z9z", strings.Repeat("x", maxID)} {
		if !ValidID(id) {
			t.Errorf("%q is refused", id)
		}
	}
	// Most of these characters are adjacent to allowed ones.
	for _, id := range []string{"", ".a", "_a", "-a", "a/", "a:", "a@", "a[", "a`", "a{", "a b", "é", "a\x00",
		strings.Repeat("x", maxID+1)} {
		if ValidID(id) {
			t.Errorf("%q is allowed", id)
		}
	}
}
