package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayReturnIE are functions that return IE as a verdict only: the caller has the report of the test or of its run, which
// says whose fault it is.
var mayReturnIE = []string{"internal/engine/measure.verdictOf"}

// TestEveryInternalErrorHasAFault: an IE is made by the functions of package api that ask whose fault it is. Nothing else
// puts the verdict into a report.
func TestEveryInternalErrorHasAFault(t *testing.T) {
	makers, returned := 0, map[string]bool{}
	for _, root := range []string{"../internal", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			if pkg == "internal/api" {
				return nil
			}
			for _, d := range f.Decls {
				name := pkg
				if fn, ok := d.(*ast.FuncDecl); ok {
					name += "." + fn.Name.Name
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if isCallOf(n, "Fail", "FailedCheck") {
						makers++
					}
					for _, x := range stored(n) {
						if _, isReturn := n.(*ast.ReturnStmt); isReturn && slices.Contains(mayReturnIE, name) {
							returned[name] = true
						} else {
							t.Errorf("%s: an IE without a fault; use Fail or FailedCheck of package api",
								set.Position(x.Pos()))
						}
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if makers < 5 || len(returned) < len(mayReturnIE) {
		t.Errorf("found %d places that make an IE, and of the functions that may return one %v; keep this test current",
			makers, returned)
	}
}

// stored are the uses of api.InternalError that a node stores or returns.
func stored(n ast.Node) []ast.Expr {
	var values []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		values = n.Rhs
	case *ast.ReturnStmt:
		values = n.Results
	case *ast.KeyValueExpr:
		values = []ast.Expr{n.Value}
	case *ast.ValueSpec:
		values = n.Values
	}
	return slices.DeleteFunc(slices.Clone(values), func(x ast.Expr) bool {
		s, ok := x.(*ast.SelectorExpr)
		return !ok || s.Sel.Name != "InternalError"
	})
}

func isCallOf(n ast.Node, names ...string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, s.Sel.Name)
}
