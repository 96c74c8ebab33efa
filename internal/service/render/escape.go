package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable keeps what programs and platforms say from steering the terminal:
// whatever is no printable character becomes the replacement character. Line
// feeds do too.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// EscapeJSON returns a JSON document that means the same and can be shown on a
// terminal. Package json writes the controls of Latin-1 (U+009B begins a command
// of xterm) and the marks that turn the direction of text as they are.
func EscapeJSON(document []byte) []byte {
	if !bytes.ContainsFunc(document, hiddenInText) {
		return document
	}
	var b bytes.Buffer
	for _, r := range string(document) {
		switch high, low := utf16.EncodeRune(r); {
		case !hiddenInText(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// hidden characters steer, mislead or show nothing. A space is the only white
// space that is not one.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

func hiddenInText(r rune) bool { return r != '\n' && hidden(r) }
