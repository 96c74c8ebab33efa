package render

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"judged/internal/base/text"
)

// Printable calls text.Printable.
func Printable(s string) string { return text.Printable(s) }

// EscapeJSON returns an equivalent JSON document that is safe for a terminal.
// encoding/json does not escape the C1 controls (U+009B starts an xterm sequence)
// or the marks that change the direction of text.
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

func hiddenInText(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
