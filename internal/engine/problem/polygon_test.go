package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// TestPolygonJuryTests: programs of the jury have tests, with the verdict that they must give.
func TestPolygonJuryTests(t *testing.T) {
	const (
		validator = `<source path="files/v.cpp" type="cpp.g++17"/>`
		checker   = `<source path="files/check.cpp" type="cpp.g++17"/>`
		inputs    = `<input-path-pattern>files/%02d</input-path-pattern>`
		ofInputs  = `<testset><test-count>3</test-count>` + inputs + `<tests><test verdict="valid"/>` +
			`<test verdict="invalid" testset="tests" group="1"/><test verdict="valid" group="2"/></tests></testset>`
		ofOutputs = `<testset><test-count>2</test-count>` + inputs + `<output-path-pattern>files/%02d.o</output-path-pattern>` +
			`<answer-path-pattern>files/%02d.a</answer-path-pattern><tests><test verdict="wrong-answer"/>` +
			`<test verdict="crashed"/></tests></testset>`
		second = `</validator><validator>` + validator +
			`<testset><input-path-pattern>files/%d.in</input-path-pattern><tests><test verdict="invalid"/></tests></testset>`
	)
	files := pack{"files/01": "1\r\n", "files/02": "2", "files/03": "3", "files/1.in": "x", "files/01.o": "o\r\n",
		"files/01.a": "a", "files/02.o": "", "files/02.a": ""}
	for _, tt := range []struct {
		name                string
		pack                pack
		validator, checker  string   // more of their XML
		tests               []string // names, arguments and contents
		findings, unchecked []string
	}{
		{name: "of the validator", pack: files, validator: ofInputs, tests: []string{"0 valid files/01 [] 1\r\n",
			"0 valid files/03 [--group 2] 3", "0 invalid files/02 [--testset tests --group 1] 2"}},
		{name: "of two validators", pack: files, validator: ofInputs + second, tests: []string{"0 valid files/01 [] 1\r\n",
			"0 valid files/03 [--group 2] 3", "0 invalid files/02 [--testset tests --group 1] 2",
			"1 invalid files/1.in [] x"}},
		{name: "of the checker", pack: files, checker: ofOutputs,
			tests: []string{"1 wrong-answer files/01 1\r\n o\r\n a", "3 crashed files/02 2  "}},
		{name: "in a package of Windows", pack: files.with(pack{"tests/01": "1\r\n"}), validator: ofInputs,
			checker: ofOutputs, tests: []string{"0 valid files/01 [] 1\n", "0 valid files/03 [--group 2] 3",
				"0 invalid files/02 [--testset tests --group 1] 2", "1 wrong-answer files/01 1\n o\n a",
				"3 crashed files/02 2  "},
			findings: []string{"3 files of tests with CRLF line endings; judged with LF"}},
		{name: "without files", pack: files.without("files/02", "files/02.o"), validator: ofInputs, checker: ofOutputs,
			tests: []string{"0 valid files/01 [] 1\r\n", "0 valid files/03 [--group 2] 3",
				"1 wrong-answer files/01 1\r\n o\r\n a"},
			unchecked: []string{"files/02 is missing; it belongs to test 2 of files/v.cpp, which is not run",
				"files/02 is missing; it belongs to test 2 of files/check.cpp, which is not run"}},
		{name: "other numbers and verdicts", pack: files,
			validator: strings.NewReplacer("<test-count>3", "<test-count>4", `verdict="valid" g`, `g`).Replace(ofInputs),
			checker:   strings.Replace(ofOutputs, "crashed", "fail", 1),
			tests: []string{"0 valid files/01 [] 1\r\n", "0 invalid files/02 [--testset tests --group 1] 2",
				"1 wrong-answer files/01 1\r\n o\r\n a"},
			unchecked: []string{"problem.xml lists 3 tests of files/v.cpp, but their test-count is 4",
				`test 3 of files/v.cpp has the unknown verdict "" and is not run; use invalid, valid`,
				`test 2 of files/check.cpp has the unknown verdict "fail" and is not run; use crashed, ok, presentation-error, ` +
					"wrong-answer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, polygonPack.with(tt.pack).with(pack{"problem.xml": strings.NewReplacer(validator,
				validator+tt.validator, checker, checker+tt.checker).Replace(polygonPack["problem.xml"])}).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			content := func(name string) string {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			var got []string
			for i, v := range p.Validators {
				for _, x := range v.Valid {
					got = append(got, fmt.Sprintf("%d valid %s %v %s", i, x.Name, x.ArgsOf(v), content(x.Input)))
				}
				for _, x := range v.Invalid {
					got = append(got, fmt.Sprintf("%d invalid %s %v %s", i, x.Name, x.ArgsOf(v), content(x.Input)))
				}
			}
			for _, x := range p.CheckerTests {
				got = append(got, fmt.Sprintf("%d %s %s %s %s %s", x.Exit, x.Verdict, x.Name, content(x.Input),
					content(x.Output), content(x.Answer)))
			}
			if diff := cmp.Diff(tt.tests, got); diff != "" {
				t.Errorf("tests (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.unchecked, p.Unchecked); diff != "" {
				t.Errorf("unchecked (-want +got)\n%s", diff)
			}
			isUnused := func(f string) bool { return strings.HasSuffix(f, "is not in problem.xml and not used") }
			if diff := cmp.Diff(slices.Concat(tt.findings, tt.unchecked), slices.DeleteFunc(p.Findings, isUnused),
				cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
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
