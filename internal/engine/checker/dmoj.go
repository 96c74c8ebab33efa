package checker

import (
	"bytes"
	"errors"
	"hash/maphash"
)

// parseDMOJ parses the flags that choose a checker of DMOJ: none is the standard one, and flags of numbers are floats.
func parseDMOJ(_ string, flags []string) (comparison, error) {
	if len(flags) == 1 {
		switch flags[0] {
		case "easy":
			return compareEasy, nil
		case "sorted":
			return multisetOf{unit: "lines", ends: &lineEnds}.compare, nil
		case "unordered":
			return multisetOf{unit: "tokens", ends: &space}.compare, nil
		}
	}
	t := tokens{same: bytes.Equal, prefix: prefix, lines: true}
	if err := t.setFlags(flags); err != nil || t.spaces {
		return nil, errors.Join(err, errors.New("checkers of dmoj are easy, sorted, unordered, and numbers by the flags of "+
			"tolerance"))
	}
	return t.compare, nil
}

// compareEasy compares how often each byte occurs, without white space and the case of ASCII letters.
func compareEasy(out, ans *source) *difference {
	if occurrences(out) != occurrences(ans) {
		return &difference{message: "the output has other characters than the answer, or another number of one"}
	}
	return nil
}

func occurrences(s *source) (number [256]int64) {
	for s.skip(&space) {
		for _, c := range s.unread() {
			if !space[c] {
				number[lower(c)]++
			}
		}
		s.advance(len(s.unread()))
	}
	return number
}

var lineEnds = [256]bool{'\n': true, '\r': true}

// multisetOf compares lines or tokens in any order.
type multisetOf struct {
	unit string
	ends *[256]bool // bytes between two of them
}

func (m multisetOf) compare(out, ans *source) *difference {
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	if m.sum(out, seeds) != m.sum(ans, seeds) {
		return &difference{message: "the output has other " + m.unit + " than the answer, in any order"}
	}
	return nil
}

// multiset is the sum of the hashes of its elements: it needs no memory for them. The seeds are not known to the program
// that is judged, so it cannot search for another multiset with the same sum.
type multiset [2]uint64

// sum returns the multiset of the elements that are not empty. The amount of white space within one does not matter.
func (m multisetOf) sum(s *source, seeds [2]maphash.Seed) (all multiset) {
	var h [2]maphash.Hash
	for i := range h {
		h[i].SetSeed(seeds[i])
	}
	write := func(b []byte) {
		for i := range h {
			h[i].Write(b)
		}
	}
	inside, hasWord, gap := false, false, false
	end := func() {
		for i := range h {
			if inside {
				all[i] += h[i].Sum64()
			}
			h[i].Reset()
		}
		inside, hasWord, gap = false, false, false
	}
	for !s.ended() {
		rest, n := s.unread(), 1
		switch c := rest[0]; {
		case m.ends[c]:
			end()
		case space[c]:
			inside, gap = true, hasWord
		default:
			for n < len(rest) && !space[rest[n]] {
				n++
			}
			if gap {
				write([]byte{' '})
			}
			write(rest[:n])
			inside, hasWord, gap = true, true, false
		}
		s.advance(n)
	}
	end()
	return all
}
