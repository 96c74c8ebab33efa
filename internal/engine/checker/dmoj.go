package checker

import (
	"bytes"
	"errors"
	"fmt"
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
		case "linecount":
			return countLines, nil
		}
	}
	t := tokens{same: bytes.Equal, prefix: prefix, lines: anyBreaks}
	if err := t.setFlags(flags); err != nil || t.spaces {
		return nil, errors.Join(err, errors.New("checkers of dmoj are easy, sorted, unordered, linecount, and numbers by "+
			"the flags of tolerance"))
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

// countLines compares lines that are not empty, without white space at both ends of them. The score is the fraction of the
// answer's lines that the output has in the same place. An output with more lines is wrong.
func countLines(out, ans *source) *difference {
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	equal, lines, first := int64(0), int64(0), int64(0)
	for {
		a, more := ans.line(seeds)
		o, has := out.line(seeds)
		if has && !more {
			return &difference{message: "the output has more lines than the answer"}
		}
		if !more {
			break
		}
		if lines++; has && o == a {
			equal++
		} else if first == 0 {
			first = lines
		}
	}
	if equal == lines {
		return nil
	}
	return &difference{ratio: float64(equal) / float64(lines),
		message: fmt.Sprintf("%d of %d lines are right; line %d is the first that differs", equal, lines, first)}
}

// line consumes a line that is not empty and returns its hashes, or false at the end. White space at its ends does not
// count. The hashes of white space within it become part of those of the line with the next word.
func (s *source) line(seeds [2]maphash.Seed) (sum multiset, ok bool) {
	if !s.skip(&lineEnds) {
		return sum, false
	}
	var words, gap [2]maphash.Hash
	for i := range seeds {
		words[i].SetSeed(seeds[i])
		gap[i].SetSeed(seeds[i])
	}
	begun, inGap := false, false
	for !s.ended() && !lineEnds[s.unread()[0]] {
		rest, n := s.unread(), 1
		isSpace := space[rest[0]]
		for n < len(rest) && space[rest[n]] == isSpace && !lineEnds[rest[n]] {
			n++
		}
		for i := range words {
			switch {
			case isSpace && begun:
				gap[i].Write(rest[:n])
			case !isSpace:
				if inGap {
					maphash.WriteComparable(&words[i], gap[i].Sum64())
					gap[i].Reset()
				}
				words[i].Write(rest[:n])
			}
		}
		begun, inGap = begun || !isSpace, begun && isSpace
		s.advance(n)
	}
	for i := range words {
		sum[i] = words[i].Sum64()
	}
	return sum, true
}
