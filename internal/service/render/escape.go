package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable makes text from programs and platforms safe for a terminal: every
// character that is not printable, line feeds included, becomes the replacement
// character.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

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

// hidden reports characters that control the terminal, mislead the reader or are
// invisible. The space is the only white space that is not hidden.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

func hiddenInText(r rune) bool { return r != '\n' && hidden(r) }
