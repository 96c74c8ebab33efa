package problem

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

var sinolPack = pack{"config.yml": `title: Sum
title_pl: Suma
sinol_task_id: sum
scores: {1: 40, 2: 60}
time_limit: 1000
time_limits: {2: 3000, 2b: 500}
memory_limit: 65536
memory_limits: {1: 32768}
subtask_dependencies: {2: [1]}
extra_compilation_files: [sumlib.h, sumlib.py]
extra_compilation_args: {cpp: sumlib.cpp}
sinol_undocumented_time_tool: time
sinol_total_score: 100
sinol_expected_scores:
  sum.cpp: {expected: {0: {points: 0, status: OK}, 1: {points: 40, status: OK}, 2: {points: 60, status: OK}}, points: 100}
  sums1.py: {expected: {1: {points: 40, status: OK}, 2: {points: 0, status: TL}}, points: 40}
`, "in/sum0.in": "", "in/sum3ocen.in": "", "in/sum1a.in": "", "in/sum1b.in": "", "in/sum2a.in": "", "in/sum2b.in": "",
	"out/sum0.out": "", "out/sum3ocen.out": "", "out/sum1a.out": "", "out/sum1b.out": "", "out/sum2a.out": "",
	"prog/sum.cpp": "", "prog/sums1.py": "", "prog/sumb2.cpp": "", "prog/sumlib.cpp": "", "prog/sumlib.h": "",
	"prog/sumlib.py": "", "prog/suminwer.cpp": "", "prog/sumingen.sh": "", "prog/oi.h": "", "doc/sumzad.tex": ""}

