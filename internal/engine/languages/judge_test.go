package languages_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// openEngine returns an engine with the built-in languages. It keeps compiled programs in folder.
func openEngine(t *testing.T, folder string) *engine.Engine {
	t.Helper()
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000,
		Languages: engine.LanguageOptions{Catalogue: catalogue, Folder: folder, CacheBytes: 64 << 20},
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

// TestRuntimes checks that deep recursion works with the default limits, and that endless recursion is an error of the
// program in languages that limit their stack themselves. It checks that a result that is not a program is an error in
// its sources, and that a compiler prints nothing else.
func TestRuntimes(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openEngine(t, shared)
	const java = `public class Main { static int f(int n) { return n == 0 ? 0 : f(n - 1) + 1; }
public static void main(String[] a) { System.out.println(f(`
	const javascript = "function f(n) { return n == 0 ? 0 : f(n - 1) + 1 }\nconsole.log(f("
	const status1 = "the compiler exited with status 1"
	for _, tt := range []struct {
		name, language, source string
		needs                  testkit.Requirement
		verdict                api.Verdict
		message, output        string // of the compiler
	}{
		{"java, deep", "java", java + "50000) / 50000 + 2); } }", testkit.Java, api.Accepted, "", ""},
		{"java, endless", "java", java + "-1)); } }", testkit.Java, api.RuntimeError, "", ""},
		{"javascript, deep", "javascript", javascript + "50000) / 50000 + 2)", testkit.Node, api.Accepted, "", ""},
		{"javascript, endless", "javascript", javascript + "-1))", testkit.Node, api.RuntimeError, "", ""},
		{"large numbers in C#", "csharp", "using System; using System.Numerics; class P { static void Main() {" +
			"Console.WriteLine(BigInteger.Pow(3, 1)); } }", testkit.Mono, api.Accepted, "", ""},
		{"bash", "bash", "echo 3", testkit.Root, api.Accepted, "", ""},
		{"awk", "awk", "BEGIN { print 3 }", testkit.Root, api.Accepted, "", ""},
		{"perl", "perl", "use POSIX; print floor(3.5)", testkit.Root, api.Accepted, "", "main.pl syntax OK"},
		{"go", "go", "package main\nfunc main() { print(3) }", testkit.Go, api.WrongAnswer, "", ""}, // to stderr
		{"go, a library", "go", "package sum\nfunc Sum() {}", testkit.Go, api.CompileError, status1,
			"-buildmode=exe requires exactly one main package"},
		{"go, an error", "go", "package main\nfunc main() { x }", testkit.Go, api.CompileError, status1,
			"# command-line-arguments\n./main.go:2:15: undefined: x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Need(t, tt.needs)
			x := task(t, tt.source)
			x.Language = tt.language
			x.Limits.Memory, x.Limits.Stack, x.Limits.Processes = 256<<20, 256<<20, 64
			report, err := eng.Judge(t.Context(), eng.Slots()[0], x, func(api.TestReport) {})
			if err != nil {
				t.Fatal(err)
			}
			if report.Verdict != tt.verdict || report.Message != tt.message || report.Compilation.Output != tt.output {
				t.Errorf("verdict %s, want %s; message %q, the compiler said %q; memory %v, %+v", report.Verdict,
					tt.verdict, report.Message, report.Compilation.Output, report.MemoryPeak, report.Tests[0].Exit)
			}
		})
	}
}

// TestJudgeSources judges sources, the same ones twice.
func TestJudgeSources(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openEngine(t, t.TempDir())
	good, bad := "#include <stdio.h>\nint main(void) { puts(\"3\"); }", "int main(void) { return x; }"
	const broken = "the compiler exited with status 1"
	for _, tt := range []struct {
		text, message string
		verdict, test api.Verdict
		cached        bool
	}{
		{good, "", api.Accepted, api.Accepted, false},
		{good, "", api.Accepted, api.Accepted, true},
		{bad, broken, api.CompileError, api.Skipped, false},
		{bad, broken, api.CompileError, api.Skipped, true},
	} {
		report, err := eng.Judge(t.Context(), eng.Slots()[0], task(t, tt.text), func(api.TestReport) {})
		if err != nil {
			t.Fatal(err)
		}
		type summary struct {
			Verdict, Test api.Verdict
			Message       string
			Cached, Said  bool
		}
		got := summary{report.Verdict, report.Tests[0].Verdict, report.Message, report.Compilation.Cached,
			report.Compilation.Output != ""}
		want := summary{tt.verdict, tt.test, tt.message, tt.cached, tt.verdict == api.CompileError}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	}
}

func task(t *testing.T, text string) judge.Task {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"source": text, "answer": "3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tokens, err := checker.Parse("tokens")
	if err != nil {
		t.Fatal(err)
	}
	return judge.Task{Language: "c", Files: []sandbox.File{{Path: filepath.Join(dir, "source")}}, Checker: tokens,
		Tests: []problem.Test{{Name: "1", Answer: filepath.Join(dir,
			"answer")}}, Repeats: api.Repeats{Policy: api.Single},
		Limits: api.Limits{CPUTimeMS: (5 * time.Second).Milliseconds(), WallTimeMS: 20000, Memory: 64 << 20,
			Output: 1 << 20, Stack: 8 << 20, Processes: 4}}
}

// TestCompileOnly lists the languages while another judged uses the slots, like a daemon.
func TestCompileOnly(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for id := range catalogue {
		if id != "c" {
			delete(catalogue, id)
		}
	}
	options := engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000,
		Languages: engine.LanguageOptions{Catalogue: catalogue, CacheBytes: 64 << 20},
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil))}
	daemon, err := engine.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	if eng, err := engine.Open(options); err == nil {
		t.Error("two have the same slot", eng.Close())
	}
	options.CompileOnly = true
	eng, err := engine.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	list, err := eng.ListLanguages(t.Context())
	if err != nil || len(list) != 1 || !list[0].Available || list[0].Version == "" {
		t.Errorf("languages %+v, %v", list, err)
	}
}

// TestStarts waits until the list of languages has the cost of a start.
func TestStarts(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	broken := catalogue["c"]
	broken.Empty = "int main(void) { return 1; }"
	options := engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000, MeasureStarts: true,
		Languages: engine.LanguageOptions{Catalogue: languages.Catalogue{"broken": broken, "c": catalogue["c"]},
			CacheBytes: 64 << 20},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	eng, err := engine.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	testkit.WaitFor(t, time.Minute, "the cost of a start of C", func() bool {
		list, err := eng.ListLanguages(t.Context())
		if err != nil || len(list) != 2 || list[0].Start != nil {
			t.Fatalf("languages %+v, %v", list, err)
		}
		start := list[1].Start
		return start != nil && start.CPUTime > 0 && start.WallTime > 0
	})
}
