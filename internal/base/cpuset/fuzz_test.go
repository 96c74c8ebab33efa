package cpuset

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse compares Parse with a second implementation based on patterns and big numbers, and checks both
// texts of a set.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0-3,7", "0x8c", "0xff,00000000", "0-6:2/4", "8191", "0-8191", "3-1", "0,,1",
		"(null)", "-1",
		"0x0,00000000,00000001", "0x1,0000000", "0x" + strings.Repeat("f", 2048), "0x1" + strings.Repeat("0", 2048),
		"00000000000000000007", "1-\n2", "0X8C "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := Parse(s)
		if want, ok := byPattern(s); ok != (err == nil) || ok && cmp.Diff(want, set) != "" {
			t.Fatalf("Parse(%q) = %v, %v; by patterns %v, %v", s, set, err, want, ok)
		}
		if err != nil {
			if set != nil || !strings.HasPrefix(err.Error(), "parse CPU list "+strconv.Quote(s)+": ") {
				t.Fatalf("Parse(%q) = %v with error %v", s, set, err)
			}
			return
		}
		for _, text := range []string{set.String(), "0x" + set.Mask()} {
			again, err := Parse(text)
			if err != nil {
				t.Fatalf("Parse(%q), the text of Parse(%q): %v", text, s, err)
			}
			if diff := cmp.Diff(set, again); diff != "" {
				t.Fatalf("Parse(%q), the text of Parse(%q) (-want +got):\n%s", text, s, diff)
			}
		}
	})
}

var (
	listPattern = regexp.MustCompile(`^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`)
	maskPattern = regexp.MustCompile(`^0[xX][0-9a-fA-F]+(,[0-9a-fA-F]{8})*$`)
)

// byPattern returns the expected set, and whether Parse must succeed.
func byPattern(s string) (Set, bool) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return nil, true
	case maskPattern.MatchString(s):
		mask, _ := new(big.Int).SetString(strings.ReplaceAll(s[2:], ",", ""), 16)
		var ids []int
		for id := range mask.BitLen() {
			if mask.Bit(id) == 1 {
				ids = append(ids, id)
			}
		}
		return New(ids...), mask.BitLen() <= maxID+1
	case listPattern.MatchString(s):
		return listByPattern(s)
	}
	return nil, false
}

func listByPattern(s string) (Set, bool) {
	var ids []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || first > last || last > maxID {
			return nil, false
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
		ids = New(ids...) // a text may repeat CPUs many times
	}
	return New(ids...), true
}
