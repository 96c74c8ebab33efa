package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/text"
)

// FuzzReport checks that no content of a report, from a contestant or a foreign daemon, controls the terminal or makes
// a line of prose wider than a page.
func FuzzReport(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := api.Report{State: api.State(s), Verdict: api.Verdict(s), Message: s + ".",
			Tests: []api.TestReport{
				{Name: s, Verdict: api.Verdict(s), Checker: &api.CheckReport{Message: s},
					Runs: []api.Run{{Kept: true, Disturbed: []api.Cause{api.Cause(s)}}}},
				{Name: "2", Verdict: api.RuntimeError, Message: s, Exit: &api.Exit{Signal: s}},
			},
			Host: &api.HostReport{Isolation: s, Turbo: s, Doctor: &api.DoctorHost{Failed: []string{s}}}}
		row := true // the table may be wider: its names and verdicts are not cut
		for line := range strings.SplitSeq(report(text.Screen{Width: text.PageWidth}, r), "\n") {
			row = row && line != ""
			if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("line %q is not printable", line)
			}
			if n := utf8.RuneCountInString(line); n > text.PageWidth && (!row || strings.HasPrefix(line, "    ")) {
				t.Errorf("line %q is %d wide", line, n)
			}
		}
	})
}

// FuzzEscapeJSON checks that an escaped document is equivalent and printable.
func FuzzEscapeJSON(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		document, err := json.Marshal(map[string]string{"a": s, s: "b"})
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(document)
		if bytes.ContainsFunc(escaped, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.Valid(escaped) {
			t.Errorf("%q is not printable", escaped)
		}
		var before, after map[string]string
		if err := json.Unmarshal(document, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escaped, &after); err != nil {
			t.Fatalf("%s: %v", escaped, err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

// hostile is text that controls terminals, changes the direction of text, is invalid UTF-8 or breaks tables.
var hostile = []string{
	"plain", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u009b31mC1", "\x9b31m raw C1", "\u202egnp.exe\u202c",
	"\u2066a\u2069", "a\r\nb\tc\v\f",
	"\x00", "\x7f\x08\x08", "\xff\xfe", "\U000e0041 tag", "\u200b\u200d\u2028\u2029\u0085", "\ufeff",
	"</script><script>", strings.Repeat("é", 300),
}
