package checker

import "bytes"

// tokens compares token by token.
type tokens struct {
	same   func(output, answer []byte) bool // compares two tokens that fit into the buffer
	prefix func(a, b []byte) int            // returns the length of the common prefix of longer tokens
	spaces bool                             // white space must be equal too
	lines  lineBreaks
}

// lineBreaks says which line breaks before a token must be equal on both sides.
type lineBreaks int

const (
	noBreaks  lineBreaks = iota
	anyBreaks            // whether there are any, except before the first token
	allBreaks            // how many there are, so that a token is in the same line
)

// ignoreCase compares text, ignoring the case of ASCII letters. inLines compares tokens that are in the same lines.
var (
	ignoreCase = tokens{same: sameText, prefix: prefixFold}
	inLines    = tokens{same: bytes.Equal, prefix: prefix, lines: allBreaks}
)

// compare returns the first difference, or nil. It skips equal bytes at memory speed and compares only the token after
// them.
func (t tokens) compare(out, ans *source) *difference {
	for number := int64(1); ; number++ {
		number += t.skipEqual(out, ans)
		if t.spaces && !sameSpace(out, ans) {
			return &difference{unit: "white space before token", number: number, bounds: &nothing}
		}
		outMore, ansMore, sameBreaks := t.skip(out, ans)
		switch {
		case !outMore && !ansMore:
			return nil
		case !outMore:
			return &difference{unit: "token", number: number, ended: out, bounds: &space}
		case !ansMore:
			return &difference{unit: "token", number: number, ended: ans, bounds: &space}
		case !sameBreaks && (t.lines == allBreaks || number > 1):
			return &difference{unit: "line break before token", number: number, bounds: &nothing}
		case !t.token(out, ans):
			return &difference{unit: "token", number: number, bounds: &space}
		}
	}
}

// skip consumes white space. It reports whether tokens follow, and whether both sides have the same line breaks in it.
func (t tokens) skip(out, ans *source) (outMore, ansMore, sameBreaks bool) {
	if t.lines == noBreaks {
		return out.skip(&space), ans.skip(&space), true
	}
	ends := &newline
	if t.lines == anyBreaks {
		ends = &lineEnds
	}
	outLines, ansLines := countSkip(out, ends), countSkip(ans, ends)
	sameBreaks = outLines == ansLines || t.lines == anyBreaks && outLines > 0 && ansLines > 0
	return !out.ended(), !ans.ended(), sameBreaks
}

// skipEqual consumes whole tokens that are equal on both sides, with the white space
// after them, and returns how many. Where line breaks count, it leaves the white space after the last one.
func (t tokens) skipEqual(out, ans *source) (tokens int64) {
	n := common(out, ans)
	text := out.unread()[:n]
	for n > 0 && !space[text[n-1]] {
		n--
	}
	for t.lines != noBreaks && n > 0 && space[text[n-1]] {
		n--
	}
	inside := false
	for _, c := range text[:n] {
		if space[c] && inside {
			tokens++
		}
		inside = !space[c]
	}
	if inside { // its white space is left
		tokens++
	}
	out.advance(n)
	ans.advance(n)
	return tokens
}

// sameSpace consumes white space that is equal on both sides and reports whether a token or the end follows on both.
func sameSpace(out, ans *source) bool {
	for {
		o, a := nextSpace(out), nextSpace(ans)
		if o != a || o < 0 {
			return o == a
		}
		out.advance(1)
		ans.advance(1)
	}
}

// nextSpace returns the next byte if it is white space, otherwise -1.
func nextSpace(s *source) int {
	if s.ended() || !space[s.buf[s.pos]] {
		return -1
	}
	return int(s.buf[s.pos])
}

// token consumes one token of each side. If they differ, it leaves the sides at the difference and returns false.
func (t tokens) token(out, ans *source) bool {
	o, oWhole := out.token()
	a, aWhole := ans.token()
	if !oWhole || !aWhole {
		return t.longToken(out, ans)
	}
	ok := t.same(o, a)
	if !ok {
		n := t.prefix(o, a)
		o, a = o[:n], a[:n]
	}
	out.advance(len(o))
	ans.advance(len(a))
	return ok
}

// longToken compares tokens of which at least one exceeds the buffer, as text and in pieces.
func (t tokens) longToken(out, ans *source) bool {
	for {
		o, oWhole := out.token()
		a, aWhole := ans.token()
		n := t.prefix(o, a)
		out.advance(n)
		ans.advance(n)
		oEnds, aEnds := oWhole && n == len(o), aWhole && n == len(a)
		if oEnds && aEnds {
			return true
		}
		if oEnds || aEnds || n < min(len(o), len(a)) {
			return false
		}
	}
}

// sameText reports whether two tokens are equal, ignoring the case of ASCII letters.
func sameText(o, a []byte) bool {
	return len(o) == len(a) && (bytes.Equal(o, a) || prefixFold(o, a) == len(o))
}

// prefixFold returns the length of the common prefix, ignoring the case of ASCII letters.
func prefixFold(o, a []byte) int {
	n := min(len(o), len(a))
	for i := range n {
		if o[i] != a[i] && lower(o[i]) != lower(a[i]) {
			return i
		}
	}
	return n
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
