package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"judged/internal/testkit"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnusedFiles: an unused file that looks like a test or a part of one is a finding, because submissions are not
// tested with it.
func TestUnusedFiles(t *testing.T) {
	draft := pack{"problem.yaml": "problem_format_version: 2023-07\ntype: [scoring]\nname: x\n"}
	many := pack{}
	for i := range 12 {
		many[fmt.Sprintf("data/secret/%02d.txt", i)] = ""
	}
	for _, tt := range []struct {
		name string
		base pack
		more pack
		want []string
	}{
		{"nothing", legacyPack, nil, nil},
		{"what people read", legacyPack, pack{"data/secret/2.hint": "", "data/secret/2.desc": "", "data/secret/2.png": "",
			"data/sample/1.interaction": "", "problem_statement/problem.en.tex": "", "attachments/a.zip": "",
			"problem.en.pdf": ""}, nil},
		{"generators of tests", legacyPack, pack{"data/generator.sh": "", "data/gen_random.py": "", "data/secret/gen.sh": "",
			"data/notes": ""}, []string{"data/notes is not used", "data/secret/gen.sh is not used"}},
		{"what people read, of no test", legacyPack, pack{"data/secret/3.hint": "", "data/secret/3.png": "",
			"data/secret/2.md": "", "data/secret/3.in.statement": "", "data/README.md": "", "data/sample/3.interaction": "",
			"data/sample/4.ans.download": ""}, []string{"data/secret/2.md is not used", "data/secret/3.hint is not used",
			"data/secret/3.in.statement is not used", "data/secret/3.png is not used"}},
		{"programs that are not run", legacyPack, pack{"answer_validators/v.py": "", "input_visualizer/v.py": ""},
			[]string{"unsupported: answer_validators", "unsupported: input_visualizer"}},
		{"validator in the folder of another version", legacyPack.with(pack{"problem.yaml": "name: x"}),
			pack{"output_validator/v.py": ""}, []string{"output_validator is not a folder of the format legacy, which has " +
				"output_validators; judged uses it"}},
		{"tests next to groups", kattisPack, pack{"data/secret/z.in": "", "data/secret/z.ans": ""},
			[]string{"data/secret has groups and tests next to them, such as z; the format allows only one of both, and " +
				"judged gives no points for these tests"}},
		{"outputs of an interactive problem", legacyPack, pack{"problem.yaml": "validation: custom interactive",
			"output_validators/v.py": "", "data/valid_output/1.in": "", "data/valid_output/1.ans": "",
			"data/valid_output/1.out": ""},
			[]string{"data/valid_output is not used: a problem that is interactive or multi-pass has no outputs"}},
		{"outputs of a problem with passes", kattisPack, pack{"problem.yaml": strings.Replace(kattisPack["problem.yaml"],
			"[scoring]", "[scoring, multi-pass]", 1), "data/invalid_output/1.in": "", "data/invalid_output/1.ans": "",
			"data/invalid_output/1.out": ""},
			[]string{"data/invalid_output is not used: a problem that is interactive or multi-pass has no outputs"}},
		{"points without scoring", legacyPack, pack{"data/testdata.yaml": "range: 0 100",
			"data/secret/testdata.yaml": "accept_score: 1\nreject_score: 0\nrange: -inf +inf\nmax_score: 5"},
			[]string{"data/testdata.yaml: range has no effect, because problem.yaml does not set type: scoring",
				"testdata.yaml: max_score is not a key of the format legacy; judged uses it if possible",
				"data/secret/testdata.yaml: max_score has no effect, because problem.yaml does not set type: scoring"}},
		{"types that exclude each other", kattisPack, pack{"problem.yaml": strings.Replace(kattisPack["problem.yaml"],
			"[scoring]", "[pass-fail, scoring]", 1)},
			[]string{"problem.yaml: type: pass-fail and scoring exclude each other; judged gives points"}},
		{"tag with a typo", legacyPack, pack{"submissions/wrong_answer/w.py": "# @EXPECTED_RESULT@: CORRECT"},
			[]string{"submissions/wrong_answer/w.py: unknown tag @EXPECTED_RESULT@; use @EXPECTED_RESULTS@ or " +
				"@EXPECTED_SCORE@"}},
		{"nothing expected", legacyPack, pack{"submissions/mixed/x.py": ""},
			[]string{"submissions/mixed/x.py has no expected result; it is run, and any verdict is as expected"}},
		{"nothing expected in submissions.yaml", kattisPack, pack{"submissions/submissions.yaml": "accepted/a.py:\n" +
			"partial/p.py: {authors: [a]}"},
			[]string{"submissions/partial: unknown folder; its submissions are run but have no expected result"}},
		{"settings of DOMjudge", legacyPack, pack{"domjudge-problem.ini": "; a comment\n[section]\n\nshort-name = A\n" +
			"special_run = x\nmemory_limit = 7\npoints 3\ntimelimit='1'\ntimelimit=2\ntimelimit=1.5\n"},
			[]string{"unsupported: special_run in domjudge-problem.ini", `unknown key "memory_limit" in domjudge-problem.ini`,
				`domjudge-problem.ini, line 7: "points 3" is not used; write KEY = VALUE`,
				"the time limit is 1.000 s in domjudge-problem.ini and 1.500 s in another file; the former is used",
				`domjudge-problem.ini, line 9: duplicate key "timelimit"; the last one is used`,
				`domjudge-problem.ini, line 10: duplicate key "timelimit"; the last one is used`}},
		{"settings", legacyPack, pack{"data/testdata.yaml": "", "data/secret/testdata.yaml": ""}, nil},
		{"answer without an input", legacyPack, pack{"data/secret/3.ans": ""}, []string{"data/secret/3.ans is not used"}},
		{"upper case", legacyPack, pack{"data/secret/3.IN": "", "data/secret/3.ANS": ""},
			[]string{"data/secret/3.ANS is not used", "data/secret/3.IN is not used"}},
		{"in no folder of a language", legacyPack, pack{"include/stray.h": ""}, []string{"include/stray.h is not used"}},
		{"another folder", legacyPack, pack{"data/Secret/3.in": "", "data/Secret/3.ans": ""},
			[]string{"data/Secret/3.ans is not used", "data/Secret/3.in is not used"}},
		{"not in a folder", legacyPack, pack{"data/stray.in": ""}, []string{"data/stray.in is not used"}},
		{"another ending", legacyPack, pack{"data/secret/testdata.yml": "", "data/secret/2.in.bak": "",
			"data/secret/2.out": "", "data/secret/notes.txt": ""}, []string{"data/secret/2.in.bak is not used",
			"data/secret/2.out is not used", "data/secret/notes.txt is not used", "data/secret/testdata.yml is not used"}},
		{"folders of other formats", legacyPack, pack{"tests/01": "", "stray.txt": ""}, []string{"stray.txt is not used",
			"tests/01 is not used"}},
		{"at the top", legacyPack, pack{"a.txt": "", "b.txt": "", "c": "", "d": "", "e": "", "f": "", "README": "",
			"LICENSE.md": ""}, []string{"6 files at the top are not used: a.txt, b.txt, c, d, e, f"}},
		{"many", legacyPack, many, []string{"12 files of data/ are not used: secret/00.txt, secret/01.txt, secret/02.txt, " +
			"secret/03.txt, secret/04.txt, secret/05.txt, secret/06.txt, secret/07.txt, secret/08.txt, secret/09.txt " +
			"and 2 more"}},
		{"validator that is not asked for", legacyPack, pack{"output_validators/v.py": ""},
			[]string{"output_validators is not used, because problem.yaml does not set validation: custom"}},
		{"settings of another version, next to those of this one", kattisPack.with(draft),
			pack{"data/secret/1/testdata.yaml": "range: 0 100"}, []string{"data/secret/1/testdata.yaml is not used"}},
		{"outputs", kattisPack, pack{"data/valid_output/o.in": "", "data/valid_output/o.ans": "",
			"data/valid_output/o.out": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := openTest(t, tt.base.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			after, err := openTest(t, tt.base.with(tt.more).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range after.Findings {
				if !slices.Contains(before.Findings, f) {
					got = append(got, f)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestNothingIsUnused checks that unknown files in any folder of a package, and unknown keys in any settings, are
// findings with their name; so are unknown elements and attributes in any element of problem.xml. Files in the folder of a
// program belong to the program.
func TestNothingIsUnused(t *testing.T) {
	const stray = "stray.qqq"
	packages := filepath.Join(testkit.RepoRoot(t), "testdata/problems/packages")
	others := map[string][]string{"cms": {"att", "cor", "gen"}, "sinol": {"doc"}} // for people, or of programs
	sources := map[string]string{"cms": cmsPack.folder(t), "dmoj": small(t, dmojFile).folder(t),
		"polygon": polygonPack.folder(t), "sinol": sinolPack.folder(t)}
	for _, name := range []string{"double", "guess", "largest", "relay", "share"} {
		sources[name] = filepath.Join(packages, name)
	}
	for name, source := range sources {
		finding := func(change func(dir string) error) []string {
			t.Helper()
			dir := t.TempDir()
			if err := errors.Join(os.CopyFS(dir, os.DirFS(source)), change(dir)); err != nil {
				t.Fatal(err)
			}
			p, err := openTest(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			return p.Findings
		}
		names := func(findings []string, part string) bool {
			return slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, part) })
		}
		err := fs.WalkDir(os.DirFS(source), ".", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (path == "output_validator" || slices.Contains(others[name], path)):
			case d.IsDir():
				found := finding(func(dir string) error {
					return os.WriteFile(filepath.Join(dir, path, stray), []byte("?\n"), 0o600)
				})
				if !names(found, filepath.Join(path, stray)) {
					t.Errorf("%s: %s/%s is no finding: %q", name, path, stray, found)
				}
			case path == "problem.xml":
				text, err := os.ReadFile(filepath.Join(source, path))
				if err != nil {
					return err
				}
				for _, tag := range regexp.MustCompile(`<[a-z][a-z-]*`).FindAllIndex(text, -1) {
					element := string(text[tag[0]+1 : tag[1]])
					if element == "name" { // of the problem, for people
						continue
					}
					found := finding(func(dir string) error {
						return os.WriteFile(filepath.Join(dir, path),
							slices.Concat(text[:tag[1]], []byte(` qqq="1"`), text[tag[1]:]), 0o600)
					})
					if !names(found, `attribute "qqq" of problem`) || !names(found, element) {
						t.Errorf("%s: attribute qqq of %s is no finding: %q", name, element, found)
					}
					if end := bytes.IndexByte(text[tag[1]:], '>') + tag[1]; text[end-1] != '/' {
						found = finding(func(dir string) error {
							return os.WriteFile(filepath.Join(dir, path),
								slices.Concat(text[:end+1], []byte("<qqq>1</qqq>"), text[end+1:]), 0o600)
						})
						if !names(found, element+"/qqq is not used") {
							t.Errorf("%s: element qqq in %s is no finding: %q", name, element, found)
						}
					}
				}
			case strings.HasSuffix(path, ".yaml"), strings.HasSuffix(path, ".yml"):
				found := finding(func(dir string) error {
					text, err := os.ReadFile(filepath.Join(dir, path))
					return errors.Join(err, os.WriteFile(filepath.Join(dir, path),
						append(text, []byte("\nqqq: {permitted: [AC]}\n")...), 0o600))
				})
				if !names(found, `"qqq"`) || !names(found, path) {
					t.Errorf("%s: the key qqq of %s is no finding: %q", name, path, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDroppedParts: what other formats than Kattis's drop from a package is a finding, or an error.
func TestDroppedParts(t *testing.T) {
	xml := func(old, new string) pack {
		return polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"], old, new, 1)})
	}
	expected := func(text string) pack {
		return sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nsinol_expected_scores:\n  sum.cpp: " + text})
	}
	cms := pack{"task.yaml": "name: x\nn_input: 1\n", "input/input0.txt": "", "output/output0.txt": "", "sol/x.py": ""}
	dmojCases := func(cases string) pack { return pack{"init.yml": "test_cases: [" + cases + "]", "a": "1\n"} }
	dmoj := pack{"init.yml": "checker: {name: floats, precision: 3}\ntest_cases: [{in: a, out: a}]\n", "a": ""}
	for _, tt := range []struct {
		name string
		pack pack
		want string
	}{
		{"test that problem.xml does not name", polygonPack.with(pack{"tests/04": ""}),
			"tests/04 is not in problem.xml and not used"},
		{"solution that problem.xml does not name", polygonPack.with(pack{"solutions/b.cpp": ""}),
			"solutions/b.cpp is not in problem.xml and not used"},
		{"fewer tests than listed", xml("<test-count>3", "<test-count>2"), "lists 3 tests, but its test-count is 2"},
		{"two checkers", xml("<validators>", "<checker/><validators>"), "element problem/assets/checker occurs twice"},
		{"files of a folder", xml("</testset></judging>", `</testset></judging><files><resources>`+
			`<file path="files/olymp.sty"/></resources></files>`).with(pack{"files/table.txt": "", "files/notes.txt": "",
			"files/olymp.sty": "", "files/x.hxx": "",
			"files/towin.exe": "", "doall.sh": "", "scripts/gen-answer.sh": "", "scripts/x.sh": "",
			"solutions/a.py.desc": "", "solutions/A.jarkt17": "", "statements/english/problem.tex": "", "README.md": ""}),
			"files/notes.txt is not in problem.xml and not used\nfiles/table.txt is not in problem.xml and not used\n" +
				"scripts/x.sh is not in problem.xml and not used"},
		{"program without a source", xml("<validators>", `<scorer><source path="s.cpp"/></scorer><validators>`),
			"problem.xml: element problem/assets/scorer is not used"},
		{"property", xml("<judging ", `<properties><property name="tests-wellformed" value="true"/>`+
			`<property name="rerun" value="true"/></properties><judging `), `problem.xml: property "rerun" is not used`},
		{"type of the checker", xml(`checker type="testlib"`, `checker type="pcms"`),
			"unsupported: checker of the type pcms; it is run as one of the type testlib"},
		{"points in percent", xml("<judging ", `<judging treat-points-from-checker-as-percent="true" `),
			"unsupported: treat-points-from-checker-as-percent"},
		{"test of the checker that problem.xml does not name", xml(`<source path="files/check.cpp" type="cpp.g++17"/>`,
			`<source path="files/check.cpp"/><testset><test-count>0</test-count><input-path-pattern>files/tests/%02d`+
				`</input-path-pattern></testset>`).with(pack{"files/tests/01": ""}),
			"files/tests/01 is not in problem.xml and not used"},
		{"group without tests", xml(`<group name="1" points`, `<group name="2" points`), `group "2" has no tests`},
		{"group that is not declared", xml(`<group name="1" points`, `<group name="2" points`),
			`group "1" of tests is not among the groups`},
		{"group declared twice", xml(`<groups>`, `<groups><group name="1"/>`), `group "1" is declared twice; the first one`},
		{"points of a group and of its tests", xml(`"complete-group"`, `"complete-group" points="50"`),
			`group "1" has 50 points, but its tests have 100; judged gives 50`},
		{"points of a group whose tests give them", xml(`"complete-group"`, `"each-test" points="50"`),
			`group "1" has 50 points, but its tests have 100; judged gives 100`},
		{"points of a group whose tests have none", xml(`name="0" points-`, `name="0" points="50" points-`),
			`group "0" has 50 points, but its tests have 0; judged gives 0`},
		{"negative points of a group", xml(`"complete-group"`, `"complete-group" points="-5"`),
			`points -5 of group "1" are out of range`},
		{"percentage in an attribute", xml(`points="40"`, `points="40%"`),
			`line 6: attribute points of problem/judging/testset/tests/test: "40%" is not a number`},
		{"fraction in an element", xml("<time-limit>1500", "<time-limit>1.5"),
			`line 3: element problem/judging/testset/time-limit: "1.5" is not a whole number`},
		{"large number in an element", xml("<time-limit>1500", "<time-limit>99999999999999999999"),
			`time-limit: "99999999999999999999" is not a whole number in range`},
		{"end of problem.xml", xml("</problem>", ""), "parse problem.xml: XML syntax error on line 13: unexpected EOF"},
		{"element of problem.xml without an end", xml("</judging>", ""),
			"XML syntax error on line 13: element <judging> closed"},
		{"unknown policy", xml("complete-group", "worst"), `group "1": points-policy "worst" is unknown`},
		{"points of a case in a batch", dmojCases("{points: 9, batched: [{in: a, out: a, points: 3}]}"),
			"init.yml: points and dependencies of cases of batch1 are not used"},
		{"dependencies of a case", dmojCases("{in: a, out: a}, {in: a, out: a, dependencies: [1]}"),
			"init.yml: dependencies of case2 are not used"},
		{"list as a checker", dmoj.with(pack{"init.yml": "checker: [floats]\ntest_cases: [{in: a, out: a}]\n"}),
			"init.yml: checker: line 1: a list is not a mapping"},
		{"unknown user_io", cms.with(pack{"task.yaml": "n_input: 1\nuser_io: pipes", "check/manager.cpp": ""}),
			`task.yaml: user_io "pipes" is unknown; use std_io or fifo_io`},
		{"maximum without a value", kattisPack.with(pack{"data/secret/1/test_group.yaml": "max_score:\n"}),
			"data/secret/1/test_group.yaml: max_score: has no value"},
		{"unknown objective", legacyPack.with(pack{"problem.yaml": "grading: {objective: minn}"}),
			`read problem.yaml: grading: objective: "minn" is unknown; use max or min`},
		{"empty batch", dmojCases("{in: a, out: a}, {points: 9, batched: []}"), "init.yml: case 2: batched: no cases"},
		{"unknown key of the patterns", pack{"init.yml": "archive: data.zip\ntest_cases: {input_fromat: x}\n"}.archived(t,
			pack{"1.in": "", "1.out": ""}), `unknown key "input_fromat" in the test_cases`},
		{"points of missing cases", pack{"init.yml": "archive: data.zip\ntest_cases: {case_points: [1, 2, 97]}"}.archived(t,
			pack{"1.in": "", "1.out": "", "2.in": "", "2.out": ""}),
			"case_points has 3 numbers for 2 cases and batches"},
		{"groups of CMS without any", cms.with(pack{"task.yaml": "n_input: 1\nscore_type: GroupMin\n" +
			"score_type_parameters: []"}), "score_type_parameters: GroupMin has no group"},
		{"no languages", legacyPack.with(pack{"problem.yaml": "languages: []"}), "languages: is empty; name one"},
		{"no settings", legacyPack.with(pack{"problem.yaml": ""}), "problem.yaml has no keys"},
		{"only a comment", legacyPack.with(pack{"problem.yaml": "# type: scoring\n---\n"}), "problem.yaml has no keys"},
		{"no settings of a task", cms.with(pack{"task.yaml": "", "gen/GEN": "1\n"}), "task.yaml has no keys"},
		{"no settings of sinol-make", sinolPack.with(pack{"config.yml": ""}), "config.yml has no keys"},
		{"points of the validator without points", legacyPack.with(pack{"problem.yaml": "validation: custom score",
			"output_validators/v.py": ""}), "validation: score has no effect, because problem.yaml does not set type"},
		{"required verdicts without any", legacyPack.with(pack{"submissions/mixed/m.py": "",
			submissionsFile: "mixed: {required: []}"}), "submissions/mixed/m.py has no expected result"},
		{"score without a value", legacyPack.with(pack{submissionsFile: "accepted: {score: }"}), "score: has no value"},
		{"no types", legacyPack.with(pack{"problem.yaml": "type: []"}), "problem.yaml: type: is empty"},
		{"no validation", legacyPack.with(pack{"problem.yaml": "validation: ''"}), "problem.yaml: validation: is empty"},
		{"expectation without points", expected("{expected: {1: {points: 40}, 2: {points: 60}}}"),
			"sinol_expected_scores: sum.cpp: no points are given"},
		{"group of an expectation without points", expected("{points: 100, expected: {1: {status: OK}}}"),
			"sinol_expected_scores: sum.cpp: no points of group 1 are given"},
		{"no cases", dmojCases(""), "init.yml: no cases; list them in test_cases"},
		{"total below 0", cms.with(pack{"task.yaml": "n_input: 1\ntotal_value: -5"}),
			"read task.yaml: total_value: -5 is not a number >= 0"},
		{"number of tests below 0", cms.with(pack{"task.yaml": "n_input: 1\nscore_type: GroupMin\n" +
			"score_type_parameters: [[100, -1], [0, 1]]"}), "score_type_parameters: -1 tests of a group"},
		{"points of a subtask without tests", cms.with(pack{"task.yaml": "n_input: 1\nscore_type: GroupMin\n" +
			"score_type_parameters: [[60, 0.*], [40, 9.*]]"}), "subtask1 has 40 points and no tests"},
		{"unknown group", xml(`dependency group="0"`, `dependency group="9"`), `problem.xml: group "1" requires group "9"`},
		{"cycle", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nsubtask_dependencies: {1: [2], 2: [1]}"}),
			`config.yml: group "group1" requires group "group2"`},
		{"total of subtasks", cms.with(pack{"gen/GEN": "#ST: 90\n1"}),
			"the points of the subtasks add up to 90; CMS requires 100"},
		{"total of scores", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nsinol_total_score: 90\n" +
			"scores: {1: 40, 2: 60}"}), "the scores of groups with tests add up to 100, but sinol_total_score is 90"},
		{"points of group 0", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nscores: {0: 10, 1: 40, 2: 60}"}),
			"config.yml: scores: group 0 gives no points"},
		{"points of a group without tests", expected("{points: 100, expected: {9: {points: 40}}}"),
			"sinol_expected_scores: sum.cpp: group 9 has no tests"},
		{"folder as a test", polygonPack.without("tests/03").with(pack{"tests/03/x": ""}),
			`line endings of test "03": "03" is a folder; replace it with the file`},
		{"folder as an answer", sinolPack.without("out/sum0.out").with(pack{"out/sum0.out/x": ""}),
			`read test "0": "sum0.out" is a folder; replace it with the file`},
		{"inputs in another folder", cms.with(pack{"Input/input0.txt": ""}), "Input/input0.txt is not used"},
		{"files of a generator that makes no input", cms.with(pack{"gen/generatore.py": "", "gen/words.txt": "",
			"gen/limits.py": "", "gen/old/1.txt": "", "gen/make.sh": ""}),
			"gen/make.sh is not used\ngen/old/1.txt is not used"},
		{"solutions in a folder", cms.with(pack{"sol/old/y.cpp": "", "sol/x.h": "", "sol/stub.cpp": "",
			"sol/template.cpp": ""}), "sol/old/y.cpp is not used\nsol/stub.cpp is not used\nsol/x.h is not used"},
		{"what other tools leave", cms.with(pack{"gen/__pycache__/x.pyc": "", "gen/.cache/x": "", "gen/x.txt": ""}),
			"gen/x.txt is not used"},
		{"files for SIO2", sinolPack.with(pack{"no-precompile": "", "no-checks": ""}), "no-checks is not used"},
		{"task without a name", cms.with(pack{"task.yaml": "n_input: 1"}),
			"task.yaml has no name; only sol/solution and sol/soluzione must be right"},
		{"checker with another name", cms.with(pack{"check/Checker.cpp": ""}), "check/Checker.cpp is not used"},
		{"key next to args", dmoj, `unknown key "precision" in the checker floats`},
		{"points of a wrong type", expected("{points: all}"), "sinol_expected_scores: sum.cpp: "},
		{"key of an expectation", expected("{points: 100, groups: {}}"), `unknown key "groups" in config.yml: sinol_expected`},
		{"key of a group", expected("{points: 100, expected: {1: {point: 40}}}"), `unknown key "point" in config.yml: sinol_`},
		{"group without a value", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nscores: {1: 100, 2: }"}),
			"scores: group 2 has tests, and no number of points"},
		{"group with a percentage", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nscores: {1: 40%, 2: 60}"}),
			`config.yml: scores: line 2: the text "40%" is not a number`},
		{"groups as a list", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nscores: [40, 60]"}),
			"config.yml: scores: line 2: a list is not a mapping"},
		{"two values", dmoj.with(pack{"init.yml": "test_cases:\n- {in: a, out: a, points: 50%}\n" +
			"- {in: [a], out: a, points: '50'}"}),
			`test_cases: line 2: the text "50%" is not a number; line 3: a list is not a text; line 3: the text "50" is not a`},
		{"points of all tests", cms.with(pack{"task.yaml": "n_input: 1\nscore_type: Sum\nscore_type_parameters: {a: b}"}),
			"task.yaml: score_type_parameters: line 3: a mapping is not a number"},

		{"limit of no group", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\ntime_limits: {2c: 500}"}),
			`config.yml: the limits of "2c" have no effect`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			said := fmt.Sprint(err)
			if err == nil {
				said = strings.Join(p.Findings, "\n")
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("judged says %q, want %q", said, tt.want)
			}
			if strings.Contains(said, "yaml.") || strings.Contains(said, "!!") {
				t.Errorf("judged says %q, which has types of Go or YAML", said)
			}
		})
	}
}
