package judge0

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
)

// TestWords checks that options and arguments are split like in a shell, without expansions.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		" \n":                     nil,
		" -O2  '-Wall'":           {"-O2", "-Wall"},
		`"a b" $HOME *.c \; c\ d`: {"a b", "$HOME", "*.c", ";", "c d"},
	} {
		f := faults{}
		j := jobOf(config.Default(), language{id: "c"}, asked{CompilerOptions: &text, Arguments: &text}, texts{}, f)
		for _, got := range [][]string{j.CompileOptions, j.Tests[0].Args} {
			if diff := cmp.Diff(want, got); diff != "" || len(f) > 0 {
				t.Errorf("%q, faults %v (-want +got)\n%s", text, f, diff)
			}
		}
	}
}
