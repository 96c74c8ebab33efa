package intake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
)

func defaults() config.Config { return config.Default() }

func minimal() api.Job {
	return api.Job{Program: api.File{Blob: emptyDigest}, Tests: []api.Test{{Name: "1"}}}
}

func TestCompleteFillsDefaults(t *testing.T) {
	got, err := Complete(defaults(), minimal())
	if err != nil {
		t.Fatal(err)
	}
	want := minimal()
	want.Command = []string{"{program}"}
	want.Checker = &api.Checker{Kind: "tokens"}
	want.Limits = api.Limits{CPUTimeMS: 2000, WallTimeMS: 5000, Memory: 256 << 20, Output: 64 << 20, Stack: 256 << 20,
		Processes: 64}
	want.CPUs = 1
	want.Repeats.Policy = api.Confirm
	want.Stop = api.StopFirstFailure
	want.Priority = api.Practice
	want.Pool = "default"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := Complete(defaults(), got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("completed twice (-once +twice):\n%s", diff)
	}
}

// TestSchemeIsChecked checks that a problem that was stored before groups were validated is refused.
func TestSchemeIsChecked(t *testing.T) {
	group := func(name string, requires ...string) api.Member {
		return api.Member{Group: &api.Group{Name: name, RequirePass: requires, Members: []api.Member{{Test: name}}}}
	}
	for _, tt := range []struct {
		members []api.Member
		want    string // "" means no error
	}{
		{[]api.Member{group("1"), group("2", "1")}, ""},
		{[]api.Member{group("1", "2"), group("2")},
			`problem: group "1" requires group "2", which is not judged before it; ` +
				"require an earlier group; change the package and send it again"},
		{[]api.Member{group("1")}, `problem: test "2" is in no group; change the package and send it again`},
	} {
		j := minimal()
		j.Tests = []api.Test{{Name: "1"}, {Name: "2"}}
		j.Scheme = &api.Scheme{Root: &api.Group{Members: tt.members}}
		got := ""
		if _, err := Complete(defaults(), j); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestDerivedLimits(t *testing.T) {
	tests := []struct {
		name      string
		change    func(*config.Config)
		give      api.Limits
		wallMS    int64
		stackSize int64
	}{
		{"from the job's own", nil, api.Limits{CPUTimeMS: 500, Memory: 8 << 20}, 2000, 8 << 20},
		{"at most the maximum", func(c *config.Config) { c.Limits.Max.WallTime = c.Limits.Max.CPUTime },
			api.Limits{CPUTimeMS: 60000}, 60000, 256 << 20},
		{"configured", func(c *config.Config) { c.Limits.Default.WallTime = 7e9; c.Limits.Default.Stack = 1 << 18 },
			api.Limits{CPUTimeMS: 500}, 7000, 1 << 18},
		// A problem's limit is longer than that of the operator, who has not thought of it: its solutions are not WTL.
		{"configured, shorter than the CPU time", func(c *config.Config) { c.Limits.Default.WallTime = 7e9 },
			api.Limits{CPUTimeMS: 10_000}, 21_000, 256 << 20},
		{"configured, as long as the CPU time", func(c *config.Config) { c.Limits.Default.WallTime = 7e9 },
			api.Limits{CPUTimeMS: 7000}, 15_000, 256 << 20},
		{"given", nil, api.Limits{WallTimeMS: 1, Stack: 128 << 10}, 1, 128 << 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := defaults()
			if tt.change != nil {
				tt.change(&c)
			}
			j := minimal()
			j.Limits = tt.give
			got, err := Complete(c, j)
			if err != nil {
				t.Fatal(err)
			}
			if got.Limits.WallTimeMS != tt.wallMS || int64(got.Limits.Stack) != tt.stackSize {
				t.Errorf("wall %d ms, stack %d; want %d, %d", got.Limits.WallTimeMS, got.Limits.Stack, tt.wallMS,
					tt.stackSize)
			}
		})
	}
}

// TestLimitsOfTests checks that a test inherits the limits that it does not set from the job, and that limits derived
// from its own limits follow those.
func TestLimitsOfTests(t *testing.T) {
	j := minimal()
	j.Limits = api.Limits{CPUTimeMS: 500, WallTimeMS: 9000, Memory: 8 << 20, Output: 1 << 20, Stack: 4 << 20,
		Processes: 2}
	var want []api.Test
	for name, limits := range map[string][2]api.Limits{
		"none": {},
		"time": {{CPUTimeMS: 3000},
			{CPUTimeMS: 3000, WallTimeMS: 7000, Memory: 8 << 20, Output: 1 << 20, Stack: 4 << 20, Processes: 2}},
		"memory": {{Memory: 64 << 20},
			{CPUTimeMS: 500, WallTimeMS: 9000, Memory: 64 << 20, Output: 1 << 20, Stack: 64 << 20, Processes: 2}},
		"rest": {{WallTimeMS: 1, Output: 1, Stack: 1 << 20, Processes: 1},
			{CPUTimeMS: 500, WallTimeMS: 1, Memory: 8 << 20, Output: 1, Stack: 1 << 20, Processes: 1}},
	} {
		j.Tests = append(j.Tests, api.Test{Name: name, Limits: limits[0]})
		want = append(want, api.Test{Name: name, Limits: limits[1]})
	}
	sent := slices.Clone(j.Tests)
	got, err := Complete(defaults(), j)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Tests[len(got.Tests)-len(want):]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sent, j.Tests); diff != "" {
		t.Errorf("the job that was given has changed (-before +after):\n%s", diff)
	}
}

