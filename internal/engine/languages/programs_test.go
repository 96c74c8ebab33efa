package languages_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/testkit"
)

// programs holds the programs of one language in testdata/programs.toml.
type programs struct {
	Hello, Sum, Error, Loop, Memory, Broken string
	CPUTimeMS                               int64       `toml:"cpu_time_ms"`
	BrokenVerdict                           api.Verdict `toml:"broken_verdict"`
}

// program is a row of the table: the expected result of a kind of program in a language.
type program struct {
	name, text, input, answer string
	verdict                   api.Verdict
	cpuTimeMS                 int64
}

func (p programs) table() []program {
	all := []program{
		{name: "hello", text: p.Hello, answer: "Hello, world!\n", verdict: api.Accepted},
		{name: "sum", text: p.Sum, input: "1 2\n", answer: "3\n", verdict: api.Accepted},
		{name: "error", text: p.Error, verdict: api.RuntimeError},
		{name: "loop", text: p.Loop, verdict: api.TimeLimit},
		{name: "memory", text: p.Memory, verdict: api.MemoryLimit},
		{name: "broken", text: p.Broken, verdict: cmp.Or(p.BrokenVerdict, api.CompileError)},
	}
	for i := range all {
		all[i].cpuTimeMS = cmp.Or(p.CPUTimeMS, 500)
		if all[i].verdict != api.TimeLimit {
			all[i].cpuTimeMS *= 10 // only the loop must reach it
		}
	}
	return all
}

func loadPrograms(t *testing.T) map[string]programs {
	t.Helper()
	text, err := os.ReadFile("testdata/programs.toml")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]programs
	if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(&all); err != nil {
		t.Fatal(err)
	}
	for id, p := range all { // also of languages that this host lacks
		for _, x := range p.table() {
			if x.text == "" {
				t.Errorf("testdata/programs.toml has no program %s of %s", x.name, id)
			}
		}
	}
	return all
}

// large are languages whose packages .ci/setup does not install.
var large = []string{"c-clang", "cpp-clang", "d", "haskell", "kotlin", "ocaml", "octave", "r", "scala"}

// gone are languages that Debian no longer packages.
var gone = []string{"python2"}

// TestPrograms judges the programs of each language of this host and checks their verdicts exactly. It requires the
// languages in testkit.Languages.
func TestPrograms(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Languages, testkit.Go)
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	all := loadPrograms(t)
	eng := openEngine(t, shared)
	var slot sync.Mutex // held while a program uses the slot
	for _, id := range slices.Sorted(maps.Keys(catalogue)) {
		if id == api.BuildLanguage || id == "project" { // their sources are folders
			continue
		}
		l := catalogue[id]
		p, known := all[cmp.Or(l.VariantOf, id)]
		if !known {
			t.Errorf("testdata/programs.toml has no programs of %s", id)
		}
		t.Run(id, func(t *testing.T) {
			if reason := l.Missing("private"); reason != "" {
				if !slices.Contains(slices.Concat(large, gone), id) {
					t.Error(reason)
				}
				t.Skip(reason)
			}
			t.Parallel() // one language is compiled while another one is judged
			for _, x := range p.table() {
				judgeProgram(t, eng, &slot, id, x)
			}
		})
	}
}

func judgeProgram(t *testing.T, eng *engine.Engine, slot *sync.Mutex, id string, p program) {
	t.Helper()
	x := task(t, strings.TrimPrefix(p.text, "\n"))
	x.Language, x.Head = id, 1<<10
	x.Limits = api.Limits{CPUTimeMS: p.cpuTimeMS, WallTimeMS: 30000, Memory: 256 << 20, Stack: 64 << 20, Output: 64 << 20,
		Processes: 64}
	x.Tests[0] = problem.Test{Name: "1", Input: written(t, p.input)}
	if p.answer != "" {
		x.Tests[0].Answer = written(t, p.answer)
	}
	compiled, err := eng.Compile(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close()
	slot.Lock()
	defer slot.Unlock()
	r, err := eng.Judge(t.Context(), eng.Slots()[0], x, func(api.TestReport) {})
	if err != nil {
		t.Fatal(err)
	}
	if test := r.Tests[0]; r.Verdict != p.verdict {
		t.Errorf("%s is %s, want %s: %s\ncompiler: %q\nexit %+v, %s\nstdout %q\nstderr %q", p.name, r.Verdict, p.verdict,
			r.Message, r.Compilation.Output, test.Exit, test.Message, *cmp.Or(test.StdoutHead, new(string)),
			*cmp.Or(test.StderrHead, new(string)))
	}
}

// written returns the path of a file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPackages checks that the catalogue lists the packages for each language that Debian has.
func TestPackages(t *testing.T) {
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for id, l := range catalogue {
		if (len(l.Packages) == 0) != slices.Contains(gone, id) {
			t.Errorf("language %s has the packages %q", id, l.Packages)
		}
	}
}
