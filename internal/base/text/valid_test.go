package text

import (
	"strings"
	"testing"
)

// TestValid: a cut text has no part of a character at its end, and invalid bytes elsewhere stay visible.
func TestValid(t *testing.T) {
	const whole = "aé€😀"
	for n := range len(whole) + 1 {
		if got := Valid([]byte(whole[:n])); !strings.HasPrefix(whole, got) || len(got) < n-3 {
			t.Errorf("the first %d bytes of %q are %q", n, whole, got)
		}
	}
	for text, want := range map[string]string{
		"":                 "",
		"\xff":             "\uFFFD",
		"a\xff":            "a\uFFFD",
		"a\x80":            "a\uFFFD",
		"\x80\x80\x80\x80": "\uFFFD",
		"\xe2b\xe2\x82":    "\uFFFDb",
		"\xc3\xa9\xc3":     "é",
	} {
		if got := Valid([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
