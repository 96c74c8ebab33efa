package text

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckLine(t *testing.T) {
	got := map[string]string{}
	for _, s := range []string{"", "fan is new", "café \U0001F600", "\uFFFD", "1234567890123456", "12345678901234567",
		"a\nb", "\x1b[31mred", "\x7f", "\xff", "a\xc3", "\u202Eright", "a\u200Bb", "\u0085", "\u00A0"} {
		got[s] = fmt.Sprint(CheckLine(s, 16))
	}
	shown := func(place int, s string) string {
		return fmt.Sprintf("byte %d of %q cannot be shown; send one line of printable UTF-8", place, s)
	}
	want := map[string]string{"": "<nil>", "fan is new": "<nil>", "café \U0001F600": "<nil>", "\uFFFD": "<nil>",
		"1234567890123456": "<nil>", "12345678901234567": "17 bytes; send at most 16", "a\nb": shown(2, "a\nb"),
		"\x1b[31mred": shown(1, "\x1b[31mred"), "\x7f": shown(1, "\x7f"), "\xff": shown(1, "\xff"),
		"a\xc3":       shown(2, "a\xc3"),
		"\u202Eright": shown(1, "\u202Eright"), "a\u200Bb": shown(2, "a\u200Bb"), "\u0085": shown(1, "\u0085"),
		"\u00A0": shown(1, "\u00A0")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