func TestRepeats(t *testing.T) {
	tests := []struct{ give, want api.Repeats }{
		{api.Repeats{}, api.Repeats{Policy: api.Confirm}},
		{api.Repeats{Min: 3}, api.Repeats{Min: 3, Max: 3, Policy: api.Confirm}},
		{api.Repeats{Max: 3}, api.Repeats{Min: 1, Max: 3, Policy: api.Confirm}},
		{api.Repeats{Min: 2, Max: 3, Policy: api.Single}, api.Repeats{Min: 2, Max: 3, Policy: api.Single}},
	}
	for _, tt := range tests {
		j := minimal()
		j.Repeats = tt.give
		got, err := Complete(defaults(), j)
		if err != nil {
			t.Fatal(err)
		}
		if got.Repeats != tt.want {
			t.Errorf("%v became %v, want %v", tt.give, got.Repeats, tt.want)
		}
	}
}

func TestCompleteErrors(t *testing.T) {
	text := "x"
	long := strings.Repeat("n", 256)
	tests := []struct {
		name   string
		change func(*api.Job)
		want   []api.FieldError
	}{
		{"no program", func(j *api.Job) { j.Program = api.File{} }, []api.FieldError{{Field: "program",
			Detail: "no content"}}},
		{"two contents", func(j *api.Job) { j.Program.Text = &text }, []api.FieldError{{Field: "program",
			Detail: "2 contents"}}},
		{"digest", func(j *api.Job) { j.Program.Blob = strings.ToUpper(emptyDigest) },
			[]api.FieldError{{Field: "program.blob", Detail: "no SHA-256"}}},
		{"no tests", func(j *api.Job) { j.Tests = nil }, []api.FieldError{{Field: "tests", Detail: "none"}}},
		{"too many tests", func(j *api.Job) {
			j.Tests = manyTests(1001)
		}, []api.FieldError{{Field: "tests", Detail: "1001; send at most 1000, the bound of limits.max.tests"}}},
		{"test names", func(j *api.Job) {
			j.Tests = []api.Test{{}, {Name: "a"}, {Name: "a"}, {Name: long}, {Name: "a\x1b[2J"}, {Name: "\xff"}}
		}, []api.FieldError{
			{Field: "tests[0].name", Detail: "empty"}, {Field: "tests[2].name",
				Detail: "name of tests[1] already"}, {Field: "tests[3].name", Detail: "256 bytes"},
			{Field: "tests[4].name", Detail: `"a\x1b[2J"`}, {Field: "tests[5].name", Detail: "printable"},
		}},
		{"test files", func(j *api.Job) { j.Tests[0].Input, j.Tests[0].Answer = &api.File{}, &api.File{Blob: "../x"} },
			[]api.FieldError{{Field: "tests[0].input", Detail: "no content"}, {Field: "tests[0].answer.blob",
				Detail: `"../x" is no SHA-256`}}},
		{"file names", func(j *api.Job) {
			f := api.File{Blob: emptyDigest}
			j.Files = map[string]api.File{"": f, ".": f, "..": f, "a/../b": f, "d/e/f": f, "ok": f, long: f, "nul\x00": f}
		}, []api.FieldError{
			{Field: `files[""]`, Detail: "empty"}, {Field: `files["."]`,
				Detail: "no path"}, {Field: `files[".."]`, Detail: "no path"},
			{Field: `files["a/../b"]`, Detail: "no path"}, {Field: `files["` + long[:64] + `"…]`,
				Detail: "256 bytes"},
			{Field: `files["nul\x00"]`, Detail: "printable"},
		}},
		{"file in the program's place",
			func(j *api.Job) { j.Files = map[string]api.File{api.ProgramName: {Blob: emptyDigest}} },
			[]api.FieldError{{Field: `files["program"]`, Detail: "where the program goes"}}},
		{"too many files", func(j *api.Job) {
			j.Files = map[string]api.File{}
			for i := range 101 {
				j.Files[fmt.Sprint(i)] = api.File{Blob: emptyDigest}
			}
		}, []api.FieldError{{Field: "files", Detail: "101; send at most 100, the bound of limits.max.files"}}},
		{"command", func(j *api.Job) { j.Command = []string{"", "a\x00"} },
			[]api.FieldError{{Field: "command[1]", Detail: "NUL"}, {Field: "command[0]", Detail: "empty"}}},
		{"long command", func(j *api.Job) { j.Command = []string{strings.Repeat("a", 64<<10-8)} },
			[]api.FieldError{{Field: "command", Detail: "at most 65536"}}},
		{"many arguments", func(j *api.Job) { j.Command = append([]string{"{program}"}, make([]string, 7281)...) },
			[]api.FieldError{{Field: "command", Detail: "65547 bytes, 9 of them for each argument"}}},
		{"checker", func(j *api.Job) { j.Checker = &api.Checker{Kind: "peg"} },
			[]api.FieldError{{Field: "checker.kind", Detail: `"peg" is unknown`}}},
		{"checker without a program", func(j *api.Job) { j.Checker = &api.Checker{Kind: "testlib"} },
			[]api.FieldError{{Field: "checker.program", Detail: "no content"}}},
		{"checker with an empty program",
			func(j *api.Job) { j.Checker = &api.Checker{Kind: "tokens", Program: &api.File{}} },
			[]api.FieldError{{Field: "checker.program", Detail: "leave it out"}}},
		{"built-in checker with a program", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "tokens",
				Program: &api.File{Blob: emptyDigest}}
		},
			[]api.FieldError{{Field: "checker.program", Detail: "leave it out"}}},
		{"names of programs", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "icpc", Name: "a\x1b", Program: &api.File{Blob: emptyDigest}}
			j.Interactor = &api.Interactor{Kind: "testlib", Name: long, Program: api.File{Blob: emptyDigest}}
		}, []api.FieldError{{Field: "checker.name", Detail: "printable"}, {Field: "interactor.name", Detail: "256 bytes"}}},
		{"name of a built-in checker", func(j *api.Job) { j.Checker = &api.Checker{Kind: "tokens", Name: "a"} },
			[]api.FieldError{{Field: "checker.name", Detail: "leave it out"}}},
		{"a comparison and an interactor", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "float:1e-6"}
			j.Interactor = &api.Interactor{Kind: "testlib", Program: api.File{Blob: emptyDigest}}
		}, []api.FieldError{{Field: "checker.kind", Detail: `"float:1e-6" has no effect`}}},
		{"a checker after an interactor that judges", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "testlib", Program: &api.File{Blob: emptyDigest}}
			j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Blob: emptyDigest}}
		}, []api.FieldError{{Field: "checker.kind", Detail: `"testlib" has no effect`}}},
		{"passes without a checker that asks for them", func(j *api.Job) { j.Passes = 2 },
			[]api.FieldError{{Field: "passes", Detail: "nobody can ask for the next pass"}}},
		{"too many passes", func(j *api.Job) {
			j.Passes, j.Interactor = 101, &api.Interactor{Kind: "icpc", Program: api.File{Text: new(string)}}
		}, []api.FieldError{{Field: "passes", Detail: "101 is out of range"}}},
		{"transcript of nothing", func(j *api.Job) { j.Transcript = true },
			[]api.FieldError{{Field: "transcript", Detail: "there is no interactor"}}},
		{"transcripts of many tests", func(j *api.Job) {
			j.Transcript, j.Interactor = true, &api.Interactor{Kind: "icpc", Program: api.File{Text: new(string)}}
			for i := range 200 {
				j.Tests = append(j.Tests, api.Test{Name: fmt.Sprint("more", i)})
			}
		}, []api.FieldError{{Field: "transcript", Detail: "send at most 192 tests"}}},
		{"named files", func(j *api.Job) {
			j.InputFile, j.OutputFile = "a/b", "program"
		}, []api.FieldError{{Field: "input_file", Detail: "without directories"}, {Field: "output_file",
			Detail: "where the program goes"}}},
		{"the same named file", func(j *api.Job) { j.InputFile, j.OutputFile = "x", "x" },
			[]api.FieldError{{Field: "output_file", Detail: "is input_file, too"}}},
		{"a named file that is sent", func(j *api.Job) {
			j.InputFile, j.Files = "x", map[string]api.File{"x": {Blob: emptyDigest}}
		}, []api.FieldError{{Field: "input_file", Detail: "is one of files, too"}}},
		{"a named file and an interactor", func(j *api.Job) {
			j.OutputFile = "x"
			j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Blob: emptyDigest}}
		}, []api.FieldError{{Field: "output_file", Detail: "given with an interactor"}}},
		{"instances without a manager", func(j *api.Job) {
			j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Text: new(string)}, Instances: 2}
		}, []api.FieldError{{Field: "interactor.instances", Detail: "only an interactor of the kind cms has them"}}},
		{"too many instances", func(j *api.Job) {
			j.Interactor = &api.Interactor{Kind: "cms", Program: api.File{Text: new(string)}, Instances: 9,
				Files: map[string]api.File{"input.txt": {Text: new(string)}}}
		}, []api.FieldError{{Field: "interactor.instances", Detail: "9 is out of range"},
			{Field: `interactor.files["input.txt"]`, Detail: "is the name of something else there"}}},
		{"a manager with a transcript and passes", func(j *api.Job) {
			j.Interactor = &api.Interactor{Kind: "cms", Program: api.File{Text: new(string)}}
			j.Transcript, j.Passes = true, 2
		}, []api.FieldError{{Field: "passes", Detail: "nobody can ask for the next pass"}, {Field: "transcript",
			Detail: "cannot be recorded"}}},
		{"stderr of a program that talks", func(j *api.Job) {
			j.StderrToStdout = true
			j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Blob: emptyDigest}}
		}, []api.FieldError{{Field: "stderr_to_stdout", Detail: "given with an interactor"}}},
		{"interactor", func(j *api.Job) { j.Interactor = &api.Interactor{Kind: "peg", Args: []string{"\x00"}} },
			[]api.FieldError{{Field: "interactor.kind", Detail: `"peg" is unknown`}, {Field: "interactor.program",
				Detail: "no content"},
				{Field: "interactor.args[0]", Detail: "has a NUL"}}},
		{"checker with a NUL", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "icpc", Program: &api.File{Blob: emptyDigest}, Args: []string{"a", "b\x00"}}
		}, []api.FieldError{{Field: "checker.args[1]", Detail: "has a NUL"}}},
		{"environment", func(j *api.Job) {
			j.Env = map[string]string{"OK_1": "", "1A": "", "": "", "A=B": "", long: "", "L": long, "N": "a\x00b"}
		}, []api.FieldError{{Field: `env[""]`, Detail: "letters, digits and _"}, {Field: `env["1A"]`,
			Detail: "no digit first"}, {Field: `env["A=B"]`,
			Detail: "for the name"},
			{Field: `env["L"]`, Detail: "256 characters of value; send at most 255"}, {Field: `env["N"]`,
				Detail: "has a NUL"},
			{Field: `env["` + long[:64] + `"…]`, Detail: "1 to 255"}}},
		{"too many variables", func(j *api.Job) {
			j.Env = map[string]string{}
			for i := range 33 {
				j.Env[fmt.Sprint("V", i)] = "x"
			}
		}, []api.FieldError{{Field: "env", Detail: "33; send at most 32"}}},
		{"limits of a test", func(j *api.Job) { j.Tests[0].Limits = api.Limits{CPUTimeMS: 60001, Memory: 1} },
			[]api.FieldError{{Field: "tests[0].limits.cpu_time_ms", Detail: "the bound of limits.max.cpu_time"},
				{Field: "tests[0].limits.memory_bytes", Detail: "1 is out of range"}}},
		{"arguments and files of a test", func(j *api.Job) {
			j.Command, j.InputFile = []string{"{program}", strings.Repeat("a", 40<<10)}, "in"
			j.Tests[0].Args = []string{"\x00", strings.Repeat("b", 30<<10)}
			j.Tests[0].CheckerArgs = []string{"x"}
			j.Files = map[string]api.File{"d": {Blob: emptyDigest}}
			j.Tests[0].Files = map[string]api.File{"in": {Blob: emptyDigest}, "a/": {}, "d/e": {Blob: emptyDigest},
				"in/f/g": {Blob: emptyDigest}, "program/x": {Blob: emptyDigest}}
		}, []api.FieldError{{Field: "tests[0].args[0]", Detail: "has a NUL"},
			{Field: "tests[0].args", Detail: "send at most"},
			{Field: `tests[0].files["a/"]`, Detail: "no content"}, {Field: `tests[0].files["a/"]`, Detail: "no path"},
			{Field: `tests[0].files["d/e"]`, Detail: "in a folder \"d\", which is a file"},
			{Field: `tests[0].files["in/f/g"]`, Detail: "in a folder \"in\", which is a file"},
			{Field: `tests[0].files["program/x"]`, Detail: "in a folder \"program\", which is a file"},
			{Field: `tests[0].files["in"]`, Detail: "is input_file or output_file, too"},
			{Field: "tests[0].checker_args", Detail: "no arguments"}}},
		{"arguments of a test for a program of the jury", func(j *api.Job) {
			j.Checker = &api.Checker{Kind: "icpc", Program: &api.File{Blob: emptyDigest},
				Args: []string{strings.Repeat("a", 64<<10-9)}}
			j.Tests[0].CheckerArgs = []string{"x"}
		}, []api.FieldError{{Field: "tests[0].checker_args", Detail: "65546 bytes"}}},
		{"tolerance", func(j *api.Job) { j.Checker = &api.Checker{Kind: "float:nan"} },
			[]api.FieldError{{Field: "checker.kind", Detail: "float:nan"}}},
		{"checker arguments", func(j *api.Job) { j.Checker = &api.Checker{Kind: "tokens", Args: []string{"x"}} },
			[]api.FieldError{{Field: "checker.args", Detail: "no arguments"}}},
		{"negative limits", func(j *api.Job) {
			j.Limits = api.Limits{CPUTimeMS: -1, WallTimeMS: -1, Memory: -1, Output: -1, Stack: -1, Processes: -1}
		}, []api.FieldError{
			{Field: "limits.cpu_time_ms",
				Detail: "-1 is out of range; send 1 to 60000, the bound of limits.max.cpu_time"},
			{Field: "limits.wall_time_ms", Detail: "limits.max.wall_time"},
			{Field: "limits.memory_bytes", Detail: "limits.max.memory"}, {Field: "limits.output_bytes",
				Detail: "limits.max.output"},
			{Field: "limits.stack_bytes", Detail: "limits.max.memory"},
			{Field: "limits.processes", Detail: "limits.max.processes"},
		}},
		{"limits above the maximum", func(j *api.Job) {
			j.Limits = api.Limits{CPUTimeMS: 1 << 62, Memory: 4<<30 + 1, Output: 256<<20 + 1, Processes: 1025}
		}, []api.FieldError{
			{Field: "limits.cpu_time_ms", Detail: "out of range"}, {Field: "limits.memory_bytes",
				Detail: "to 4294967296"},
			{Field: "limits.output_bytes", Detail: ""}, {Field: "limits.processes", Detail: "1024"},
		}},
		{"cpus", func(j *api.Job) { j.CPUs = 2 },
			[]api.FieldError{{Field: "cpus", Detail: "slots here have 1, the value of slots.width"}}},
		{"negative cpus", func(j *api.Job) { j.CPUs = -1 }, []api.FieldError{{Field: "cpus", Detail: "-1"}}},
		{"repeats", func(j *api.Job) { j.Repeats = api.Repeats{Min: 3, Max: 2, Policy: "best"} },
			[]api.FieldError{{Field: "repeats", Detail: "min 3 is above max 2"},
				{Field: "repeats.policy", Detail: `"best" is unknown; send one of confirm, single, min`}}},
		{"too many repeats", func(j *api.Job) { j.Repeats.Max = 101 },
			[]api.FieldError{{Field: "repeats.max", Detail: "to 100, the bound of limits.max.repeats"}}},
		{"words", func(j *api.Job) { j.Stop, j.Priority, j.Pool = "later", "urgent", "two words" }, []api.FieldError{
			{Field: "stop", Detail: `"later" is unknown; send one of first-failure, never`}, {Field: "priority",
				Detail: "contest, practice"},
			{Field: "pool", Detail: `"two words" is not the name of a pool`},
		}},
		{"head", func(j *api.Job) { j.Head = 64<<10 + 1 },
			[]api.FieldError{{Field: "head_bytes", Detail: "to 65536, the bound of limits.max.head"}}},
		{"heads of many tests", func(j *api.Job) { j.Head, j.Tests = 6<<10+300, manyTests(1000) },
			[]api.FieldError{{Field: "head_bytes", Detail: "1000 tests do not fit into a report; send at most 6291"}}},
		{"options", func(j *api.Job) {
			j.Language, j.CompileOptions = "c", []string{"-O2", "main.c", "", "-" + strings.Repeat("x", 100), "@file"}
		}, []api.FieldError{{Field: "compile_options[1]", Detail: `"main.c" is not an option`},
			{Field: "compile_options[2]", Detail: "is not an option"},
			{Field: "compile_options[3]", Detail: "up to 100 bytes"},
			{Field: "compile_options[4]", Detail: `"@file" is not an option`}}},
		{"options without a language", func(j *api.Job) { j.CompileOptions = []string{"-O2"} },
			[]api.FieldError{{Field: "compile_options", Detail: "there is no language"}}},
		{"options without end", func(j *api.Job) {
			j.Language, j.CompileOptions = "c", slices.Repeat([]string{"-O2"}, 33)
		}, []api.FieldError{{Field: "compile_options", Detail: "33; send at most 32"}}},
		{"keep", func(j *api.Job) { j.Keep = api.Keep{Stdout: "maybe", Stderr: "Always", Bytes: 1<<20 + 1} },
			[]api.FieldError{{Field: "keep.stdout", Detail: `"maybe" is unknown; send one of never, failed, cut, always`},
				{Field: "keep.stderr", Detail: `"Always" is unknown`},
				{Field: "keep.bytes", Detail: "send 1 to 1048576, the bound of limits.max.keep"}}},
		{"collect", func(j *api.Job) { j.Collect = []string{"out", "../x", "", "program", "out", ".."} },
			[]api.FieldError{{Field: "collect[1]", Detail: "without directories"}, {Field: "collect[2]", Detail: "empty"},
				{Field: "collect[3]", Detail: "where the program goes"}, {Field: "collect[4]", Detail: "listed already"},
				{Field: "collect[5]", Detail: "without directories"}}},
		{"collect too much", func(j *api.Job) { j.Collect = strings.Split("abcdefghijklmnopq", "") },
			[]api.FieldError{{Field: "collect", Detail: "17 files; send at most 16"}}},
		{"stack", func(j *api.Job) { j.Limits.Stack = 128<<10 - 1 },
			[]api.FieldError{{Field: "limits.stack_bytes", Detail: "131071 is out of range; send 131072 to"}}},
		{"labels", func(j *api.Job) {
			j.Labels = map[string]string{"": "x", "a b": "x", "ok": long, "z": "a\nb"}
		}, []api.FieldError{{Field: `labels[""]`, Detail: "key"}, {Field: `labels["a b"]`,
			Detail: "key"}, {Field: `labels["ok"]`, Detail: "256 bytes"},
			{Field: `labels["z"]`, Detail: "printable"}}},
		{"too many labels", func(j *api.Job) {
			j.Labels = map[string]string{}
			for i := range 33 {
				j.Labels[fmt.Sprint(i)] = ""
			}
		}, []api.FieldError{{Field: "labels", Detail: "33; send at most 32"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := minimal()
			tt.change(&j)
			_, err := Complete(defaults(), j)
			compare(t, err, tt.want)
		})
	}
}

