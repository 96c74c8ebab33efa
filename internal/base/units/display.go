package units

import (
	"strconv"
	"time"
)

// Round formats b for display in the largest unit that leaves at least 1: with one fractional digit below 100,
// with none above. ParseBytes does not accept the result.
//
//	850 B, 1.2 MiB, 256 MiB
func Round(b Bytes) string {
	sign, n := magnitude(int64(b))
	if n < 1<<10 {
		return sign + strconv.FormatUint(n, 10) + " B"
	}
	// Try the units in ascending order on n itself: rounding a rounded number would turn 1023.96 KiB into 1024
	// KiB.
	for i := len(binary) - 1; i >= 0; i-- {
		shift, name := binary[i].shift, " "+binary[i].name
		whole, rest := n>>shift, n&(1<<shift-1)
		if tenths := whole*10 + (rest*10+1<<(shift-1))>>shift; tenths < 1000 {
			return sign + point(tenths, 10, 1) + name
		}
		if rounded := whole + rest>>(shift-1); rounded < 1<<10 {
			return sign + strconv.FormatUint(rounded, 10) + name
		}
	}
	return Bytes(b).String() // unreachable: 2^63 bytes are 8 EiB
}

// timeUnits lists the units of Duration in ascending order: the nanoseconds in one, the number of fractional
// digits, and how many of the last digit make one of the next unit.
var timeUnits = [...]struct {
	name   string
	one    uint64
	digits int
	next   uint64
}{
	{" ns", 1, 0, 1000},
	{" µs", 1e3, 0, 1000},
	{" ms", 1e6, 1, 10_000},
}

// Duration formats d for display: whole nanoseconds and microseconds, milliseconds with one fractional digit,
// seconds with three. It rounds once, half away from zero.
//
//	0 s, 850 µs, 12.3 ms, 1.234 s
func Duration(d time.Duration) string {
	sign, n := magnitude(int64(d))
	if n == 0 {
		return "0 s"
	}
	for _, u := range timeUnits {
		scale := pow10(u.digits)
		if v := (n*scale + u.one/2) / u.one; n < u.one*1000 && v < u.next {
			return sign + point(v, scale, u.digits) + u.name
		}
	}
	return sign + point((n+500_000)/1_000_000, 1000, 3) + " s"
}

// magnitude splits v into sign and magnitude. The magnitude of the smallest int64 does not fit in an int64.
func magnitude(v int64) (sign string, n uint64) {
	if v < 0 {
		return "-", -uint64(v)
	}
	return "", uint64(v)
}

// point formats v/parts with the given number of fractional digits.
func point(v, parts uint64, digits int) string {
	text := strconv.FormatUint(v/parts, 10)
	if digits == 0 {
		return text
	}
	fraction := strconv.FormatUint(v%parts+parts, 10) // the leading 1 keeps leading zeros
	return text + "." + fraction[1:]
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
