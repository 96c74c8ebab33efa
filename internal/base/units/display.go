package units

import (
	"strconv"
	"time"
)

// Round is b for people, in the largest unit that leaves at least 1: one digit
// after the point below 100, none above. It is not meant to be read back.
//
//	850 B, 1.2 MiB, 256 MiB
func Round(b Bytes) string {
	sign, n := magnitude(int64(b))
	if n < 1<<10 {
		return sign + strconv.FormatUint(n, 10) + " B"
	}
	// Every unit is tried on n itself, the smallest first: rounding what was
	// rounded before would turn 1023.96 KiB into 1024 KiB.
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
	return Bytes(b).String() // not reached: 2^63 bytes are 8 EiB
}

// timeUnits lists the units of Duration, the smallest first: nanoseconds in
// one, how many digits follow the point, and how many of its last digit make
// one of the next unit.
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

// Duration is d for people: whole nanoseconds and microseconds, milliseconds
// to a tenth, seconds to a thousandth. It rounds once, half away from zero.
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

// magnitude splits off the sign; the magnitude of the smallest int64 does not
// fit an int64.
func magnitude(v int64) (sign string, n uint64) {
	if v < 0 {
		return "-", -uint64(v)
	}
	return "", uint64(v)
}

// point writes v, counted in parts of one, with that many digits after the
// point.
func point(v, parts uint64, digits int) string {
	text := strconv.FormatUint(v/parts, 10)
	if digits == 0 {
		return text
	}
	fraction := strconv.FormatUint(v%parts+parts, 10) // the leading 1 keeps the zeros
	return text + "." + fraction[1:]
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
