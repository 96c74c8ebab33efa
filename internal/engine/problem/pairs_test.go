package problem

import (
	"strings"
	"testing"
)

// TestTestsWithoutAnswers checks that inputs without answers are accepted only with an interactor, and only if no input
// has an answer.
func TestTestsWithoutAnswers(t *testing.T) {
	for _, tt := range []struct {
		name        string
		files       []string
		interactive bool
		err         string
	}{
		{"inputs alone", []string{"1.in", "2.in"}, true, ""},
		{"inputs alone, without an interactor", []string{"1.in", "2.in"}, false,
			`2 inputs have no answer: "1.in", "2.in"; add 1.ans and the others`},
		{"one with an answer", []string{"1.in", "1.ans", "2.in"}, true, `input "2.in" has no answer; add 2.ans`},
		{"all with answers", []string{"1.in", "1.ans"}, true, ""},
		{"one answer for two", []string{"input/a.txt", "output/a.out", "input/a.in"}, true,
			"have the same answer \"output/a.out\"; add an answer for each"},
	} {
		tests, err := pair(tt.files, tt.interactive)
		switch {
		case tt.err == "" && (err != nil || len(tests) == 0):
			t.Errorf("%s: %d tests, %v", tt.name, len(tests), err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}
