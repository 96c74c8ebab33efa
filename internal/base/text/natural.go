package text

import "strings"

// Natural compares names in natural order: digits are compared as numbers, so that "2" comes before "10". Names
// that differ only in leading zeros are compared bytewise.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return strings.Compare(x, y)
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:m], y[:n]); c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits returns the length of the number at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// compareNumbers compares numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
