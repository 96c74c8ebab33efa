package checker

import (
	"math/big"
	"strconv"
)

// decimal is a number in a normal form, with the exact value as written: ±0.DIGITS · 10^exp, with DIGITS without zeros
// at either end. Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   [maxDigits]byte
	n        int   // digits in use
	exp      int64 // of the first digit, saturates
}

// maxDigits is the length to which a number is cut, with a relative error below 1e-99.
const maxDigits = 100

// maxExponent is the value at which exponents saturate. Sums of such values do not overflow an int64.
const maxExponent = 1 << 56

// parse parses a number by the grammar of the ICPC package format 2025-09 and reports whether text is one.
func (d *decimal) parse(text []byte) bool {
	*d = decimal{}
	text = d.sign(text)
	whole, text := digitRun(text)
	var fraction []byte
	if len(text) > 0 && text[0] == '.' {
		fraction, text = digitRun(text[1:])
	}
	if len(whole)+len(fraction) == 0 {
		return false
	}
	d.add(whole, true)
	d.add(fraction, false)
	exp, ok := exponent(text)
	d.finish(exp)
	return ok
}

func (d *decimal) sign(text []byte) []byte {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative = text[0] == '-'
		return text[1:]
	}
	return text
}

// digitRun splits text after its leading digits.
func digitRun(text []byte) (digits, rest []byte) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// add appends digits: in the whole part, every digit after the first nonzero one raises the exponent; in the fraction,
// every 0 before it lowers it.
func (d *decimal) add(digits []byte, whole bool) {
	for _, c := range digits {
		leading := c == '0' && d.n == 0
		switch {
		case whole && !leading:
			d.exp++
		case !whole && leading:
			d.exp--
		}
		if !leading && d.n < maxDigits {
			d.digits[d.n] = c
			d.n++
		}
	}
}

// exponent parses ([Ee][+-]?[0-9]+)? at the end of text.
func exponent(text []byte) (exp int64, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	var d decimal
	digits, rest := digitRun(d.sign(text[1:]))
	for _, c := range digits {
		exp = min(exp*10+int64(c-'0'), maxExponent)
	}
	if d.negative {
		exp = -exp
	}
	return exp, len(digits) > 0 && len(rest) == 0
}

// finish normalizes the number.
func (d *decimal) finish(exp int64) {
	for d.n > 0 && d.digits[d.n-1] == '0' {
		d.n--
		d.digits[d.n] = 0 // equal numbers are equal values of the type
	}
	d.exp += exp
	if d.n == 0 {
		*d = decimal{}
	}
}

// float64 returns the nearest float64, or ±Inf if the number is too large.
func (d *decimal) float64() float64 {
	if d.n == 0 {
		return 0
	}
	var room [maxDigits + 32]byte
	text := room[:0]
	if d.negative {
		text = append(text, '-')
	}
	text = append(text, '.')
	text = append(text, d.digits[:d.n]...)
	text = append(text, 'e')
	text = strconv.AppendInt(text, d.exp, 10)
	// The only possible error is a range error. The value is then ±Inf, as intended.
	f, _ := strconv.ParseFloat(string(text), 64)
	return f
}

// integer returns the number times 10^scale, which must be an integer.
func (d *decimal) integer(scale int64) *big.Int {
	if d.n == 0 {
		return new(big.Int)
	}
	i, _ := new(big.Int).SetString(string(d.digits[:d.n]), 10)
	i.Mul(i, pow10(d.exp-int64(d.n)+scale))
	if d.negative {
		i.Neg(i)
	}
	return i
}

// last returns the exponent of the last digit: the number is an integer times 10^last.
func (d *decimal) last() int64 { return d.exp - int64(d.n) }

func pow10(n int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
}