func TestSinol(t *testing.T) {
	without := func(key string) pack { // removes a line of config.yml
		var left []string
		for line := range strings.Lines(sinolPack["config.yml"]) {
			if !strings.HasPrefix(line, key) {
				left = append(left, line)
			}
		}
		return sinolPack.with(pack{"config.yml": strings.Join(left, "")})
	}
	config := func(more string, changes ...string) pack { // changes are old texts and new ones
		text := strings.NewReplacer(changes...).Replace(sinolPack["config.yml"])
		return sinolPack.with(pack{"config.yml": text + more + "\n"})
	}
	whole := summary{Format: Sinol, Name: "Sum", Time: time.Second, Rule: TimeRule{2, 1, time.Second},
		Tests: []string{"0", "3ocen", "1a", "1b", "2a", "2b"},
		Groups: []string{`"" sum by_score unbounded [] continue=true`, `"group0" min by_score 0 [] continue=false`,
			`"group1" min by_score 40 [] continue=false`, `"group2" min by_score 60 [group1] continue=false`},
		Checker: "words", Validators: []string{"prog/suminwer.cpp cpp 0"},
		Submissions: []string{"prog/sum.cpp cpp AC group1:40-40 group2:60-60 :100-100 lower",
			"prog/sumb2.cpp cpp", "prog/sums1.py python group1:40-40 group2:0-0 :40-40"},
		Findings: []string{"nothing is expected of prog/sumb2.cpp, as sinol_expected_scores does not name it; " +
			"number of such solutions: 1"}}
	for _, tt := range []struct {
		name   string
		pack   pack
		change func(s *summary)
	}{
		{"whole", sinolPack, nil},
		{"ID from the tests", without("sinol_task_id"), nil},
		{"equal points", without("scores").with(pack{"in/sum3.in": ""}), func(s *summary) {
			s.Tests = append(s.Tests, "3")
			s.Groups = []string{s.Groups[0], s.Groups[1], `"group1" min by_score 33 [] continue=false`,
				`"group2" min by_score 33 [group1] continue=false`, `"group3" min by_score 34 [] continue=false`}
		}},
		{"checker", sinolPack.with(pack{"prog/sumchk.cpp": ""}), func(s *summary) {
			s.Checker = "sio prog/sumchk.cpp cpp 3"
			s.Findings = append([]string{"unsupported: subtask_dependencies with a checker; a group gives no points if " +
				"one that it depends on gives only a part of them"}, s.Findings...)
		}},
		{"points by time", config("sinol_contest_type: oi", "points: 60", "points: 35"), func(s *summary) {
			s.Submissions[0] = "prog/sum.cpp cpp AC group1:40-40 group2:35-60 :100-125 lower"
			s.Findings = append([]string{"unsupported: sinol_contest_type: oi; points do not depend on the time of a " +
				"test"}, s.Findings...)
		}},
		{"icpc", config("sinol_contest_type: icpc"), func(s *summary) {
			s.Groups = []string{`"" sum first_error unbounded [] continue=false`,
				`"group0" min first_error 0 [] continue=false`, `"group1" min first_error 0 [] continue=false`,
				`"group2" min first_error 0 [group1] continue=false`}
			s.Submissions[0], s.Submissions[2] = "prog/sum.cpp cpp AC lower", "prog/sums1.py python AC"
		}},
		{"findings", config("fake_time: zero\nextra_execution_files: {py: [x]}\nnum_cats: 9", "2: [1]", "2: [1], 3: [2]",
			"{1: 40", "{4: 1, 3: 0, 1: 40", "cpp: sumlib.cpp", "cpp: [sumlib.cpp, -lm]", "scores:\n",
			"scores:\n  sum9.py: {points: 3}\n").with(pack{"in/sum3.in": "", "in/3.in": "", "out/sum9.out": "",
			"prog/notes.txt": ""}), func(s *summary) {
			s.Tests = append(s.Tests, "3")
			s.Groups = append(s.Groups, `"group3" min by_score 0 [group2] continue=false`)
			s.Findings = []string{"unsupported: fake_time: zero; programs see the time of the host",
				"unsupported: extra_execution_files; submissions do not see them",
				"unsupported: extra_compilation_args: cpp: -lm; judged compiles with files of prog/, and without further " +
					"options",
				"unsupported: subtask_dependencies: group 3 without group 1, on which group 2 depends; it has to pass, too",
				"config.yml: scores: group 4 has no tests", s.Findings[0],
				"config.yml: sinol_expected_scores: there is no solution prog/sum9.py", "in/3.in is not used",
				"out/sum9.out is not used", "prog/notes.txt is not used", `unknown key "num_cats" in config.yml`}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			want, got := whole, summarize(p)
			want.Submissions = append([]string{}, whole.Submissions...)
			if tt.change != nil {
				tt.change(&want)
			}
			got.Submissions = nil
			for _, s := range p.Submissions {
				got.Submissions = append(got.Submissions, expectedOf(s))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// expectedOf is a solution with what is expected of it, in short.
func expectedOf(s Submission) string {
	text := s.Name + " " + s.Language
	for _, e := range s.Expected {
		if e.Final != nil {
			text += " " + strings.Join(e.Final, ",")
		}
		if e.Score != nil {
			text += fmt.Sprintf(" %s:%g-%g", e.Tests, e.Score[0], e.Score[1])
		}
	}
	if s.Lower {
		text += " lower"
	}
	return text
}

// TestSinolOverrides: limits of languages are factors, where one factor says the same for all tests.
func TestSinolOverrides(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		want         map[string]api.Factors
		findings     int
	}{
		{"both", "override_limits: {py: {time_limit: 4500, memory_limit: 131072}}",
			map[string]api.Factors{"python": {Time: 4.5, Memory: 2}}, 0},
		{"one", "override_limits: {py: {time_limit: 4500}, cpp: {memory_limit: 32768}}",
			map[string]api.Factors{"python": {Time: 4.5}, "cpp": {Memory: 0.5}}, 0},
		{"limits of groups", "time_limits: {1: 2000}\noverride_limits: {py: {time_limit: 4500}}", nil, 1},
		{"of groups in a language", "override_limits: {py: {time_limits: {1: 4500}}}", nil, 1},
		{"unknown language", "override_limits: {pyx: {time_limit: 4500}}", nil, 1},
		{"unknown key", "override_limits: {py: {time_limit: 4500, cpus: 2}}",
			map[string]api.Factors{"python": {Time: 4.5}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, pack{"config.yml": "time_limit: 1000\nmemory_limit: 65536\n" + tt.config, "in/x1.in": "",
				"out/x1.out": ""}.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if diff := cmp.Diff(tt.want, p.Factors); diff != "" {
				t.Errorf("factors (-want +got)\n%s", diff)
			}
			if len(p.Findings) != tt.findings {
				t.Errorf("findings %q, want %d", p.Findings, tt.findings)
			}
		})
	}
}

// TestSinolFiles: the limits of tests, the files that submissions get, and the answer that is made.
func TestSinolFiles(t *testing.T) {
	p, err := openTest(t, sinolPack.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var limits, includes, recipes []string
	for _, x := range p.Tests {
		limits = append(limits, fmt.Sprintf("%s %d %s", x.Name, x.Limits.CPUTimeMS, x.Limits.Memory))
	}
	for _, language := range []string{"", "cpp", "python"} {
		for _, f := range p.Includes[language] {
			includes = append(includes, language+" "+f.Name)
		}
	}
	for _, r := range p.Recipes {
		recipes = append(recipes, fmt.Sprintf("%s %s files=%d ready=%v %s<-%s", r.Test, r.Command, len(r.Run.Program.Files),
			r.Ready, filepath.Base(r.Products[0].Path), filepath.Base(r.Input)))
	}
	for _, x := range []struct{ want, got any }{
		{[]string{"0 0 0B", "3ocen 0 0B", "1a 1000 32MiB", "1b 1000 32MiB", "2a 3000 64MiB", "2b 500 64MiB"}, limits},
		{[]string{" sumlib.h", " sumlib.py", "cpp sumlib.cpp"}, includes},
		{[]string{"2b prog/sum.cpp files=4 ready=true sum2b.out<-sum2b.in"}, recipes},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestSinolRefused(t *testing.T) {
	config := func(text string) pack { return sinolPack.with(pack{"config.yml": text}) }
	for _, tt := range []struct {
		name string
		pack pack
		want string
	}{
		{"no tests", pack{"config.yml": "time_limit: 1000", "prog/abc.cpp": ""}, "in/ has no tests"},
		{"tests of another task", config("sinol_task_id: abc"), "in/ has no tests"},
		{"examples alone", pack{"config.yml": "scores: {1: 100}", "in/abc0.in": "", "out/abc0.out": ""},
			"no test gives points; group 0 never does; make the inputs of other groups by sinol-make gen"},
		{"group without points", config("sinol_task_id: sum\nscores: {1: 100}"), "scores: group 2 has tests, and no number"},
		{"negative points", config("sinol_task_id: sum\nscores: {1: -1, 2: 1}"), "scores: group 1 has tests, and no number"},
		{"limit", config("sinol_task_id: sum\ntime_limits: {1: 0}"), "time_limits: 1: 0 is out of range"},
		{"limit in seconds", config("sinol_task_id: sum\ntime_limit: 0.5"), "time_limit: 0.5 is less than 1"},
		{"limit of a group in seconds", config("sinol_task_id: sum\ntime_limits: {1: 0.5}"),
			"time_limits: 1: 0.5 is out of range"},
		{"factor", config("sinol_task_id: sum\ntime_limit: 1\noverride_limits: {py: {time_limit: 200}}"),
			"override_limits: py: time_ratio: 200 is out of range"},
		{"library", config("sinol_task_id: sum\nextra_compilation_files: [x.h]"), `extra_compilation_files: "prog/x.h" is missing`},
		{"contest", config("sinol_task_id: sum\nsinol_contest_type: ioi"), `sinol_contest_type: "ioi" is unknown`},
		{"interactor", sinolPack.with(pack{"prog/sumsoc.cpp": ""}), "prog/sumsoc.cpp is an interactor of SIO2"},
		{"two checkers", sinolPack.with(pack{"prog/sumchk.cpp": "", "prog/sumchk.py": ""}),
			"prog/sumchk.cpp and prog/sumchk.py are both checkers"},
		{"no solution", sinolPack.without("prog/sum.cpp"), `make the output of test "2b": prog/ has no solution sum.cpp`},
		{"later group", config("sinol_task_id: sum\nsubtask_dependencies: {1: [2]}"), `requires group "group2", which is not`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := openTest(t, tt.pack.folder(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestSinolMissingLimits: sinol-make requires limits for each test; a test without one next to others is a finding.
func TestSinolMissingLimits(t *testing.T) {
	small := pack{"in/x0.in": "", "out/x0.out": "", "in/x1a.in": "", "out/x1a.out": "", "in/x1b.in": "", "out/x1b.out": ""}
	for config, want := range map[string][]string{
		"memory_limit: 1000": nil,
		"time_limits: {1: 500}\nmemory_limits: {1b: 1000}": {
			"config.yml: time_limits has no limit of test 0; it gets the largest one of the others",
			"config.yml: memory_limits has no limit of 2 tests, such as 0; they get the default of the host"},
		"time_limits: {0: 100, 1: 500}\nmemory_limits: {0: 1000}\nmemory_limit: 2000": nil,
	} {
		p, err := openTest(t, small.with(pack{"config.yml": config}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Findings); diff != "" {
			t.Errorf("%s: findings (-want +got)\n%s", config, diff)
		}
		p.Close()
	}
	p, err := openTest(t, small.with(pack{"config.yml": "sinol_contest_type: OIJ"}).folder(t))
	if err != nil {
		t.Fatalf("sinol-make reads the contest type regardless of case: %v", err)
	}
	p.Close()
}

// TestSinolMissingSolution: points of a solution that is not there cannot be compared.
func TestSinolMissingSolution(t *testing.T) {
	p, err := openTest(t, sinolPack.with(pack{"config.yml": "sinol_task_id: sum\n" +
		"sinol_expected_scores: {sum9.py: {points: 3}}"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if diff := cmp.Diff([]string{"config.yml: sinol_expected_scores: there is no solution prog/sum9.py"},
		p.Unchecked); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSinolRoundsUp: as in SIO2 and sinol-make, a part of the points of a test is rounded up to a whole number.
func TestSinolRoundsUp(t *testing.T) {
	p, err := openTest(t, sinolPack.with(pack{"prog/sumchk.cpp": "",
		"config.yml": strings.NewReplacer("1: 40, 2: 60", "1: 50, 2: 50", "{2: [1]}", "{}").Replace(
			sinolPack["config.yml"])}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		part float64
		want string // verdict and score of the group and of the problem
	}{
		{0, "WA 0 PC 50"}, {0.001, "PC 1 PC 51"}, {0.49, "PC 25 PC 75"}, {0.5, "PC 25 PC 75"}, {0.51, "PC 26 PC 76"},
		{0.14, "PC 7 PC 57"}, {0.99, "AC 50 AC 100"}, {1, "AC 50 AC 100"},
	} {
		var tests []api.TestReport
		for _, test := range p.Tests {
			r := api.TestReport{Name: test.Name, Verdict: api.Accepted, Score: new(1.0), Ratio: true}
			if test.Name == "1b" && tt.part < 1 {
				r.Score, r.Verdict = &tt.part, api.Partial
			}
			if *r.Score == 0 {
				r.Verdict = api.WrongAnswer
			}
			tests = append(tests, r)
		}
		r, err := p.Scheme.Result(tests, api.StopNever, nil)
		if err != nil {
			t.Fatalf("a part of %g: %v", tt.part, err)
		}
		one := r.Groups[1]
		if got := fmt.Sprintf("%s %g %s %g", one.Verdict, *one.Score, r.Verdict, *r.Score); got != tt.want {
			t.Errorf("a part of %g: %s, want %s", tt.part, got, tt.want)
		}
	}
}
