package units

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// binary lists the units above the byte, in descending order.
var binary = [...]struct {
	name  string
	shift uint
}{
	{"EiB", 60}, {"PiB", 50}, {"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10},
}

// maxFraction is the maximum number of digits after the point. 10^18 is the largest power of ten below 2^63, and 18 digits
// distinguish single bytes of an EiB.
const maxFraction = 18

// ParseBytes parses a size: a number, possibly with a fraction, and one of B, KiB, MiB, GiB, TiB, PiB, EiB. A
// number without a unit is in bytes. Fractions of a byte are truncated, so that a limit is never larger than
// written. Errors contain the text and a valid example.
func ParseBytes(s string) (Bytes, error) {
	number, unit := split(strings.TrimSpace(s))
	shift, err := shiftOf(unit)
	if err != nil {
		return 0, fmt.Errorf("parse size %q: %w", s, err)
	}
	b, err := scale(number, shift)
	if err != nil {
		return 0, fmt.Errorf("parse size %q: %w", s, err)
	}
	return b, nil
}

// split splits s after its number.
func split(s string) (number, unit string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], " ")
}

func shiftOf(unit string) (uint, error) {
	if unit == "" || unit == "B" {
		return 0, nil
	}
	for _, u := range binary {
		if unit == u.name {
			return u.shift, nil
		}
	}
	for _, u := range binary {
		prefix := u.name[:1]
		for _, alike := range []string{prefix, prefix + "B", prefix + "iB"} {
			if strings.EqualFold(unit, alike) {
				return 0, fmt.Errorf("unit %q means powers of 1000 to some and of 1024 to others: write %s", unit, u.name)
			}
		}
	}
	return 0, fmt.Errorf("unknown unit %q: write B, KiB, MiB, GiB, TiB, PiB or EiB", unit)
}

// scale returns number * 2^shift. It uses integers, because a float64 has only 53 bits and a size has 63.
func scale(number string, shift uint) (Bytes, error) {
	whole, fraction, hasFraction := strings.Cut(number, ".")
	switch {
	case strings.HasPrefix(whole, "-"):
		return 0, fmt.Errorf("a size is not negative")
	case !digits(whole) || hasFraction && !digits(fraction):
		return 0, fmt.Errorf("not a number with a unit: write it like 256MiB or 1.5GiB")
	case hasFraction && shift == 0:
		return 0, fmt.Errorf("a byte has no fraction")
	case len(fraction) > maxFraction:
		return 0, fmt.Errorf("more than %d digits after the point", maxFraction)
	}

	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("larger than %d bytes", int64(math.MaxInt64))
	}
	return Bytes(n<<shift | fractionOf(fraction, shift)), nil
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// fractionOf returns 0.digits * 2^shift, rounded down. The result is below 2^shift, so Div64 cannot overflow.
func fractionOf(digits string, shift uint) uint64 {
	var numerator, denominator uint64 = 0, 1
	for _, c := range []byte(digits) {
		numerator = numerator*10 + uint64(c-'0')
		denominator *= 10
	}
	hi, lo := bits.Mul64(numerator, 1<<shift)
	quotient, _ := bits.Div64(hi, lo, denominator)
	return quotient
}

// String returns the shortest text that ParseBytes parses as exactly b, preferring the larger unit: 256MiB,
// 1.5GiB, 1000B. A negative number, which ParseBytes rejects, is in bytes.
func (b Bytes) String() string {
	best := strconv.FormatInt(int64(b), 10) + "B"
	if b < 0 {
		return best
	}
	for i := len(binary) - 1; i >= 0; i-- {
		text, ok := exact(uint64(b), binary[i].shift)
		if text += binary[i].name; ok && len(text) <= len(best) {
			best = text
		}
	}
	return best
}

// exact returns n / 2^shift in decimal if that is at least 1 and needs at most three fractional digits.
func exact(n uint64, shift uint) (string, bool) {
	mask := uint64(1)<<shift - 1
	text, rest := strconv.FormatUint(n>>shift, 10), n&mask
	if n>>shift == 0 {
		return "", false
	}
	if rest == 0 {
		return text, true
	}
	text += "."
	for range 3 {
		rest *= 10
		text += string(rune('0' + rest>>shift))
		if rest &= mask; rest == 0 {
			return text, true
		}
	}
	return "", false
}

// Set implements flag.Value.
func (b *Bytes) Set(s string) error {
	v, err := ParseBytes(s)
	if err != nil {
		return err
	}
	*b = v
	return nil
}

// Type returns the type name for help texts of flags.
func (b *Bytes) Type() string { return "bytes" }
