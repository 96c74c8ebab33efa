package checker

import (
	"fmt"
	"strconv"
)

// How much of a side is quoted before and after the difference, within the token or line.
const (
	lookback  = 24 // bytes before, plus one to know that something was omitted
	before    = lookback - 1
	lookahead = 40
)

// difference is the first position at which the sides differ. The pos of each side is that of its first different byte,
// or its end.
type difference struct {
	unit   string     // token, line
	number int64      // of the unit, from 1
	ended  *source    // side that ended before this unit began, if any
	bounds *[256]bool // bytes that end a quotation
	// message replaces the position, where the sides differ in no place.
	message string
	// ratio is the part of the points that the output gets all the same, from 0 to 1.
	ratio float64
}

// describe returns the position of the difference and quotes both sides. Offsets are in bytes from 0.
func (d *difference) describe(out, ans *source) string {
	if d.message != "" {
		return d.message
	}
	place := fmt.Sprintf("%s %d, offset %d", d.unit, d.number, out.offset())
	if out.offset() != ans.offset() {
		place += fmt.Sprintf(" in the output, %d in the answer", ans.offset())
	}
	return place + ": " + d.side(out) + ", " + d.side(ans)
}

// side returns a quotation of one side, or that it has ended.
func (d *difference) side(s *source) string {
	if s == d.ended {
		return s.name + " ends"
	}
	for s.end-s.pos <= lookahead && s.fill() {
	}
	from, cutFront := d.start(s)
	to, cutBack := d.stop(s)
	return s.name + " " + ellipsis(cutFront) + strconv.Quote(string(s.buf[from:to])) + ellipsis(cutBack)
}

func ellipsis(cut bool) string {
	if cut {
		return "…"
	}
	return ""
}

// start returns where the quotation begins, and whether the unit began earlier.
func (d *difference) start(s *source) (from int, cut bool) {
	from = s.pos
	for from > 0 && !d.bounds[s.buf[from-1]] {
		if s.pos-from == before {
			return from, true
		}
		from--
	}
	return from, false
}

// stop returns where the quotation ends, and whether it cuts the unit.
func (d *difference) stop(s *source) (to int, cut bool) {
	to = s.pos
	for to < s.end && !d.bounds[s.buf[to]] {
		if to-s.pos == lookahead {
			return to, true
		}
		to++
	}
	return to, false
}
