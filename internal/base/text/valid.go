package text

import (
	"strings"
	"unicode/utf8"
)

// Valid returns the start of a text of a program as valid UTF-8: with U+FFFD for invalid bytes, and without a character at
// its end of which only a part is there.
func Valid(start []byte) string {
	for i := 1; i <= min(len(start), utf8.UTFMax-1); i++ {
		last := start[len(start)-i:]
		if !utf8.RuneStart(last[0]) {
			continue
		}
		if !utf8.FullRune(last) {
			start = start[:len(start)-i]
		}
		break
	}
	return strings.ToValidUTF8(string(start), "\uFFFD")
}
