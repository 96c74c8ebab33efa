package checker

import "bytes"

// compareExact returns the first byte that differs, or nil.
func compareExact(out, ans *source) *difference {
	line := int64(1)
	for {
		n := common(out, ans)
		line += skipLines(out, ans, n)
		if n > 0 {
			continue
		}
		if out.ended() && ans.ended() {
			return nil
		}
		return &difference{unit: "line", number: line, bounds: &nothing}
	}
}

// compareLines returns the first line that differs in more than the white space at its end, or nil. Only lines of white
// space may follow the end of the shorter side.
func compareLines(out, ans *source) *difference {
	line := int64(1)
	for {
		n := common(out, ans)
		line += skipLines(out, ans, n)
		if n > 0 {
			continue
		}
		// The lines are equal up to here, so only their ends may follow.
		outEnd, ansEnd := lineEnd(out), lineEnd(ans)
		if !outEnd || !ansEnd {
			return &difference{unit: "line", number: line, bounds: &newline}
		}
		outMore, ansMore := nextLine(out), nextLine(ans)
		if outMore && ansMore {
			line++
			continue
		}
		return onlySpace(out, ans, line+1)
	}
}

// onlySpace continues compareLines after at least one side has ended.
func onlySpace(out, ans *source, line int64) *difference {
	rest, shorter := out, ans
	if out.ended() {
		rest, shorter = ans, out
	}
	line += countSkip(rest, &newline)
	if rest.ended() {
		return nil
	}
	return &difference{unit: "line", number: line, ended: shorter, bounds: &newline}
}

// skipLines consumes n bytes that are equal on both sides and returns how many lines
// they end.
func skipLines(out, ans *source, n int) int64 {
	lines := bytes.Count(out.unread()[:n], []byte{'\n'})
	out.advance(n)
	ans.advance(n)
	return int64(lines)
}

// lineEnd skips white space within the line and reports whether the line ends there.
func lineEnd(s *source) bool {
	return !s.skip(&blank) || s.unread()[0] == '\n'
}

// nextLine consumes the newline at pos and reports whether there was one.
func nextLine(s *source) bool {
	if s.ended() {
		return false
	}
	s.advance(1)
	return true
}

// countSkip skips white space and returns how many bytes of it end a line.
func countSkip(s *source, ends *[256]bool) (lines int64) {
	for !s.ended() && space[s.unread()[0]] {
		if ends[s.unread()[0]] {
			lines++
		}
		s.advance(1)
	}
	return lines
}

// The bytes that end a quotation: none in exact, where white space matters; the newline in lines.
var (
	nothing = [256]bool{}
	newline = [256]bool{'\n': true}
)
