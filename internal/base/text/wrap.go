package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrap breaks text at spaces into lines of at most width characters. Lines after the first are indented by
// hang. A word that is longer than a line, such as a long list of CPUs, is split. Unprintable characters become
// spaces, because the text may contain untrusted names, such as those of processes.
func Wrap(text string, width, hang int) []string {
	if utf8.RuneCountInString(text) <= width && utf8.ValidString(text) && !strings.ContainsFunc(text, control) {
		return []string{text}
	}
	var lines []string
	line := ""
	room := func() int { return width - utf8.RuneCountInString(line) }
	flush := func() {
		lines = append(lines, line)
		line = strings.Repeat(" ", hang)
	}
	for i, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || control(c) }) {
		runes := []rune(word)
		if blank := strings.TrimSpace(line) == ""; !blank && room() < len(runes)+1 {
			flush()
		} else if !blank {
			line += " "
		}
		for len(runes) > room() {
			cut := room()
			line += string(runes[:cut])
			runes = runes[cut:]
			flush()
		}
		line += string(runes)
		if i == 0 && hang > 0 && len(runes) < hang {
			// Preserve the column after the first word ("now command").
			line += strings.Repeat(" ", hang-1-len(runes))
		}
	}
	if strings.TrimSpace(line) != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// Printable makes text from programs and platforms safe for a terminal: every character that is not printable, line
// feeds included, becomes the replacement character.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if control(c) {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}

// control reports whether c could control a terminal, mislead a reader, such as a bidirectional control character, or
// is invisible. The space is the only white space that is not such a character.
func control(c rune) bool { return !unicode.IsPrint(c) }

// Quoted formats untrusted text for an error message: quoted and truncated.
func Quoted(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
