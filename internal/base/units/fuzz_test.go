package units

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// FuzzParseBytes compares ParseBytes with a second implementation based on fractions of any size, and parses
// the text of each number again.
func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"", "512", "512B", "1.5GiB", "64KB", "-1", "8EiB", "7.999999999999999999EiB", "1 MiB",
		"0.1KiB", "1e9",
		"00000000000000000000000001", "9223372036854775807", "9223372036854775808B", "0.0000000000000000001KiB",
		"1.KiB", ".1KiB", "1\u00a0MiB", "+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBytes(s)
		want, ok := byFraction(s)
		if ok != (err == nil) || b != want {
			t.Fatalf("ParseBytes(%q) = %d, %v; by fractions %d, %v", s, b, err, want, ok)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "parse size "+strconv.Quote(s)+": ") {
				t.Fatalf("error %q does not name %q", err, s)
			}
			return
		}
		again, err := ParseBytes(b.String())
		if err != nil || again != b {
			t.Fatalf("ParseBytes(%q) = %d, its text %q reads back as %d, %v", s, b, b, again, err)
		}
	})
}

var sizePattern = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]{1,18}))? *(B|KiB|MiB|GiB|TiB|PiB|EiB)?$`)

// byFraction returns the expected size, and whether ParseBytes must succeed.
func byFraction(s string) (Bytes, bool) {
	m := sizePattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	shift := uint(0)
	for _, u := range binary {
		if u.name == m[3] {
			shift = u.shift
		}
	}
	if shift == 0 && m[2] != "" {
		return 0, false
	}
	number, _ := new(big.Rat).SetString(m[1] + "." + m[2] + "0")
	number.Mul(number, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), shift)))
	whole := new(big.Int).Quo(number.Num(), number.Denom())
	if !whole.IsInt64() {
		return 0, false
	}
	return Bytes(whole.Int64()), true
}
