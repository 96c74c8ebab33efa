package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	for name, tc := range map[string]struct {
		in          string
		width, hang int
		want        []string
	}{
		"short":          {"a b", 10, 0, []string{"a b"}},
		"at a space":     {"aaa bbb ccc", 7, 0, []string{"aaa bbb", "ccc"}},
		"hanging":        {"why     aaaa bbbb", 14, 8, []string{"why     aaaa", "        bbbb"}},
		"long word":      {"abcdefgh", 3, 0, []string{"abc", "def", "gh"}},
		"escape is tame": {"evil\x1b[2Jname", 40, 0, []string{"evil [2Jname"}},
		"not UTF-8":      {"a\xffb", 9, 0, []string{"a\ufffdb"}},
		"unprintable":    {"\u202e\x00", 9, 0, []string{""}},
		"empty":          {"", 3, 0, []string{""}},
	} {
		if diff := cmp.Diff(tc.want, Wrap(tc.in, tc.width, tc.hang)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
