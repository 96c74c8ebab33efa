package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckLine returns an error unless s has at most that many bytes and can be shown in logs, tables and pages: one line of
// printable UTF-8.
func CheckLine(s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("%d bytes; send at most %d", len(s), most)
	}
	for i, c := range s {
		invalid := c == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError))
		if invalid || control(c) {
			return fmt.Errorf("byte %d of %s cannot be shown; send one line of printable UTF-8", i+1, Quoted(s))
		}
	}
	return nil
}
