package engine

import (
	"io"
	"path/filepath"
	"testing"

	"judged/internal/engine/jury"
	"judged/internal/engine/problem"
)

// TestMissingProducts: a program that does not write a file of a test makes no test, whether the file has a name of the
// package or is the output file of submissions.
func TestMissingProducts(t *testing.T) {
	for _, tt := range []struct{ product, want string }{
		{"2.in", `"gen" did not write the file "2.in"`},
		{"", `"gen" did not write the file "out"`},
	} {
		r := problem.Recipe{Command: "gen", Run: jury.Work{OutputFile: "out"},
			Products: []problem.Product{{Name: tt.product, Path: filepath.Join(t.TempDir(), "made")}}}
		err := copyProducts(r, func(string) (io.Reader, error) { return nil, nil })
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.product, err, tt.want)
		}
	}
}
