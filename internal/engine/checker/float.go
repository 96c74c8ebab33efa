package checker

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
)

// tolerance is the EPS of float:EPS.
type tolerance struct {
	exact decimal
	eps   float64 // the nearest to exact; positive and finite
}

func parseTolerance(text string) (*tolerance, error) {
	var t tolerance
	if !t.exact.parse([]byte(text)) {
		return nil, fmt.Errorf("tolerance %q is not a decimal number such as 1e-6", text)
	}
	t.eps = t.exact.float64()
	if t.eps <= 0 || math.IsInf(t.eps, 0) {
		return nil, fmt.Errorf("tolerance %q must be above 0 and within the range of a float64", text)
	}
	return &t, nil
}

// same compares two tokens: as numbers where the answer is one, else as text.
func (t *tolerance) same(output, answer []byte) bool {
	if bytes.Equal(output, answer) {
		return true
	}
	var o, a decimal
	if !a.parse(answer) {
		return sameText(output, answer)
	}
	return o.parse(output) && (o == a || t.near(&o, &a))
}

// near reports |o-a| <= eps or |o-a| <= eps*|a|. Numbers on the wrong side by more than
// float64 arithmetic can err are decided by it, the others exactly.
func (t *tolerance) near(o, a *decimal) bool {
	x, y := o.float64(), a.float64()
	difference := math.Abs(x - y)
	bound := t.eps * max(1, math.Abs(y))
	// Each of x, y, the difference and the bound is off by at most 2^-53 of its
	// size, as long as nothing overflows or loses bits below the normal range.
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

// farExponent is beyond what EPS, a float64, can make equal to zero or to one.
const farExponent = 1000

// nearExact is near in whole numbers. Exponents are brought into ±farExponent
// first: 1e999999999 must not become an integer of that many digits.
func (t *tolerance) nearExact(o, a decimal) bool {
	one := decimal{digits: [maxDigits]byte{'1'}, n: 1, exp: 1}
	if top := max(o.exp, a.exp); top > farExponent {
		o.exp, a.exp, one.exp = o.exp-top, a.exp-top, one.exp-top
	}
	for _, d := range []*decimal{&o, &a, &one} {
		if d.exp < -farExponent {
			*d = decimal{}
		}
	}
	scale := -min(o.last(), a.last(), one.last())
	difference := new(big.Int).Sub(o.integer(scale), a.integer(scale))
	bound := a.integer(scale)
	if unit := one.integer(scale); bound.CmpAbs(unit) < 0 {
		bound = unit
	}
	// eps = E·10^last; the side with the smaller power of ten gets the rest.
	last := t.exact.last()
	bound.Mul(bound, t.exact.integer(-last))
	if last < 0 {
		difference.Mul(difference, pow10(-last))
	} else {
		bound.Mul(bound, pow10(last))
	}
	return difference.CmpAbs(bound) <= 0
}
