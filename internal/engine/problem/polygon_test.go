package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineEndings reads a package made on Windows. Its validator, checker and submissions must get LF.
func TestLineEndings(t *testing.T) {
	long := strings.Repeat("x", 4095) // places the CR at the last byte of a buffer of package bufio
	dir := polygonPack.with(pack{"tests/01": "1\r\n\r\n2", "tests/01.a": long + "\r\n" + long + "\rx\r\n",
		"tests/02": "1\n", "tests/02.a": "1\r2\r", "tests/03": "1\r\r\n2\n"}).folder(t)
	p, err := openTest(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := map[string]string{}
	for _, x := range p.Tests {
		for name, path := range map[string]string{x.Name: x.Input, x.Name + ".a": x.Answer} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(b)
		}
	}
	want := map[string]string{"01": "1\n\n2", "01.a": long + "\n" + long + "\rx\n", "02": "1\n", "02.a": "1\r2\r",
		"03": "1\r\n2\n", "03.a": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"3 files of tests with CRLF line endings; judged with LF"},
		p.Findings); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
	if b, err := os.ReadFile(dir + "/tests/01"); err != nil || string(b) != "1\r\n\r\n2" {
		t.Errorf("the setter's own file is now %q, %v", b, err)
	}
}

// TestRecipes reads a standard package. Each command runs once, however many files it writes.
func TestRecipes(t *testing.T) {
	standard := polygonPack.with(pack{"files/gen.py": "", "files/files.cpp": "", "problem.xml": strings.NewReplacer(
		`<tests><test group="0" points="0"/><test group="1" points="40"/><test group="1" points="60"/></tests>`,
		`<tests><test/><test cmd='gen.exe  -a "b  c"' from-file="x"/><test cmd='gen.exe  -a "b  c"' from-file="y"/></tests>`,
	).Replace(polygonPack["problem.xml"])}).without("tests/01.a", "tests/02", "tests/02.a", "tests/03", "tests/03.a")
	p, err := openTest(t, standard.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var got []string
	for _, r := range p.Recipes {
		text := fmt.Sprintf("%s %s %q ready=%v %s%s %s<-%s", r.Test, r.Command, r.Run.Program.Args, r.Ready,
			r.Run.InputFile, r.Run.OutputFile, r.Run.Program.Language, filepath.Base(r.Input))
		for _, x := range r.Products {
			text += fmt.Sprintf(" %q=%s", x.Name, filepath.Base(x.Path))
		}
		got = append(got, text)
	}
	want := []string{`02 gen.exe  -a "b  c" ["-a" "b  c"] ready=true  python<-. "x"=02 "y"=03`,
		`01 solutions/a.py [] ready=true sum.insum.out python<-01 ""=01.a`,
		`02 solutions/a.py [] ready=false sum.insum.out python<-02 ""=02.a`,
		`03 solutions/a.py [] ready=false sum.insum.out python<-03 ""=03.a`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		pack pack
		want string
	}{
		{"unknown generator", standard.without("files/gen.py"), `0 sources in files/ have the name "gen"`},
		{"two generators", standard.with(pack{"files/gen.cpp": ""}), `2 sources in files/ have the name "gen"`},
		{"no main solution", standard.with(pack{"problem.xml": strings.Replace(standard["problem.xml"], `tag="main"`,
			`tag="accepted"`, 1)}), "problem.xml has no solution with the tag main"},
		{"no command", standard.without("tests/01"), `input "01" is missing and problem.xml has no command`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := openTest(t, tt.pack.folder(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestPolygonValidatorArgs: validators get the testset and the group of each test, as Polygon gives them.
func TestPolygonValidatorArgs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new string // in problem.xml
		want     []string
	}{
		{"groups", "", "", []string{"--testset tests --group 0", "--testset tests --group 1", "--testset tests --group 1"}},
		{"a test without a group", `<test group="1" points="40"/><test group="1" points="60"/>`, `<test/><test/>`,
			[]string{"--testset tests --group 0", "--testset tests --group ", "--testset tests --group "}},
		{"another name", `<testset name="tests">`, `<testset name="final">`,
			[]string{"--testset final --group 0", "--testset final --group 1", "--testset final --group 1"}},
		{"no name", ` name="tests"`, "", []string{"--group 0", "--group 1", "--group 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"], tt.old,
				tt.new, 1)}).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var got []string
			for _, x := range p.Tests {
				got = append(got, strings.Join(x.ArgsOf(p.Validators[0]), " "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestPolygonValidatorTests: the validator must accept or reject its own tests.
func TestPolygonValidatorTests(t *testing.T) {
	const (
		source  = `<source path="files/v.cpp" type="cpp.g++17"/>`
		testset = `<testset><test-count>3</test-count><input-path-pattern>files/tests/%02d</input-path-pattern><tests>` +
			`<test verdict="valid"/><test verdict="invalid" testset="tests" group="1"/><test verdict="valid" group="2"/>` +
			`</tests></testset>`
	)
	files := pack{"files/tests/01": "1\r\n", "files/tests/02": "2", "files/tests/03": "3"}
	for _, tt := range []struct {
		name           string
		pack           pack
		xml            string   // of the validator
		valid, invalid []string // names, arguments and contents
		findings       []string
	}{
		{"as they are", files, source + testset, []string{"files/tests/01 [] 1\r\n", "files/tests/03 [--group 2] 3"},
			[]string{"files/tests/02 [--testset tests --group 1] 2"}, nil},
		{"in a package of Windows", files.with(pack{"tests/01": "1\r\n"}), source + testset,
			[]string{"files/tests/01 [] 1\n", "files/tests/03 [--group 2] 3"},
			[]string{"files/tests/02 [--testset tests --group 1] 2"},
			[]string{"2 files of tests with CRLF line endings; judged with LF"}},
		{"missing", files.without("files/tests/02", "files/tests/03"), source + testset,
			[]string{"files/tests/01 [] 1\r\n"}, nil,
			[]string{"files/tests/02 is missing; it is a test of the validator, which is not run",
				"files/tests/03 is missing; it is a test of the validator, which is not run"}},
		{"other verdict", files.without("files/tests/02", "files/tests/03"),
			source + `<testset><input-path-pattern>files/tests/%02d</input-path-pattern><tests><test/></tests></testset>`,
			nil, nil, []string{`unsupported: tests of the validator with the verdict ""`}},
		{"of two validators", files, source + testset + `</validator><validator>` + source, nil, nil,
			[]string{"unsupported: tests of files/v.cpp; they are not run"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, polygonPack.with(tt.pack).with(pack{
				"problem.xml": strings.Replace(polygonPack["problem.xml"], source, tt.xml, 1)}).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			texts := func(tests []Test) (texts []string) {
				for _, x := range tests {
					b, err := os.ReadFile(x.Input)
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, fmt.Sprintf("%s %v %s", x.Name, x.ArgsOf(p.Validators[0]), b))
				}
				return texts
			}
			got := [][]string{texts(p.ValidInputs), texts(p.InvalidInputs), p.Findings}
			if diff := cmp.Diff([][]string{tt.valid, tt.invalid, tt.findings}, got); diff != "" {
				t.Errorf("valid, invalid, findings (-want +got)\n%s", diff)
			}
		})
	}
}

// TestPolygonResources: submissions are compiled with the resources of their language.
func TestPolygonResources(t *testing.T) {
	file := func(attributes, stages, assets string) string {
		return `<file path="files/` + attributes + `><stages>` + stages + `</stages><assets>` + assets + `</assets></file>`
	}
	const compile, run, solution = `<stage name="compile"/>`, `<stage name="run"/>`, `<asset name="solution"/>`
	for _, tt := range []struct {
		name, resource string
		includes       map[string][]string
		want           string // findings, or an error
	}{
		{"of all types", file(`a.h"`, compile, solution), map[string][]string{"": {"a.h"}}, ""},
		{"without a stage", file(`a.h"`, "", solution), map[string][]string{"": {"a.h"}}, ""},
		{"twice", file(`a.h"`, compile, solution) + file(`a.h" for-types="*"`, compile+run, solution),
			map[string][]string{"": {"a.h"}}, ""},
		{"of two types", file(`a.h" for-types="cpp.*; java.*"`, compile, solution),
			map[string][]string{"cpp": {"a.h"}, "java": {"a.h"}}, ""},
		{"of versions", file(`a.h" for-types="cpp.g++17:cpp.g++20"`, compile, solution),
			map[string][]string{"cpp": {"a.h"}}, ""},
		{"of another type", file(`a.h" for-types="cobol.*"`, compile, solution), nil,
			"unsupported: resource files/a.h for the type cobol"},
		{"for the run", file(`a.txt"`, run, solution), nil,
			"unsupported: resource files/a.txt, as submissions get resources only for compiling"},
		{"headers of the jury", file(`a.h"`, compile, `<asset name="checker"/><asset name="validator"/>`), nil, ""},
		{"data of the jury", file(`a.txt"`, run, `<asset name="checker"/>`), nil,
			"unsupported: resource files/a.txt of the checker; programs of the jury get only headers"},
		{"missing", file(`b.h"`, compile, solution), nil,
			`resource "files/b.h" in problem.xml is missing; download the package again`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := `<files><resources><file path="files/a.txt"/>` + tt.resource + `</resources></files><assets>`
			p, err := openTest(t, polygonPack.with(pack{"files/a.h": "", "files/a.txt": "",
				"problem.xml": strings.Replace(polygonPack["problem.xml"], "<assets>", files, 1)}).folder(t))
			if err != nil {
				if tt.want == "" || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			var got map[string][]string
			for language, files := range p.Includes {
				if got == nil {
					got = map[string][]string{}
				}
				for _, f := range files {
					got[language] = append(got[language], f.Name)
				}
			}
			if diff := cmp.Diff(tt.includes, got); diff != "" {
				t.Errorf("includes (-want +got)\n%s", diff)
			}
			if said := strings.Join(p.Findings, "\n"); said != tt.want {
				t.Errorf("findings %q, want %q", said, tt.want)
			}
		})
	}
}
