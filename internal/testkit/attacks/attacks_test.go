package attacks

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// least returns the minimal data of an attack.
func least(change func(map[string]any)) string {
	m := map[string]any{"attack": "spin", "class": "time", "stopped_by": "the clock", "verdict": []string{"TLE"}}
	if change != nil {
		change(m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// folder creates a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	full := least(func(m map[string]any) {
		maps.Copy(m, map[string]any{"signal": "SIGKILL", "args": []string{"{canary}"}, "stdin": "in",
			"phases": [][]string{{"a"}, {"b"}}, "together": true,
			"limits": map[string]any{"cpu_time_ms": 7, "processes": 3}, "cpus": 2, "cc": []string{"-g"},
			"dynamic": true, "native": true, "open": true, "arch": []string{"amd64"},
			"interactor": []string{"end"}, "checker": []string{"exit=42"}, "says": "x", "given_to": []string{"checker"},
			"cpu_time_ms": []int{1, 2}, "memory_bytes": []int{3, 4}, "unsafe_without": []string{"cgroup", "user"}})
	})
	dir := folder(t, map[string]string{"002-b.c": "", "002-b.json": full, "001-a.c": "", "001-a.json": least(nil),
		"attack.h": ""})
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Attack{
		{Name: "001-a", Source: dir + "/001-a.c", Title: "spin", Class: "time", StoppedBy: "the clock",
			Verdicts: []api.Verdict{"TLE"}, CPUs: 1},
		{Name: "002-b", Source: dir + "/002-b.c", Title: "spin", Class: "time", StoppedBy: "the clock",
			Verdicts: []api.Verdict{"TLE"}, CPUs: 2,
			Signal: "SIGKILL", Args: []string{"{canary}"}, Stdin: "in", Phases: [][]string{{"a"}, {"b"}},
			Together: true,
			Limits:   api.Limits{CPUTimeMS: 7, Processes: 3}, CC: []string{"-g"}, Dynamic: true, Native: true, Open: true,
			Interactor: []string{"end"}, Checker: []string{"exit=42"}, Says: "x", GivenTo: []string{"checker"},
			Arch:      []string{"amd64"},
			CPUTimeMS: &Range{1, 2}, MemoryBytes: &Range{3, 4}, UnsafeWithout: Layers(initproc.Cgroup | initproc.User)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"/x/canary", "a"}, {"/x/canary", "b"}},
		got[1].Runs(strings.NewReplacer("{canary}", "/x/canary"))); diff != "" {
		t.Errorf("runs: -want +got\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	with := func(key string, value any) string {
		return least(func(m map[string]any) { m[key] = value })
	}
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {nil, "there are none"},
		"program without data": {map[string]string{"001-a.c": "", "001-a.json": least(nil), "002-b.c": ""},
			`002-b.json`},
		"data without program": {map[string]string{"001-a.json": least(nil)}, "find its program"},
		"two of a number": {map[string]string{"001-a.c": "", "001-a.json": least(nil), "001-b.c": "",
			"001-b.json": least(nil)}, "number 001"},
		"name":            {map[string]string{"1-a.c": "", "1-a.json": least(nil)}, "three digits"},
		"unknown key":     {one(with("verdicts", "AC")), `unknown field "verdicts"`},
		"more after it":   {one(least(nil) + "{}"), "more after the object"},
		"unknown class":   {one(with("class", "fun")), `class "fun"`},
		"unknown verdict": {one(with("verdict", []string{"OK"})), `verdict "OK"`},
		"no verdict":      {one(with("verdict", nil)), "no verdict"},
		"no title":        {one(with("attack", "")), "one line"},
		"cell border":     {one(with("stopped_by", "a | b")), "one line"},
		"signal's number": {one(with("signal", "9")), `signal "9"`},
		"unknown layer":   {one(with("unsafe_without", []string{"luck"})), "luck"},
		"empty range":     {one(with("cpu_time_ms", []int{2, 1})), "ends before"},
		"alone together":  {one(with("together", true)), "two phases"},
		"no CPU":          {one(with("cpus", -1)), "no width"},
		"args of a source": {one(least(func(m map[string]any) { m["language"], m["args"] = "c", []string{"a"} })),
			"files are for a language"},
		"checker with a checker": {one(least(func(m map[string]any) {
			m["as_checker"], m["checker"] = true, []string{"a"}
		})), "as_checker does not go with"},
		"open twice": {one(least(func(m map[string]any) { m["open"], m["open_with_host"] = true, true })),
			"open_with_host"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Read(folder(t, tc.files))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v with error %v, want one with %q", all, err, tc.want)
			}
		})
	}
}

func one(data string) map[string]string {
	return map[string]string{"001-a.c": "", "001-a.json": data}
}

func TestDifferences(t *testing.T) {
	code := func(n int) *api.Exit { return &api.Exit{Code: &n} }
	report := func(v api.Verdict, cpu time.Duration, e *api.Exit) api.Report {
		peak := units.Bytes(100)
		return api.Report{Verdict: v, CPUTime: &cpu, MemoryPeak: &peak, Tests: []api.TestReport{{Exit: e}}}
	}
	held := Attack{Verdicts: []api.Verdict{"AC", "RTE"}, CPUTimeMS: &Range{10, 20}, MemoryBytes: &Range{100, 100}}
	for _, tc := range []struct {
		name   string
		attack Attack
		report api.Report
		slack  int64
		want   []string
	}{
		{"as it must be", held, report("AC", 15*time.Millisecond, code(0)), 1, nil},
		{"another verdict", held, report("TLE", 15*time.Millisecond, nil), 1,
			[]string{"verdict: want [AC RTE], got TLE"}},
		{"got through, although the verdict is expected", held, report("RTE", 15*time.Millisecond, code(86)), 1,
			[]string{"it got through"}},
		{"too little CPU time", held, report("AC", 9*time.Millisecond, code(0)), 1,
			[]string{"CPU time: want 10 to 20 ms, got 9ms"}},
		{"too much CPU time", held, report("AC", 21*time.Millisecond, code(0)), 1,
			[]string{"CPU time: want 10 to 20 ms, got 21ms"}},
		{"more of it on a slow machine", held, report("AC", 21*time.Millisecond, code(0)), 2, nil},
		{"less of it there", held, report("AC", 9*time.Millisecond, code(0)), 2,
			[]string{"CPU time: want 10 to 40 ms, got 9ms"}},
		{"another message", Attack{Verdicts: []api.Verdict{"AC"}, Says: "x"}, report("AC", 0, code(0)), 1,
			[]string{`message: want one with "x", got ""`}},
		{"memory", Attack{Verdicts: []api.Verdict{"AC"}, MemoryBytes: &Range{1, 99}}, report("AC", 0, code(0)), 1,
			[]string{"memory peak: want 1 to 99 bytes, got 100"}},
		{"got through what is open", Attack{Verdicts: []api.Verdict{"AC"}, Open: true}, report("RTE", 0, code(86)), 1,
			nil},
		{"another verdict of what is open", Attack{Verdicts: []api.Verdict{"AC"}, Open: true},
			report("RTE", 0, code(1)), 1,
			[]string{"verdict: want [AC], got RTE"}},
		{"signal", Attack{Verdicts: []api.Verdict{"SV"}, Signal: "SIGSYS"},
			report("SV", 0, &api.Exit{Signal: "SIGKILL"}), 1,
			[]string{`signal: want SIGSYS, got "SIGKILL"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.attack.Differences(tc.report, tc.slack)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
