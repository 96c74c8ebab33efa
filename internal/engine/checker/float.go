package checker

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
)

// tolerance is the maximum distance of a number from the answer's. A number within either bound is accepted.
type tolerance struct {
	absolute, relative epsilon
	text               func(output, answer []byte) bool // compares if the answer is not a number
}

// epsilon is a bound. Zero accepts only equal numbers.
type epsilon struct {
	exact decimal
	float float64 // nearest to exact
}

func parseEpsilon(text string) (e epsilon, err error) {
	if !e.exact.parse([]byte(text)) {
		return e, fmt.Errorf("tolerance %q is not a decimal number such as 1e-6", text)
	}
	e.float = e.exact.float64()
	if e.float < 0 || math.IsInf(e.float, 0) || e.float == 0 && e.exact.n > 0 {
		return e, errEpsilonRange(text)
	}
	return e, nil
}

func errEpsilonRange(text string) error {
	return fmt.Errorf("tolerance %q must be above 0 and within the range of a float64", text)
}

// same compares two tokens: as numbers if the answer is one, otherwise as text.
func (t tolerance) same(output, answer []byte) bool {
	if bytes.Equal(output, answer) {
		return true
	}
	var o, a decimal
	if !a.parse(answer) {
		return t.text(output, answer)
	}
	return o.parse(output) && (o == a || t.near(&o, &a))
}

// near reports |o-a| <= absolute or |o-a| <= relative*|a| for two numbers that differ. It uses float64 arithmetic if
// the result is clear despite rounding errors, and otherwise exact arithmetic.
func (t tolerance) near(o, a *decimal) bool {
	x, y := o.float64(), a.float64()
	difference := math.Abs(x - y)
	bound := max(t.absolute.float, t.relative.float*math.Abs(y))
	// The error of each of x, y, the difference and the bound is at most 2^-53 of its size, as long as nothing
	// overflows or loses bits below the normal range.
	margin := (math.Abs(x)+math.Abs(y)+bound)*0x1p-50 + 0x1p-1000
	switch {
	case !(margin < math.MaxFloat64):
		return t.nearExact(*o, *a)
	case difference+margin <= bound:
		return true
	case difference-margin > bound:
		return false
	}
	return t.nearExact(*o, *a)
}

// farExponent is beyond the exponents for which a bound, a float64, can make a number equal to zero or to one.
const farExponent = 1000

// nearExact is like near but uses exact integer arithmetic.
func (t tolerance) nearExact(o, a decimal) bool {
	top := max(o.exp, a.exp)
	one := decimal{digits: [maxDigits]byte{'1'}, n: 1, exp: 1}
	return t.absolute.covers(o, a, one, max(top-farExponent, 0)) || t.relative.covers(o, a, a, top)
}

// covers reports |o-a| <= eps*|unit| for two numbers that differ. All exponents are first lowered by shift, and numbers
// far below zero dropped: 1e999999999 must not become an integer with that many digits.
func (e epsilon) covers(o, a, unit decimal, shift int64) bool {
	if e.exact.n == 0 || unit.n == 0 {
		return false
	}
	for _, d := range []*decimal{&o, &a, &unit} {
		if d.exp -= shift; d.n == 0 || d.exp < -farExponent {
			*d = decimal{}
		}
	}
	scale := -min(o.last(), a.last(), unit.last())
	difference := new(big.Int).Sub(o.integer(scale), a.integer(scale))
	bound := unit.integer(scale)
	// eps = E·10^last; the side with the smaller power of ten gets the rest.
	last := e.exact.last()
	bound.Mul(bound, e.exact.integer(-last))
	if last < 0 {
		difference.Mul(difference, pow10(-last))
	} else {
		bound.Mul(bound, pow10(last))
	}
	return difference.CmpAbs(bound) <= 0
}