// TestHostileNames checks that a name that leaves the working directory, controls a terminal or cannot be a file name
// is refused with the member that has it, and that the error itself is safe to print.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"../x", "/etc/passwd", "work/../../x", "a/", "./a", "..", ".", "", "a\x00b", "a\nb",
		"\x1b[2J", "\u202egnp.exe", "\u200b", "\u0085",
		"\xff", "\xc0\xaf", "a\tb", "\ufeffa", "\u2028", strings.Repeat("é", 128), strings.Repeat("a", 256),
		api.ProgramName} {
		for _, member := range []string{"files", "tests"} {
			j := minimal()
			field := "tests[0].name"
			if member == "tests" {
				j.Tests[0].Name = name
			} else {
				j.Files = map[string]api.File{name: {Blob: emptyDigest}}
				field = "files[" + text.Quoted(name) + "]"
			}
			_, err := Complete(defaults(), j)
			var errs Errors
			if fine := member == "tests" && (strings.HasPrefix(name, ".") || strings.Contains(name, "/") ||
				name == api.ProgramName); fine {
				if err != nil { // a test's name is not a path
					t.Errorf("test %q: %v", name, err)
				}
				continue
			}
			if !errors.As(err, &errs) || errs[0].Field != field || !printable(err.Error()) {
				t.Errorf("%s %q: %q, want a finding of %s", member, name, err, field)
			}
		}
	}
	for _, name := range []string{"Program", "program.", "-rf", "--", "a b", "$(x)", "*", "ünïcödé", "a\\b", "con",
		strings.Repeat("a", 255)} {
		j := minimal()
		j.Files, j.Tests[0].Name = map[string]api.File{name: {Blob: emptyDigest}}, name
		if _, err := Complete(defaults(), j); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func manyTests(n int) []api.Test {
	tests := make([]api.Test, n)
	for i := range tests {
		tests[i].Name = fmt.Sprint(i)
	}
	return tests
}

// TestKeep checks the defaults of a job that keeps outputs, and the bound for all its tests.
func TestKeep(t *testing.T) {
	c := defaults()
	for name, tt := range map[string]struct {
		keep    api.Keep
		collect []string
		want    api.Keep
	}{
		"nothing": {api.Keep{}, nil, api.Keep{}},
		"never":   {api.Keep{Stdout: api.KeepNever, Bytes: 5}, nil, api.Keep{}},
		"a stream": {api.Keep{Stderr: api.KeepFailed}, nil,
			api.Keep{Stderr: api.KeepFailed, Bytes: 64 << 10, Total: 64 << 20}},
		"its bytes": {api.Keep{Stdout: api.KeepAlways, Bytes: 5}, nil,
			api.Keep{Stdout: api.KeepAlways, Bytes: 5, Total: 64 << 20}},
		"a file": {api.Keep{}, []string{"out"}, api.Keep{Bytes: 64 << 10, Total: 64 << 20}},
	} {
		j := minimal()
		j.Keep, j.Collect = tt.keep, tt.collect
		got, err := Complete(c, j)
		if diff := cmp.Diff(tt.want, got.Keep); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	c.Limits.Max.Keep, c.Limits.Max.Tests = 1<<10, 100_000
	j := minimal()
	j.Keep.Stdout, j.Keep.Stderr, j.Tests = api.KeepFailed, api.KeepNever, manyTests(20_000)
	if got, err := Complete(c, j); err != nil || got.Keep.Bytes != 1<<10 {
		t.Errorf("%d bytes are kept, want the bound of 1024; %v", got.Keep.Bytes, err)
	}
	j.Keep.Stderr = api.KeepAlways
	if _, err := Complete(c, j); err == nil || !strings.Contains(err.Error(), "at most 20000") {
		t.Errorf("40000 outputs: %v", err)
	}
}

func TestMapFiles(t *testing.T) {
	j := minimal()
	j.Files = map[string]api.File{"b": {Part: "2"}, "a": {Part: "1"}}
	j.Tests = []api.Test{{Name: "1", Answer: &api.File{Part: "3"}},
		{Name: "2", Input: &api.File{Part: "4"}, Files: map[string]api.File{"c": {Part: "7"}}}}
	j.Checker = &api.Checker{Kind: "icpc", Program: &api.File{Part: "5"}}
	j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Part: "6"}}
	j.Scheme = &api.Scheme{Grader: &api.Grader{Program: api.File{Part: "8"},
		Files: map[string]api.File{"d": {Part: "9"}}}}
	before, _ := digestOf(j)
	var fields []string
	got, err := j.MapFiles(func(field string, f api.File) (api.File, error) {
		fields = append(fields, field)
		return api.File{Blob: f.Blob + f.Part + "!"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := api.Job{
		Program: api.File{Blob: emptyDigest + "!"}, Files: map[string]api.File{"a": {Blob: "1!"}, "b": {Blob: "2!"}},
		Tests: []api.Test{{Name: "1", Answer: &api.File{Blob: "3!"}},
			{Name: "2", Input: &api.File{Blob: "4!"}, Files: map[string]api.File{"c": {Blob: "7!"}}}},
		Checker:    &api.Checker{Kind: "icpc", Program: &api.File{Blob: "5!"}},
		Interactor: &api.Interactor{Kind: "icpc", Program: api.File{Blob: "6!"}},
		Scheme: &api.Scheme{Grader: &api.Grader{Program: api.File{Blob: "8!"},
			Files: map[string]api.File{"d": {Blob: "9!"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"program", `files["a"]`, `files["b"]`, "tests[0].answer", "tests[1].input",
		`tests[1].files["c"]`, "checker.program", "interactor.program", "grader.program",
		`grader.files["d"]`}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if after, _ := digestOf(j); after != before {
		t.Error("the given job was changed")
	}
	stop := errors.New("stop")
	if _, err := j.MapFiles(func(string, api.File) (api.File, error) { return api.File{}, stop }); !errors.Is(err,
		stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
}

func TestDigestIgnoresSpelling(t *testing.T) {
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"order and space", `{"program":{"blob":"x"},"labels":{"a":"1","b":"2"}}`,
			`{ "labels":{"b":"2","a":"1"}, "program":{"blob":"\u0078"}}`, true},
		{"empty", `{"program":{"blob":"x"},"files":{}}`, `{"program":{"blob":"x"}}`, true},
		{"limit", `{"limits":{"processes":1}}`, `{"limits":{"processes":2}}`, false},
		{"test order", `{"tests":[{"name":"a"},{"name":"b"}]}`, `{"tests":[{"name":"b"},{"name":"a"}]}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var digests [2]string
			for i, body := range []string{tt.a, tt.b} {
				j, err := decodeAll([]byte(body))
				if err != nil {
					t.Fatal(err)
				}
				if digests[i], err = digestOf(j); err != nil {
					t.Fatal(err)
				}
			}
			if (digests[0] == digests[1]) != tt.same {
				t.Errorf("digests %v, same should be %v", digests, tt.same)
			}
		})
	}
}
