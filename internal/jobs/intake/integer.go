package intake

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// edit replaces a part of the body that encoding/json would not accept.
type edit struct {
	start, end int64
	text       string
}

// whole records how encoding/json reads the number just read, if it is an integer with a fraction or an exponent, such
// as 2.0 or 1e3. JSON Schema considers these integers.
func (r *reader) whole(n json.Number) json.Number {
	text, ok := integer(n.String())
	if !ok || text == n.String() {
		return n
	}
	end := r.dec.InputOffset()
	r.edits = append(r.edits, edit{end - int64(len(n)), end, text})
	return json.Number(text)
}

// edited returns the body with the edits applied.
func (r *reader) edited() []byte {
	data := r.body.data.Bytes()
	if len(r.edits) == 0 {
		return data
	}
	var b bytes.Buffer
	at := int64(0)
	for _, e := range r.edits {
		b.Write(data[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.Write(data[at:])
	return b.Bytes()
}

// maxDigits is the length of the largest int64.
const maxDigits = 19

// integer formats a JSON number without fraction and exponent. It returns false if the number is not an integer, or too
// long for an int64.
func integer(text string) (string, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	exponent := 0
	var err error
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		exponent, err = strconv.Atoi(digits[i+1:])
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true // for any exponent
	}
	significant := strings.TrimRight(digits, "0")
	// An exponent near the limits of int may overflow here, and is refused below.
	zeros := exponent - len(fraction) + len(digits) - len(significant)
	if err != nil || zeros < 0 || zeros > maxDigits-len(significant) {
		return "", false
	}
	sign := ""
	if negative {
		sign = "-"
	}
	return sign + significant + strings.Repeat("0", zeros), true
}
