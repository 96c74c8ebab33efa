package web

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLabelsOfForm checks which labels a form selects: a value may have spaces.
func TestLabelsOfForm(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		" contest=1 ":                        {"contest=1"},
		"contest=1  team=7":                  {"contest=1", "team=7"},
		"contest=Spring 2026 team=Red Foxes": {"contest=Spring 2026", "team=Red Foxes"},
		"note=a = b":                         {"note=a = b"},
		"note=1+1=2 x=":                      {"note=1+1=2", "x="},
		"@rejudging=again":                   {"@rejudging=again"},
		"Foxes":                              {"Foxes"}, // an error that quotes it
	} {
		got := formOf(url.Values{"label": {text}}).query("")["label"]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := formOf(url.Values{"label": {"a=1", "b=2 3"}}).query("")["label"]; !cmp.Equal(got, []string{"a=1", "b=2 3"}) {
		t.Errorf("two parameters: %q", got)
	}
}
