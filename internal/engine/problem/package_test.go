package problem

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// pack maps the names of a package's files to their content. Content that begins with -> is a symbolic link.
type pack map[string]string

func (p pack) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range p {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(content, "->"); ok && err == nil {
			err = os.Symlink(target, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with adds files to a package.
func (p pack) with(more pack) pack {
	all := pack{}
	for _, m := range []pack{p, more} {
		for name, content := range m {
			all[name] = content
		}
	}
	return all
}

// without removes files of a package.
func (p pack) without(names ...string) pack {
	all := p.with(nil)
	for _, name := range names {
		delete(all, name)
	}
	return all
}

func (p pack) zip(t testing.TB, folder string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range p {
		h := &zip.FileHeader{Name: folder + name}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			h.SetMode(os.ModeSymlink | 0o777)
			content = target
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return written(t, b.Bytes())
}

func (p pack) tar(t testing.TB, compress bool) string {
	t.Helper()
	var b, z bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range p {
		err := w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(content))})
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !compress {
		return written(t, b.Bytes())
	}
	g := gzip.NewWriter(&z)
	if _, err := g.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return written(t, z.Bytes())
}

// zipOf and tarOf return archives with the entries in that order.
func zipOf(t testing.TB, headers ...zip.FileHeader) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range headers {
		w, err := z.CreateHeader(&h)
		if err == nil {
			_, err = w.Write([]byte(h.Comment))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return written(t, b.Bytes())
}

func tarOf(t testing.TB, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return written(t, b.Bytes())
}

// zipLink returns an entry that is a symbolic link. The comment of an entry is its content.
func zipLink(name, target string) zip.FileHeader {
	h := zip.FileHeader{Name: name, Comment: target}
	h.SetMode(os.ModeSymlink | 0o777)
	return h
}

func written(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "package")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	legacyPack = pack{"problem.yaml": "name: Sum\nvalidator_flags: case_sensitive float_tolerance 1e-6\n" +
		"limits:\n  memory: 64\n",
		".timelimit": "1.5\n", "data/sample/1.in": "1", "data/sample/1.ans": "1",
		"data/secret/10.in": "", "data/secret/10.ans": "", "data/secret/2.in": "", "data/secret/2.ans": "",
		"input_validators/check.py": "", "submissions/accepted/a.cpp": "", "submissions/wrong_answer/w.py": "",
		"submissions/time_limit_exceeded/slow/Main.java": "// @EXPECTED_RESULTS@: TIMELIMIT, WRONG-ANSWER"}
	kattisPack = pack{"problem.yaml": "problem_format_version: 2025-09\ntype: [scoring]\nname: {en: Points, sv: Poäng}\n" +
		"uuid: x\nlimits: {time_limit: 2, time_multipliers: {ac_to_time_limit: 3}}\n",
		"data/sample/s.in": "", "data/sample/s.ans": "",
		"data/secret/1/a.in": "", "data/secret/1/a.ans": "", "data/secret/1/more/b.in": "",
		"data/secret/1/more/b.ans":      "",
		"data/secret/1/test_group.yaml": "max_score: 30\n",
		"data/secret/2/c.in":            "", "data/secret/2/c.ans": "", "data/secret/2/d.in": "",
		"data/secret/2/d.ans":           "",
		"data/secret/2/test_group.yaml": "max_score: 70\nscore_aggregation: sum\nrequire_pass: secret/1\n",
		"data/invalid_input/i.in":       "", "output_validator/validate.py": "", "output_visualizer/v.py": "",
		"submissions/accepted/a.py": "", "submissions/partial/p.py": "",
		"submissions/submissions.yaml": "partial/p.{py,cpp}:\n  score: [30, 65]\n  secret/1: {permitted: [AC]}\n"}
	polygonPack = pack{"problem.xml": `<?xml version="1.0"?><problem><names><name language="english" value="Sum"/></names>
<judging input-file="sum.in" output-file="sum.out">
<testset name="tests"><time-limit>1500</time-limit><memory-limit>268435456</memory-limit>
<test-count>3</test-count><input-path-pattern>tests/%02d</input-path-pattern>
<answer-path-pattern>tests/%02d.a</answer-path-pattern>
<tests><test group="0" points="0"/><test group="1" points="40"/><test group="1" points="60"/></tests>
<groups><group name="0" points-policy="each-test"/><group name="1" points-policy="complete-group">
<dependencies><dependency group="0"/></dependencies></group></groups></testset></judging>
<assets><checker type="testlib"><source path="files/check.cpp" type="cpp.g++17"/></checker>
<validators><validator><source path="files/v.cpp" type="cpp.g++17"/></validator></validators>
<solutions><solution tag="main"><source path="solutions/a.py" type="python.3"/></solution>
<solution tag="time-limit-exceeded"><source path="solutions/slow.cpp" type="cpp.g++17"/></solution></solutions></assets>
</problem>`, "files/check.cpp": "", "files/testlib.h": "", "files/v.cpp": "",
		"solutions/a.py": "", "solutions/slow.cpp": "",
		"tests/01": "", "tests/01.a": "", "tests/02": "", "tests/02.a": "", "tests/03": "", "tests/03.a": ""}
)

// summary holds what the tests compare.
type summary struct {
	Format      api.ProblemFormat
	Name        string
	Time        time.Duration
	Rule        TimeRule
	Tests       []string
	Groups      []string
	Checker     string
	Interactive bool
	Files       string // used instead of stdin and stdout
	Validators  []string
	Submissions []string
	Findings    []string
}

func summarize(p *Package) summary {
	s := summary{Format: p.Format, Name: p.Name, Time: p.Limits.Time, Rule: p.TimeRule, Tests: p.Scheme.Tests(),
		Interactive: p.Interactor != nil,
		Files:       strings.TrimSpace(p.InputFile + " " + p.OutputFile), Findings: p.Findings, Checker: p.Checker.Kind}
	if c := p.Checker; c.Program != nil {
		s.Checker += fmt.Sprint(" ", c.Program.Name, " ", c.Program.Language, " ", len(c.Program.Files))
	} else {
		s.Checker = strings.Join(append([]string{c.Kind}, c.Args...), " ")
	}
	var add func(g *api.Group)
	add = func(g *api.Group) {
		most := "unbounded"
		if g.MaxScore != nil {
			most = fmt.Sprint(*g.MaxScore)
		}
		s.Groups = append(s.Groups, fmt.Sprintf("%q %s %s %s %v continue=%v", g.Name, g.Aggregation, g.Verdict, most,
			g.RequirePass, g.Continue))
		for _, m := range g.Members {
			if m.Group != nil {
				add(m.Group)
			}
		}
	}
	add(p.Scheme.Root)
	for _, v := range p.Validators {
		s.Validators = append(s.Validators, fmt.Sprint(v.Program.Name, " ", v.Program.Language, " ", v.OK))
	}
	for _, x := range p.Submissions {
		s.Submissions = append(s.Submissions, fmt.Sprintf("%s %s %+v lower=%v upper=%v", x.Name, x.Language,
			x.Expected, x.Lower, x.Upper))
	}
	return s
}

func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name string
		path string
		want summary
	}{
		{"legacy", legacyPack.folder(t), summary{Format: Legacy, Name: "Sum", Time: 1500 * time.Millisecond,
			Rule: TimeRule{5, 2, time.Second}, Tests: []string{"sample/1", "secret/10", "secret/2"},
			Groups: []string{`"" sum worst_error unbounded [] continue=false`,
				`"sample" sum worst_error unbounded [] continue=false`,
				`"secret" sum worst_error unbounded [] continue=false`},
			Checker:    "kattis case_sensitive float_tolerance 1e-6",
			Validators: []string{"input_validators/check.py python 42"},
			Submissions: []string{
				"submissions/accepted/a.cpp cpp" +
					" [{Tests: Permitted:[AC] Required:[] Final:[] Score:<nil> Message:}] lower=true upper=false",
				"submissions/time_limit_exceeded/slow java" +
					" [{Tests: Permitted:[] Required:[] Final:[TLE WA] Score:<nil> Message:}] " +
					"lower=false upper=false",
				"submissions/wrong_answer/w.py python" +
					" [{Tests: Permitted:[] Required:[] Final:[WA] Score:<nil> Message:}] " +
					"lower=false upper=false"}}},
		{"2025-09", kattisPack.folder(t), summary{Format: Kattis, Name: "Points", Time: 2 * time.Second,
			Rule:  TimeRule{3, 1.5, time.Second},
			Tests: []string{"sample/s", "secret/1/a", "secret/1/more/b", "secret/2/c", "secret/2/d"},
			Groups: []string{`"" sum by_score unbounded [] continue=true`,
				`"sample" sum first_error unbounded [] continue=false`, `"secret" sum by_score 100 [] continue=true`,
				`"secret/1" pass-fail by_score 30 [] continue=false`,
				`"secret/2" sum by_score 70 [secret/1] continue=true`},
			Checker: "icpc output_validator/validate.py python 1",
			Submissions: []string{
				"submissions/accepted/a.py python" +
					" [{Tests: Permitted:[AC] Required:[] Final:[] Score:<nil> Message:}] " +
					"lower=true upper=false",
				"submissions/partial/p.py python [SCORE] lower=false upper=false"},
			Findings: []string{"unsupported: output_visualizer"}}},
		{"polygon", polygonPack.folder(t), summary{Format: Polygon, Name: "Sum", Time: 1500 * time.Millisecond,
			Rule: TimeRule{2, 1, time.Second}, Tests: []string{"01", "02", "03"},
			Groups: []string{`"" sum by_score unbounded [] continue=true`,
				`"0" sum by_score unbounded [] continue=true`,
				`"1" pass-fail by_score 100 [0] continue=false`},
			Checker: "testlib files/check.cpp cpp 2", Files: "sum.in sum.out", Validators: []string{"files/v.cpp cpp 0"},
			Submissions: []string{
				"solutions/a.py python" +
					" [{Tests: Permitted:[] Required:[] Final:[AC] Score:<nil> Message:}] lower=true upper=false",
				"solutions/slow.cpp cpp [{Tests: Permitted:[] Required:[] Final:[TLE] Score:<nil> Message:}] " +
					"lower=false upper=true"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.path)
			if err != nil {
				t.Fatal(err)
			}
			got := summarize(p)
			for i, s := range p.Submissions {
				for _, e := range s.Expected {
					if e.Score != nil {
						if diff := cmp.Diff([2]float64{30, 65}, *e.Score); diff != "" {
							t.Error(diff)
						}
						got.Submissions[i] = s.Name + " " + s.Language + " [SCORE] lower=false upper=false"
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestVersion: the version of a package is the same for all containers, and changes with each byte of the content.
func TestVersion(t *testing.T) {
	versions := map[string]bool{}
	for _, path := range []string{legacyPack.folder(t), legacyPack.zip(t, ""), legacyPack.zip(t, "sum/"),
		legacyPack.tar(t, false),
		legacyPack.tar(t, true), legacyPack.with(pack{".git/config": "x", "__MACOSX/._a": "x"}).folder(t)} {
		t.Setenv("TMPDIR", t.TempDir())
		p, err := openTest(t, path)
		if err != nil {
			t.Fatal(err)
		}
		versions[p.Version] = true
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if len(versions) != 1 {
		t.Errorf("versions %v, want one", versions)
	}
	p, err := openTest(t, legacyPack.with(pack{"data/secret/2.ans": "x"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	if versions[p.Version] {
		t.Error("another content has the same version")
	}
}

// TestUnsupported: unsupported features are findings.
func TestUnsupported(t *testing.T) {
	for _, tt := range []struct {
		name string
		more pack
		want string
	}{
		{"unknown key", pack{"problem.yaml": "colour: red"}, `unknown key "colour" in problem.yaml`},
		{"unknown limit", pack{"problem.yaml": "limits: {speed: 3}"}, `unknown key "speed" in problem.yaml: limits`},
		{"key twice", pack{"problem.yaml": "name: x\nlimits: {memory: 1, output: 2, memory: 3}\nname: y"},
			`problem.yaml: line 1: duplicate key "name"; the last one is used`},
		{"key twice in a mapping", pack{"problem.yaml": "name: x\nlimits: {memory: 1, output: 2, memory: 3}\nname: y"},
			`problem.yaml: line 2: duplicate key "memory"`},
		{"key of another version", pack{"problem.yaml": "limits: {time_limit: 3}"},
			"problem.yaml: limits: time_limit is not a key of the format legacy; judged uses it if possible"},
		{"key of another version, of another type", pack{"problem.yaml": "limits: {time_multipliers: 3}"},
			"problem.yaml: limits: time_multipliers is not used: line 1: \"3\" has no keys; write a mapping"},
		{"key of another version, out of range", pack{"problem.yaml": "limits: {time_multipliers: {ac_to_time_limit: -1}}"},
			"problem.yaml: limits: time_multipliers: ac_to_time_limit is not used: -1 is out of range"},
		{"time limit between multiples", pack{
			"problem.yaml": "problem_format_version: 2025-09\nlimits: {time_limit: 0.3, time_resolution: 0.2}"},
			"problem.yaml: limits: time_limit 300.0 ms is no multiple of time_resolution 200.0 ms"},
		{"passes without multi-pass",
			pack{"problem.yaml": "problem_format_version: 2025-09\nlimits: {validation_passes: 3}"},
			"problem.yaml: limits: validation_passes has no effect, because type is not multi-pass"},
		{"key of legacy", pack{"problem.yaml": "problem_format_version: 2025-09\nvalidation: custom\n",
			"output_validator/v.py": ""}, "problem.yaml: validation is not a key of the format 2025-09"},
		{"submit-answer", pack{"problem.yaml": "type: submit-answer"}, "unsupported: type submit-answer"},
		{"arguments for outputs", pack{"problem.yaml": "problem_format_version: 2025-09\ntype: submit-answer",
			"data/secret/2.yaml": "args: [a]"},
			"unsupported: args of tests in a submit-answer problem, such as those of secret/2"},
		{"constants", pack{"problem.yaml": "constants: {n: 5}"}, `unknown key "constants" in problem.yaml`},
		{"default and custom", pack{"problem.yaml": "validation: default custom", "output_validators/v.py": ""},
			"problem.yaml: validation: default and custom exclude each other; judged uses the output validator"},
		{"samples that are ignored too late", pack{"problem.yaml": "type: scoring",
			"data/secret/testdata.yaml": "grader_flags: ignore_sample"},
			"data/secret/testdata.yaml: ignore_sample has an effect only in data/testdata.yaml"},
		{"graders", pack{"graders/g.py": ""}, "graders is not used, because no group sets grading: custom"},
		{"grader flags", pack{"data/secret/testdata.yaml": "grader_flags: sum best"}, "unsupported: grader_flags: best"},
		{"output without an answer", pack{"data/valid_output/a.in": "", "data/valid_output/a.out": ""},
			"data/valid_output/a.in has no .ans or no .out next to it"},
		{"unknown tag", pack{"submissions/accepted/a.cpp": "// @EXPECTED_RESULTS@: CORRECT, FAST"},
			`submissions/accepted/a.cpp: unknown result "FAST" after @EXPECTED_RESULTS@`},
		{"tag without a result", pack{"submissions/accepted/a.cpp": "// @EXPECTED_RESULTS@: ???"},
			`submissions/accepted/a.cpp: unknown result "???" after @EXPECTED_RESULTS@`},
		{"tag that contradicts the folder", pack{"submissions/accepted/a.cpp": "// @EXPECTED_RESULTS@: TIMELIMIT"},
			"submissions/accepted/a.cpp: its tag expects TLE, and its folder AC; the tag is used"},
		{"two tags", pack{"submissions/accepted/a.cpp": "@EXPECTED_RESULTS@: CORRECT\n@EXPECTED_SCORE@: TIMELIMIT"},
			"submissions/accepted/a.cpp: more than one @EXPECTED_SCORE@; the first is used"},
		{"score that cannot be read", pack{"submissions/accepted/a.cpp": "// @EXPECTED_SCORE@: nan"},
			`submissions/accepted/a.cpp: "nan" in @EXPECTED_SCORE@ is not a number of points`},
		{"objective", pack{"problem.yaml": "grading: {objective: min}"}, "unsupported: grading.objective min"},
		{"two validators", pack{"problem.yaml": "validation: custom", "output_validators/a.py": "",
			"output_validators/b.py": ""},
			"unsupported: more than one output validator; only output_validators/a.py is used"},
		{"output validator in the folder of legacy", pack{"problem.yaml": "problem_format_version: 2025-09",
			"output_validators/v/v.py": ""},
			"output_validators is not a folder of the format 2025-09, which has output_validator; judged uses it"},
		{"interactor in the folder of legacy", pack{
			"problem.yaml": "problem_format_version: 2025-09\ntype: interactive", "output_validators/v/v.py": ""},
			"output_validators is not a folder of the format 2025-09, which has output_validator; judged uses it"},
		{"code that starts the submission", pack{"include/python3/__main__.py": "", "include/cpp/main.cpp": ""},
			"unsupported: include/python3/__main__.py as the start of a program; submissions start with their own source"},
		{"code for all languages that starts the submission", pack{"include/default/main.js": "", "include/c/main.c": ""},
			"unsupported: include/default/main.js as the start of a program; submissions start with their own source"},
		{"files of tests of another version", pack{"data/secret/2.files/x": ""}, "data/secret/2.files/x is not used"},
		{"subfolders in files of tests", pack{"problem.yaml": "problem_format_version: 2025-09",
			"data/secret/2.files/a/b": ""},
			"unsupported: subfolders in files of tests, such as data/secret/2.files/a/b"},
		{"arguments of an unknown validator", pack{"problem.yaml": "problem_format_version: 2025-09",
			"data/secret/2.yaml": "input_validator_args: {other: [a]}"},
			`data/secret/2.yaml: input_validator_args: unknown validator "other"`},
		{"tests of Windows", pack{"data/secret/2.in": "1\r\n", "data/secret/2.ans": "1\r\n2\r\n"},
			"2 files of tests with CRLF line endings; programs get them unchanged"},
		{"byte order mark", pack{"data/secret/2.in": "\xef\xbb\xbf1\n"},
			"1 file of tests with a byte order mark (BOM); programs get it unchanged"},
		{"special compare", pack{domjudgeFile: "special_compare='cmp'"}, "unsupported: special_compare in " +
			domjudgeFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, legacyPack.with(tt.more).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			if found := strings.Join(p.Findings, "\n"); !strings.Contains(found, tt.want) {
				t.Errorf("findings %q, want one with %q", found, tt.want)
			}
		})
	}
}

// TestRefused checks that invalid packages are refused, and that no files remain.
func TestRefused(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1,
			c-1, c-1, c-1)
	}
	many, folders := pack{"problem.yaml": "name: x"}, make([]tar.Header, maxEntries+1)
	for i := range maxEntries {
		many[fmt.Sprint("data/secret/", i)] = ""
	}
	for i := range folders { // the folders are not created
		folders[i] = tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("data/%d/", i), Mode: 0o755}
	}
	many5 := make([]zip.FileHeader, 100_000)
	for i := range many5 {
		many5[i].Name = fmt.Sprintf("%0120d", i)
	}
	elsewhere := t.TempDir()
	entity := `<!DOCTYPE p [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><problem><names><name value="&b;"/></names></problem>`
	for _, tt := range []struct {
		name, path, want string
	}{
		{"absent", "/does/not/exist", "give a folder or an archive"},
		{"no package", pack{"README": ""}.folder(t), "no problem.yaml, problem.xml, "},
		{"two packages", pack{"b/task.yaml": "", "a/data/secret/1.in": ""}.zip(t, ""),
			`at the top, but there is "b/task.yaml"; give that folder, or an archive of it`},
		{"unknown flag of the default output validator", legacyPack.with(pack{
			"problem.yaml": "name: x\nvalidator_flags: case_insensitive\n"}).folder(t), `unknown flag "case_insensitive": use`},
		{"unknown type", legacyPack.with(pack{"problem.yaml": "type: scorin\n"}).folder(t),
			`read problem.yaml: type: "scorin" is unknown; use pass-fail`},
		{"unknown validation", legacyPack.with(pack{"problem.yaml": "validation: costum\n"}).folder(t),
			`read problem.yaml: validation: "costum" is unknown; use default`},
		{"points of the default comparison", legacyPack.with(pack{"problem.yaml": "type: scoring\nvalidation: score\n"}).
			folder(t), "validation: score needs custom, as the default comparison gives no points"},
		{"version without a value", kattisPack.with(pack{"problem.yaml": "problem_format_version:\nname: x\n"}).folder(t),
			"read problem.yaml: problem_format_version: has no value"},
		{"half a pass", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\ntype: multi-pass\n" +
			"limits: {validation_passes: 2.5}"}).folder(t), "limits: validation_passes: 2.5 is not a whole number"},
		{"time limit of DOMjudge", legacyPack.with(pack{domjudgeFile: "timelimit =\n"}).folder(t),
			`domjudge-problem.ini: time limit "" is not a number of seconds from 0.001`},
		{"time limit of DOMjudge of less than a millisecond", legacyPack.with(pack{timeLimitFile: "0.0005\n"}).folder(t),
			`.timelimit: time limit "0.0005" is not a number of seconds from 0.001`},
		{"time limit of less than a millisecond", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"limits: {time_limit: 0.0005}"}).folder(t), "time_limit: 0.0005 seconds are less than a millisecond"},
		{"time resolution of nothing", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"limits: {time_resolution: 1e-10}"}).folder(t), "time_resolution: 1e-10 seconds are less than a millisecond"},
		{"memory limit of nothing", legacyPack.with(pack{"problem.yaml": "limits: {memory: 1e-9}"}).folder(t),
			"limits: memory: 1e-09 times 1MiB is less than a byte"},
		{"factor below 1", legacyPack.with(pack{"problem.yaml": "limits: {time_multiplier: 0.5}"}).folder(t),
			"limits: time_multiplier: 0.5 is less than 1"},
		{"factor of a newer version below 1", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"limits: {time_multipliers: {time_limit_to_tle: 0.9}}"}).folder(t),
			"limits: time_multipliers: time_limit_to_tle: 0.9 is less than 1"},
		{"zip slip", legacyPack.with(pack{"../evil": "x"}).zip(t, ""), `entry "../evil": invalid name`},
		{"absolute name", legacyPack.with(pack{"/etc/evil": "x"}).zip(t, ""), `entry "/etc/evil": invalid name`},
		{"tar slip", legacyPack.with(pack{"../evil": "x"}).tar(t, true), `invalid name`},
		{"link out of an archive", legacyPack.with(pack{"data/secret/2.in": "->/etc/passwd"}).zip(t, ""),
			"leads out of the package"},
		{"inputs without answers", legacyPack.with(pack{"data/sample/9.in": "", "data/secret/a/1.in": "",
			"data/secret/a/2.in": "", "data/secret/a/3.in": "", "data/secret/b/1.in": "", "data/secret/b/2.in": "",
			"data/secret/b/3.in": ""}).folder(t), `7 inputs have no answer: "data/sample/9.in", "data/secret/a/1.in", ` +
			`"data/secret/a/2.in", "data/secret/a/3.in", "data/secret/b/1.in" and 2 more; add data/sample/9.ans and the others`},
		{"test of sinol-make that is a link to nothing", sinolPack.with(pack{"in/abc9.in": "->y"}).folder(t),
			`"in/abc9.in" is a broken link; replace it with the file`},
		{"test that is a link to nothing in an archive", legacyPack.with(pack{"data/secret/2.in": "->y"}).zip(t, ""),
			`"data/secret/2.in" is a broken link; replace it with the file`},
		{"link to a folder in an archive", legacyPack.with(pack{"x": "->data"}).zip(t, ""),
			`"x" is neither a file nor a link to one`},
		{"test that is a link to nothing", legacyPack.with(pack{"data/secret/2.in": "->y"}).folder(t),
			`"data/secret/2.in" is a broken link; replace it with the file`},
		{"settings that are a link to themselves", legacyPack.with(pack{"problem.yaml": "->problem.yaml"}).folder(t),
			`"problem.yaml" is a broken link`},
		{"link to a device", legacyPack.with(pack{"x": "->/dev/zero"}).folder(t), `"x" is neither a file nor a link to one`},
		{"file through a link out of the archive", zipOf(t, zipLink("data", elsewhere),
			zip.FileHeader{Name: "data/evil"}),
			"path escapes from parent"},
		{"link that climbs by another link", zipOf(t, zipLink("a", "b/.."), zipLink("b", "../.."),
			zip.FileHeader{Name: "a/evil"}), "path escapes from parent"},
		{"tar through a link", tarOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "data", Linkname: elsewhere},
			tar.Header{Name: "data/evil", Mode: 0o644}), "path escapes from parent"},
		{"hard link", tarOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "problem.yaml", Linkname: "/etc/passwd"}),
			"hard link"},
		{"device", tarOf(t, tar.Header{Typeflag: tar.TypeBlock, Name: "problem.yaml", Devmajor: 7}),
			"neither a file nor a folder"},
		{"pipe", tarOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "problem.yaml"}), "neither a file nor a folder"},
		{"folders without end", zipOf(t, zip.FileHeader{Name: "problem.yaml", Comment: "name: x"},
			zip.FileHeader{Name: strings.Repeat("d/", 20_000) + "x"}), "more than 64 folders deep"},
		{"10^5 files with long names", zipOf(t, many5...), "list of entries larger than"},
		{"deep YAML", legacyPack.with(pack{"problem.yaml": "name: " + strings.Repeat("[", 1<<19)}).folder(t),
			"exceeded max depth"},
		{"deep XML", pack{"problem.xml": strings.Repeat("<problem>", 1<<16)}.folder(t), "unexpected EOF"},
		{"archive of very many files", many.zip(t, ""), "20001 entries; the maximum is 20000"},
		{"tar of very many folders", tarOf(t, folders...), "more than 20000 entries"},
		{"YAML aliases", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\nconstants:\n  " +
			strings.ReplaceAll(bomb, "\n", "\n  ")}).folder(t), "constants: a: is neither a number nor a text"},
		{"constant without a value", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"constants: {n: {tex: 5}}\n"}).folder(t), "constants: n: value: is missing"},
		{"constant that is no name", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"constants: {5n: 5}\n"}).folder(t), "constants: 5n: is not a valid name"},
		{"constants that are large together", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"constants: {n: " + strings.Repeat("x", 1<<19) + "}\n",
			"include/default/x": strings.Repeat("{{n}}", 200)}).folder(t),
			"the files with constants are larger than 64MiB together"},
		{"arguments that are a text", kattisPack.with(pack{"data/secret/1/a.yaml": "args: --fast now"}).folder(t),
			"read data/secret/1/a.yaml: args: is a text; write a list, such as [--fast, now]"},
		{"arguments of the output validator that are a text",
			kattisPack.with(pack{"data/secret/2/test_group.yaml": "output_validator_args: case_sensitive"}).folder(t),
			"output_validator_args: is a text; write a list, such as [case_sensitive]"},
		{"arguments of an input validator that are a text", kattisPack.with(pack{"input_validators/v.py": "",
			"data/secret/1/a.yaml": "input_validator_args: {v.py: x}"}).folder(t),
			"input_validator_args: v.py: is a text; write a list, such as [x]"},
		{"argument without a value", kattisPack.with(pack{"data/secret/1/a.yaml": "args: [a, , b]"}).folder(t),
			"parse data/secret/1/a.yaml"},
		{"argument that is null", kattisPack.with(pack{"data/secret/1/a.yaml": "args:\n- a\n-\n- b"}).folder(t),
			"args: item 2 has no value"},
		{"required group that is null", kattisPack.with(pack{
			"data/secret/2/test_group.yaml": "max_score: 1\nrequire_pass: [~]",
		}).folder(t), "require_pass: item 1 has no value"},
		{"flag that is null", legacyPack.with(pack{
			"data/testdata.yaml": "output_validator_flags: [~]",
		}).folder(t), "output_validator_flags: item 1 has no value"},
		{"verdict that is null", kattisPack.with(pack{
			"submissions/submissions.yaml": "accepted: {permitted: [AC, ~]}",
		}).folder(t), "permitted: item 2 has no value"},
		{"permitted verdicts without a value", kattisPack.with(pack{
			"submissions/submissions.yaml": "accepted: {permitted: }",
		}).folder(t), "accepted: permitted: has no value; give one, or remove the key"},
		{"message without a value", kattisPack.with(pack{
			"submissions/submissions.yaml": "accepted: {secret: {message: }}",
		}).folder(t), "secret: message: has no value"},
		{"custom grader", legacyPack.with(pack{"data/testdata.yaml": "grading: custom"}).folder(t),
			`grading: "custom" needs one program in graders/, and type: scoring`},
		{"two graders", legacyPack.with(pack{"graders/a.py": "", "graders/b.py": ""}).folder(t), "has 2 graders"},
		{"large YAML", legacyPack.with(pack{"problem.yaml": "name: " + strings.Repeat("x", 2<<20)}).folder(t),
			"larger than 1MiB"},
		{"two YAML documents", legacyPack.with(pack{"problem.yaml": "name: x\n---\nvalidation: custom\n"}).folder(t),
			"parse problem.yaml: a second document begins after ---"},
		{"YAML of another age", legacyPack.with(pack{"problem.yaml": "%YAML 2.0\n---\nname: x\n"}).folder(t),
			"parse problem.yaml: found incompatible YAML document"},
		{"YAML that is not", legacyPack.with(pack{"problem.yaml": "a: ]"}).folder(t), "parse problem.yaml: "},
		{"XML entities", polygonPack.with(pack{"problem.xml": entity}).folder(t), "invalid character entity"},
		{"unknown version", legacyPack.with(pack{"problem.yaml": "problem_format_version: 2031-01"}).folder(t),
			`unknown problem_format_version "2031-01"`},
		{"negative limit", legacyPack.with(pack{"problem.yaml": "limits: {memory: -1}"}).folder(t),
			"memory: -1 is out of range"},
		{"test without an answer", legacyPack.with(pack{"data/secret/3.in": ""}).folder(t), "add data/secret/3.ans"},
		{"range of one number", legacyPack.with(pack{"data/testdata.yaml": "range: 5"}).folder(t),
			"range: [\"5\"] is not a range"},
		{"range that ends with no number", legacyPack.with(pack{"data/testdata.yaml": "range: 0 nan"}).folder(t),
			"is not a range"},
		{"range that ends before it begins", legacyPack.with(pack{"data/secret/testdata.yaml": "range: 2 1"}).folder(t),
			"is not a range"},
		{"range without an end", legacyPack.with(pack{"data/testdata.yaml": "range: -inf -inf"}).folder(t),
			"is not a range"},
		{"score that is no number", legacyPack.with(pack{"data/testdata.yaml": "accept_score: .nan"}).folder(t),
			"accept_score: NaN is not a number"},
		{"points that no test gives", kattisPack.without("data/secret/1/test_group.yaml", "output_validator/validate.py").
			with(pack{"data/secret/2/test_group.yaml": "max_score: 0"}).folder(t), "no test gives points"},
		{"points that no test of legacy gives", legacyPack.with(pack{"problem.yaml": "type: scoring",
			"data/testdata.yaml": "accept_score: 0"}).folder(t), "or accept_score in legacy"},
		{"samples without points", pack{"problem.yaml": "problem_format_version: 2025-09\ntype: scoring",
			"data/sample/1.in": "", "data/sample/1.ans": ""}.folder(t), "data/secret has none; add NAME.in with NAME.ans"},
		{"limit of the wrong type", legacyPack.with(pack{"problem.yaml": "limits: {memory: a}"}).folder(t),
			"problem.yaml: limits: memory: "},
		{"outputs that talk", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"type: [submit-answer, multi-pass]\n"}).folder(t), "submit-answer cannot be combined with"},
		{"outputs of one name", kattisPack.with(pack{"problem.yaml": "problem_format_version: 2025-09\n" +
			"type: submit-answer\n", "data/secret/1-a.in": "", "data/secret/1-a.ans": ""}).without(
			"data/secret/1/test_group.yaml", "data/secret/2/test_group.yaml").folder(t),
			`the outputs of "secret/1-a" and "secret/1/a" have the same name 1-a.out`},
		{"no tests", pack{"problem.yaml": "name: x"}.folder(t), "no tests"},
		{"no tests yet", pack{"problem.yaml": "name: x", "generators/generators.yaml": "data: {}"}.folder(t),
			"add data/secret/NAME.in with NAME.ans; generators/generators.yaml describes tests: run bt generate before"},
		{"no validator", legacyPack.with(pack{"problem.yaml": "validation: custom"}).folder(t), "no output validator"},
		{"unknown aggregation",
			kattisPack.with(pack{"data/secret/1/test_group.yaml": "score_aggregation: best"}).folder(t),
			`"best" is unknown; use pass-fail, sum or min`},
		{"half a package", polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"],
			"<test-count>3",
			"<test-count>4", 1)}).folder(t), `testset "tests" lists 3 tests, but its test-count is 4; download`},
		{"path pattern that climbs",
			polygonPack.with(pack{"problem.xml": strings.ReplaceAll(polygonPack["problem.xml"], "tests/%02d",
				"../%02d")}).folder(t), `path pattern "../%02d" of a testset is outside of the package`},
		{"very many tests", polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"],
			"<test-count>3", "<test-count>2000000000", 1)}).folder(t), "2000000000 tests; use 1 to 20000"},
		{"source that is elsewhere", polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"],
			"files/check.cpp", "../../etc/passwd", 1)}).folder(t),
			`source "../../etc/passwd" in problem.xml is missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			_, err := openTest(t, tt.path)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if made, _ := os.ReadDir(elsewhere); len(made) > 0 {
				t.Errorf("written outside: %v", made)
			}
		})
	}
}

// TestInteractiveOfLegacy: the output validator of an interactive problem is used with the words of DOMjudge, too.
func TestInteractiveOfLegacy(t *testing.T) {
	for settings, want := range map[string]string{
		"validation: custom interactive":  "interactor",
		"validation: default interactive": "interactor",
		"type: interactive":               "interactor",
		"type: multi-pass":                "icpc",
		"validation: multi-pass":          "icpc",
		"validation: default":             "kattis",
	} {
		p, err := openTest(t, legacyPack.with(pack{"problem.yaml": settings, "output_validators/v.py": ""}).folder(t))
		if err != nil {
			t.Errorf("%s: %v", settings, err)
			continue
		}
		got := p.Checker.Kind
		if p.Interactor != nil {
			got = "interactor" + got
		}
		if got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
		p.Close()
	}
}

// TestDOMjudgeINI: values of domjudge-problem.ini may be quoted, and a comment may follow them, as in PHP.
func TestDOMjudgeINI(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"timelimit=5": 5 * time.Second, "timelimit = '5'": 5 * time.Second,
		"timelimit = 2.5 ; seconds":                 2500 * time.Millisecond,
		"name = \"a; b\" ; c\ntimelimit = \"5\" ;x": 5 * time.Second,
	} {
		p, err := openTest(t, legacyPack.with(pack{domjudgeFile: text, "problem.yaml": "type: pass-fail"}).folder(t))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if p.Limits.Time != want || p.Name != "" && p.Name != "a; b" {
			t.Errorf("%s: time limit %s, want %s; name %q", text, p.Limits.Time, want, p.Name)
		}
		p.Close()
	}
}

// TestVersionOfYAML: version 1.2 of YAML is read like 1.1.
func TestVersionOfYAML(t *testing.T) {
	p, err := openTest(t, legacyPack.with(pack{"problem.yaml": "%YAML 1.2\r\n---\nname: x\n"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Name != "x" {
		t.Errorf("name %q, want x", p.Name)
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"accepted", "accepted/a.py", true},
		{"accepted/*", "accepted/a.py", true},
		{"*", "accepted/a.py", true},
		{"secret/*-hard", "secret/1-hard", true},
		{"secret/*-hard", "secret/g/1-hard", false},
		{"x/{a,b}.{py,cpp}", "x/b.cpp", true},
		{"x/{a,b}.{py,cpp}", "x/c.cpp", false},
		{"x/*{ 4 }{ 1, 2 }", "x/042", true},
		{"x/*{ 4 }{ 1, 2 }", "x/043", false},
		{"x/[ab].py", "x/a.py", false},
		{"x/[ab].py", "x/[ab].py", true},
		{"x/{a", "x/a", false},
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// TestSettingsThatDoNotAct: settings that are read but not used are findings.
func TestSettingsThatDoNotAct(t *testing.T) {
	files := pack{"problem.yaml": "problem_format_version: 2025-09\nname: P\nuuid: u\nlimits:\n  time_limit: 1\n" +
		"  code: 64\n" +
		"  compilation_time: 5\n  compilation_memory: 512\n  validation_time: 9\n  validation_memory: 64\n" +
		"  validation_output: 1\n",
		"data/secret/1.in": "", "data/secret/1.ans": "", "submissions/accepted/a.py": "", "include/c/sub/x.h": "",
		"submissions/submissions.yaml": "accepted/a.py: {secret: {use_for_time_limit: lower}}\n"}
	p, err := openTest(t, files.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"unsupported: limits.code; the platform limits the size of sources",
		"unsupported: limits.compilation_time; compilers have the limits of their language",
		"unsupported: limits.compilation_memory; compilers have the limits of their language",
		"unsupported: limits.validation_time; programs of the jury have the configured limits.jury",
		"unsupported: limits.validation_memory; programs of the jury have the configured limits.jury",
		"unsupported: limits.validation_output; programs of the jury have the configured limits.jury",
		"unsupported: files in subfolders of include/, such as c/sub/x.h",
		"unsupported: use_for_time_limit of some of the tests; a submission bounds the time limit with all tests",
	}, p.Findings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestLegacyGroups: a group has the settings of its testdata.yaml, and inherits the others.
func TestLegacyGroups(t *testing.T) {
	files := pack{"problem.yaml": "name: x\ntype: scoring\n", ".timelimit": "1",
		"data/testdata.yaml":        "on_reject: continue\nrange: 0 +inf\ngrader_flags: max ignore_sample\n",
		"data/secret/testdata.yaml": "range: 0 50\n", "data/secret/a/1.in": "", "data/secret/a/1.ans": "",
		"data/secret/a/testdata.yaml": "on_reject: break\noutput_validator_flags: case_sensitive\n"}
	p, err := openTest(t, files.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	got := summarize(p)
	if diff := cmp.Diff([]string{`"" max worst_error unbounded [] continue=true`,
		`"secret" max worst_error 50 [] continue=true`, `"secret/a" max worst_error 50 [] continue=false`},
		got.Groups); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"case_sensitive"}, p.Tests[0].CheckerArgs); diff != "" {
		t.Errorf("flags of the output validator (-want +got)\n%s", diff)
	}
	if len(p.Findings) > 0 {
		t.Errorf("findings %q, want none", p.Findings)
	}
}

// TestValidatorGivesPoints: with validation: custom score, an accepted test needs points of the validator. DOMjudge gives
// those of the group otherwise.
func TestValidatorGivesPoints(t *testing.T) {
	files := pack{"problem.yaml": "type: scoring\nvalidation: custom score\n", ".timelimit": "1",
		"output_validators/v.py": "", "data/secret/a/1.in": "", "data/secret/a/1.ans": ""}
	for name, tt := range map[string]struct {
		more pack
		want bool
	}{
		"score":       {nil, true},
		"interactive": {pack{"problem.yaml": "type: scoring\nvalidation: custom interactive score\n"}, true},
		"no score":    {pack{"problem.yaml": "type: scoring\nvalidation: custom\n"}, false},
		"DOMjudge":    {pack{domjudgeFile: "externalid = x\n", "data/secret/a/testdata.yaml": "accept_score: 0\n"}, false},
	} {
		p, err := openTest(t, files.with(tt.more).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		group := p.Scheme.Root.Members[0].Group.Members[0].Group
		if got := group.Members[0].Scored; got != tt.want {
			t.Errorf("%s: the validator must give points: %t, want %t", name, got, tt.want)
		}
	}
}

// TestValidatorGivesPointsWithoutMaximum: in 2025-09, too, where nobody else gives the points of a test.
func TestValidatorGivesPointsWithoutMaximum(t *testing.T) {
	files := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\ntype: scoring\n", "output_validator/v.py": "",
		"data/sample/1.in": "", "data/sample/1.ans": "", "data/secret/a/1.in": "", "data/secret/a/1.ans": "",
		"data/secret/test_group.yaml": "max_score: unbounded\n", "data/secret/a/test_group.yaml": ""}
	group := func(text string) pack { return pack{"data/secret/a/test_group.yaml": text} }
	for name, tt := range map[string]struct {
		more pack
		want bool
	}{
		"sum":            {group("score_aggregation: sum"), true},
		"min":            {group("score_aggregation: min\nmax_score: unbounded"), true},
		"a maximum":      {group("score_aggregation: sum\nmax_score: 50"), false},
		"all or nothing": {group("max_score: 50"), false},
		"former version": {group("scoring: {aggregation: sum}").with(pack{
			"problem.yaml": "problem_format_version: 2023-07\nname: x\ntype: scoring\n"}), true},
		"key of the past": {group("accept_score: 5"), false},
	} {
		p, err := openTest(t, files.with(tt.more).folder(t))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		root := p.Scheme.Root.Members
		if root[0].Group.Members[0].Scored {
			t.Errorf("%s: the validator must give points for a sample", name)
		}
		if got := root[1].Group.Members[0].Group.Members[0].Scored; got != tt.want {
			t.Errorf("%s: the validator must give points: %t, want %t", name, got, tt.want)
		}
	}
}

// openTest opens a package and closes it at the end of the test.
func openTest(t testing.TB, name string) (*Package, error) {
	p, err := Open(t.Context(), name)
	if err == nil {
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return p, err
}
