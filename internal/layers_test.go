package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "judged/"

// floors reads the map from doc.go: package path below the module -> floor,
// wing by wing upwards. Commands are above all wings.
func floors(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const perWing = 10
	row := regexp.MustCompile(`^//\t(?:([a-z]+) {2,}\S|  ([a-z0-9/ ]+?) +\[(\d)\])`)
	m := map[string]int{"testdata": -1, "configs": -1,
		"cmd/judged-init": 4 * perWing, "cmd/judged": 100, "cmd/judged-demo": 100, "cmd/judged-pack": 100}
	wing := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		switch r := row.FindStringSubmatch(line); {
		case r == nil:
		case r[1] != "":
			wing++
		default:
			floor, err := strconv.Atoi(r[3])
			if err != nil {
				t.Fatal(err)
			}
			for name := range strings.FieldsSeq(r[2]) {
				m["internal/"+name] = wing*perWing + floor
			}
		}
	}
	if wing != 9 || len(m) < 35 {
		t.Fatalf("read %d wings and %d packages from the map in doc.go; keep its form", wing, len(m))
	}
	return m
}

// imports calls f for every import of a package of this module, tests left
// out: they may reach sideways for fixtures.
func imports(t *testing.T, f func(from, to, file string)) {
	t.Helper()
	for _, top := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			from := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			f(from, "", path)
			for _, i := range parsed.Imports {
				to, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					return err
				}
				f(from, to, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func testOnly(pkg string) bool { return strings.HasPrefix(pkg, "internal/testkit") }

func TestImportsGoDown(t *testing.T) {
	floor := floors(t)
	imports(t, func(from, to, file string) {
		if testOnly(from) || from == "internal" {
			return
		}
		here, ok := floor[from]
		if !ok {
			t.Errorf("%s: package %s is not in the map of internal/doc.go", file, from)
			return
		}
		to, ours := strings.CutPrefix(to, module)
		if !ours || testOnly(to) { // TestRestrictedImports says who may
			return
		}
		if there, ok := floor[to]; !ok || there >= here {
			t.Errorf("%s: %s [%d] imports %s [%d]; imports go to lower floors only", file, from, here, to, there)
		}
	})
}

// TestRestrictedImports checks who may import what, and says why nobody else may.
func TestRestrictedImports(t *testing.T) {
	restricted := []struct{ path, only, why string }{
		{"golang.org/x/sys/unix", "internal/base/linux", "system calls have one place"},
		{"github.com/containerd/cgroups", "internal/sandbox/cgroup", "control groups have one place"},
		{"database/sql", "internal/jobs", "one package knows that there is a database"},
		{"modernc.org/sqlite", "internal/jobs", "one package knows which database it is"},
		{"github.com/jackc/pgx", "internal/jobs", "one package knows which database it is"},
		{"github.com/spf13/cobra", "cmd/judged", "commands are the command line's"},
		{"github.com/prometheus/client_golang", "internal/service/metrics", "every metric is declared in one place"},
		{"judged/internal/testkit", "internal/testkit cmd/judged-demo", "it serves tests and the demo"},
		{"text/template", "", "with it the linker keeps every exported method of the program, an eighth of its size"},
		{"html/template", "internal/service/web", "see text/template"},
		{"os/exec", "internal/testkit cmd/judged-demo", "running other programs is the sandbox's job"},
	}
	imports(t, func(from, to, file string) {
		for _, d := range restricted {
			if strings.HasPrefix(to, d.path) && !allowed(from, d.only) {
				t.Errorf("%s: imports %s; only %s may: %s", file, to, d.only, d.why)
			}
		}
	})
}

func allowed(from, only string) bool {
	for o := range strings.FieldsSeq(only) {
		if from == o || strings.HasPrefix(from, o+"/") {
			return true
		}
	}
	return false
}
