package problem

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
)

var cmsPack = pack{"task.yaml": "name: sum\ntitle: A sum\ntime_limit: 0.5\nmemory_limit: 64\ntoken_mode: disabled\n",
	"gen/GEN":           "# ST is a command\n#ST: 0\n#COPY: att/one.txt\n#ST: 40.5 \n1 2 # small\n\n3\n#ST:59.5\n4\n",
	"gen/generatore.py": "", "gen/limits.py": "", "gen/GEN.md": "", "att/one.txt": "",
	"input/input3.txt": "", "output/output3.txt": "", "output/output9.txt": "",
	"cor/correttore.cpp": "", "cor/correttore": "\x7fELF", "cor/testlib.h": "",
	"sol/grader.cpp": "", "sol/grader.py": "", "sol/sum.h": "", "sol/sum.cpp": "", "sol/slow.cpp": "",
	"sol/template.cpp": ""}

// TestCMSPython2: the first line of a generator says which Python runs it, with its modules.
func TestCMSPython2(t *testing.T) {
	for first, want := range map[string]string{"#!/usr/bin/env python2\n": "python2", "#!/usr/bin/env python3\n": "python",
		"": "python"} {
		p, err := openTest(t, cmsPack.with(pack{"gen/generatore.py": first}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		got := p.Recipes[0].Run.Program
		if got.Language != want || len(got.Files) != 3 {
			t.Errorf("%q: language %q with %d files, want %q with 3", first, got.Language, len(got.Files), want)
		}
	}
}

func TestCMS(t *testing.T) {
	p, err := openTest(t, cmsPack.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := summary{Format: CMS, Name: "A sum", Time: 500 * time.Millisecond, Rule: TimeRule{2, 1, time.Second},
		Tests: []string{"000", "001", "002", "003"}, Files: "input.txt output.txt",
		Groups: []string{`"" sum by_score unbounded [] continue=true`, `"subtask0" min by_score 0 [] continue=false`,
			`"subtask1" min by_score 40.5 [] continue=false`, `"subtask2" min by_score 59.5 [] continue=false`},
		Checker: "cms cor/correttore.cpp cpp 2",
		Submissions: []string{"sol/slow.cpp cpp [] lower=false upper=false", "sol/sum.cpp cpp" +
			" [{Tests: Permitted:[] Required:[] Final:[AC] Score:<nil> Message:}] lower=true upper=false"},
		Findings: []string{"unsupported: sol/grader.py; submissions in python are judged without it",
			"solutions in sol/ have no expected result, except solution, soluzione and sum",
			"output/output9.txt is not used"}}
	if diff := cmp.Diff(want, summarize(p)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var got []string
	for _, r := range p.Recipes {
		files := 0
		if r.Run.Program.Files != nil {
			files = len(r.Run.Program.Files)
		}
		got = append(got, fmt.Sprintf("%s %s %q files=%d ready=%v %s<-%s", r.Test, r.Command, r.Run.Program.Args, files,
			r.Ready, filepath.Base(r.Products[0].Path), filepath.Base(r.Input)))
	}
	recipes := []string{`001 generator 1 2 ["1" "2"] files=3 ready=true input1.txt<-.`,
		`002 generator 3 ["3"] files=3 ready=true input2.txt<-.`,
		`000 sol/sum.cpp [] files=3 ready=true output0.txt<-one.txt`,
		`001 sol/sum.cpp [] files=3 ready=false output1.txt<-input1.txt`,
		`002 sol/sum.cpp [] files=3 ready=false output2.txt<-input2.txt`}
	if diff := cmp.Diff(recipes, got); diff != "" {
		t.Errorf("recipes (-want +got)\n%s", diff)
	}
	if want := units.Bytes(64 << 20); p.Limits.Memory != want {
		t.Errorf("memory limit %s, want %s", p.Limits.Memory, want)
	}
	last := p.Scheme.Root.Members[1].Group.Members[0]
	points := 40.5
	if diff := cmp.Diff(api.Member{Test: "001", Accept: 40.5, MaxScore: &points}, last); diff != "" {
		t.Errorf("test of a subtask (-want +got)\n%s", diff)
	}
}

// TestCMSShared: a subtask that has the tests of an earlier one requires it. Each test is judged once.
func TestCMSShared(t *testing.T) {
	task := func(parameters, more string) pack {
		p := pack{"task.yaml": "nome_breve: x\nnome: Old keys\nn_input: 4\nscore_type: GroupMin\nscore_type_parameters: " +
			parameters + "\n", "sol/x.py": "", "gen/valida.py": "", "gen/GEN": "#ST: 1\n#STDEP: a\n1\n2\n3\n4\n"}
		if more != "" {
			p[more] = ""
		}
		for i := range 4 {
			p[fmt.Sprintf("input/input%d.txt", i)], p[fmt.Sprintf("output/output%d.txt", i)] = "", ""
		}
		return p
	}
	findings := []string{"unsupported: gen/valida.py; the inputs of a task are not validated",
		"unsupported: STDEP in gen/GEN; as in CMS, subtasks have the tests below them"}
	const checked = "unsupported: tests of several subtasks with a checker; a subtask gives no points if a test of an " +
		"earlier one gives only a part of them"
	for _, tt := range []struct {
		name   string
		pack   pack
		groups []string
		want   string // the checker, or a part of the error
		more   []string
	}{
		{"part of a later one", task(`[[30, "000|001"], [70, "00[0-3]"]]`, ""),
			[]string{`"subtask0" min by_score 30 [] continue=false`,
				`"subtask1" min by_score 70 [subtask0] continue=false`}, "words", nil},
		{"two parts, and a checker", task(`[[10, "000"], [20, "000|001"], [70, "000|001|002|003"]]`, "check/checker.py"),
			[]string{`"subtask0" min by_score 10 [] continue=false`, `"subtask1" min by_score 20 [subtask0] continue=false`,
				`"subtask2" min by_score 70 [subtask0 subtask1] continue=false`}, "cms check/checker.py python 1",
			[]string{checked}},
		{"names of tests", task(`[[30, ["001", "000"]], [70, ["002", "003"]]]`, ""),
			[]string{`"subtask0" min by_score 30 [] continue=false`, `"subtask1" min by_score 70 [] continue=false`},
			"words", nil},
		{"mappings", task(`[{max_score: 30, testcases: 2, always_show_testcases: true}, {max_score: 70, testcases: 2, x: 1}]`,
			""), []string{`"subtask0" min by_score 30 [] continue=false`, `"subtask1" min by_score 70 [] continue=false`},
			"words", []string{`unknown key "x" in score_type_parameters`}},
		{"a name that no test has", task(`[[30, ["1"]], [70, ["002", "003"]]]`, ""), nil, `no test has the name "1"`, nil},
		{"a mapping without tests", task(`[{max_score: 30}]`, ""), nil,
			"tests <nil> of a group are neither a number nor a pattern nor a list of names", nil},
		{"numbers and patterns", task(`[[30, 2], [70, "002|003"]]`, ""), nil,
			"the groups give their tests in different ways", nil},
		{"some of its tests", task(`[[30, "000|001"], [70, "001|002|003"]]`, ""), nil,
			"subtask1 has test 001 of subtask0, and not its test 000", nil},
		{"nothing else", task(`[[30, "000|001"], [40, "002|003"], [30, "00."]]`, ""), nil,
			"subtask2 has only tests of earlier subtasks", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			if err != nil {
				if tt.groups != nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			defer p.Close()
			got := summarize(p)
			if diff := cmp.Diff(tt.groups, got.Groups[1:]); diff != "" || got.Checker != tt.want || got.Name != "Old keys" {
				t.Errorf("name %q, checker %q, groups (-want +got)\n%s", got.Name, got.Checker, diff)
			}
			if diff := cmp.Diff(append(slices.Clone(findings), tt.more...), got.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]string{"000", "001", "002", "003"}, got.Tests); diff != "" {
				t.Errorf("tests (-want +got)\n%s", diff)
			}
		})
	}
}

// TestCMSAnswer: the official solution makes the output for an existing input, without a generator.
func TestCMSAnswer(t *testing.T) {
	p, err := openTest(t, pack{"task.yaml": "n_input: 1", "input/input0.txt": "", "sol/solution.py": ""}.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if len(p.Recipes) != 1 || !p.Recipes[0].Ready || p.Recipes[0].Command != "sol/solution.py" {
		t.Errorf("recipes %+v, want one that is ready, of sol/solution.py", p.Recipes)
	}
}

func TestCMSRefused(t *testing.T) {
	whole := pack{"input/input0.txt": "", "output/output0.txt": "", "sol/x.py": ""}
	for _, tt := range []struct {
		name string
		pack pack
		want string
	}{
		{"output only", whole.with(pack{"task.yaml": "n_input: 1\noutput_only: true"}), "contestants submit outputs"},
		{"number of tests", whole.with(pack{"task.yaml": "name: x"}), "0 tests; use 1 to 20000, with n_input"},
		{"tests of task-maker", whole.with(pack{"task.yaml": "name: x", "gen/cases.gen": ""}),
			"no tests; gen/cases.gen describes them: run task-maker before"},
		{"two numbers", cmsPack.with(pack{"task.yaml": "n_input: 3"}), "gen/GEN has 4 tests, but n_input is 3"},
		{"no such test", whole.with(pack{"task.yaml": "n_input: 2"}),
			"input/input1.txt is missing and gen/GEN has no line"},
		{"generator", cmsPack.without("gen/generatore.py"), "gen/ has neither a generator nor a generatore"},
		{"copy", cmsPack.without("att/one.txt"), `gen/GEN copies "att/one.txt", which is missing`},
		{"solution", cmsPack.without("sol/sum.cpp"), `make the output of test "000": sol/ has no official solution`},
		{"two commands", cmsPack.with(pack{"gen/GEN": "1 #COPY: x"}), "line 1: a test and a command on one line"},
		{"points", cmsPack.with(pack{"gen/GEN": "#ST: NaN"}), `line 1: points "NaN" are not a number`},
		{"before", cmsPack.with(pack{"gen/GEN": "1\n#ST: 3"}), "line 2: tests before the first subtask"},
		{"two checkers", cmsPack.with(pack{"cor/correttore.py": ""}), "are sources of the same program"},
		{"score type", whole.with(pack{"task.yaml": "n_input: 1\nscore_type: Best\nscore_type_parameters: 1"}),
			`unknown score_type "Best"`},
		{"groups", whole.with(pack{"task.yaml": "n_input: 1\nscore_type: GroupMin\nscore_type_parameters: [[1]]"}),
			"a group needs points and tests"},
		{"time limit", whole.with(pack{"task.yaml": "n_input: 1\ntime_limit: 0.0001"}),
			"time_limit: 0.0001 seconds are less than a millisecond"},
		{"instances", whole.with(pack{"task.yaml": "n_input: 1\nnum_processes: 99", "check/manager.py": ""}),
			"num_processes 99 is out of range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := openTest(t, tt.pack.folder(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestCMSFileNames: without a value a file is stdin or stdout, as CMS documents it. Without the key it has a default name.
func TestCMSFileNames(t *testing.T) {
	for keys, want := range map[string]string{"": "input.txt output.txt", "infile: a.in\n": "a.in output.txt",
		"infile: ''\noutfile: ''\n": " ", "infile:\noutfile: ~\n": " ", "outfile:\n": "input.txt "} {
		p, err := openTest(t, cmsPack.with(pack{"task.yaml": cmsPack["task.yaml"] + keys}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.InputFile + " " + p.OutputFile; got != want {
			t.Errorf("%q: files %q, want %q", keys, got, want)
		}
	}
}
