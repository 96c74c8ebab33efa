package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNobodyTakesLayersAway holds that the sandbox is complete in all modes of judged:
// the option to leave a layer out is passed on by engine to sandbox, and named by
// tests only.
func TestNobodyTakesLayersAway(t *testing.T) {
	const option, mayPassItOn = "Without", "internal/engine internal/sandbox"
	seen := 0
	for _, top := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			from := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			ast.Inspect(parsed, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == option {
					seen++
					if !allowed(from, mayPassItOn) {
						t.Errorf("%s: names %s; only tests may take a layer of the sandbox away", path, option)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Errorf("nothing names %s; does the option have another name now?", option)
	}
}
