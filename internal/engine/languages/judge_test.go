package languages_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/engine"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// TestJudgeSources judges sources, twice the same.
func TestJudgeSources(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000,
		Languages: engine.LanguageOptions{Catalogue: catalogue, CacheBytes: 64 << 20},
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	good, bad := "#include <stdio.h>\nint main(void) { puts(\"3\"); }", "int main(void) { return x; }"
	const broken = "the compiler exited with status 1"
	for _, tt := range []struct {
		text, message string
		verdict, test job.Verdict
		cached        bool
	}{
		{good, "", job.Accepted, job.Accepted, false},
		{good, "", job.Accepted, job.Accepted, true},
		{bad, broken, job.CompileError, job.Skipped, false},
		{bad, broken, job.CompileError, job.Skipped, true},
	} {
		report, err := eng.Judge(t.Context(), eng.Slots()[0], task(t, tt.text), func(job.TestReport) {})
		if err != nil {
			t.Fatal(err)
		}
		type summary struct {
			Verdict, Test job.Verdict
			Message       string
			Cached, Said  bool
		}
		got := summary{report.Verdict, report.Tests[0].Verdict, report.Message, report.Compilation.Cached,
			report.Compilation.Output != ""}
		want := summary{tt.verdict, tt.test, tt.message, tt.cached, tt.verdict == job.CompileError}
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
		Tests: []problem.Test{{Name: "1", Answer: filepath.Join(dir, "answer")}}, Repeats: job.Repeats{Policy: job.Single},
		Limits: job.Limits{CPUTimeMS: (5 * time.Second).Milliseconds(), WallTimeMS: 20000, Memory: 64 << 20,
			Output: 1 << 20, Stack: 8 << 20, Processes: 4}}
}
