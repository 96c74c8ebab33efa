package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

func TestJudgehostUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		put(t, filepath.Join(dir, name), text, 0o600)
		return filepath.Join(dir, name)
	}
	full := file("full", "# comment\n\ndefault https://a.example/api/v4 user secret\n")
	short := file("short", "user secret\n")
	for _, tt := range []struct {
		args   []string
		stderr string // part of stderr
	}{
		{nil, "no --credentials; give a file with the line ID URL USER PASSWORD"},
		{[]string{"x"}, "no arguments"},
		{[]string{"--credentials", filepath.Join(dir, "none")}, "give a file that exists"},
		{[]string{"--credentials", file("empty", "")}, "has 0 lines; want one"},
		{[]string{"--credentials", file("two", "a b\nc d\n")}, "has 2 lines; want one"},
		{[]string{"--credentials", file("three", "a b secret\n")}, "the line has 3 words"},
		{[]string{"--credentials", short}, "no URL; give the address"},
		{[]string{"--credentials", full, "--url", "https://b.example/api/v4"}, "has another URL of the server"},
		{[]string{"--credentials", short, "--url", "ftp://b.example"}, "not an http or https URL"},
		{[]string{"--credentials", short, "--url", "https://user:secret@b.example"}, "the URL has a user or a password"},
		{[]string{"--credentials", short, "--url", "https://b.example?x"}, "the URL has a query"},
		{[]string{"--credentials", full, "--name", "a/b"}, `read --name: "a/b"`},
		{[]string{"--credentials", full, "--cache-dir", full + "/x"}, "make --cache-dir"},
	} {
		got := inProcess(t, append([]string{"judgehost"}, tt.args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, tt.stderr) || strings.Contains(got.stderr, "secret") ||
			strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", tt.args, got)
		}
	}
}

// TestJudgehostRefused: wrong credentials are wrong usage and do not appear in the message.
func TestJudgehostRefused(t *testing.T) {
	s := domserver.New(t)
	path := filepath.Join(t.TempDir(), "credentials")
	put(t, path, "judgehost wrong-Secret\n", 0o600)
	got := inProcess(t, "judgehost", "--url", s.Base(), "--credentials", path, "--cache-dir", t.TempDir())
	if got.code != exitUsage || !strings.Contains(got.stderr, "refuses the credentials (status 401)") ||
		strings.Contains(got.stderr, "wrong-Secret") {
		t.Errorf("%+v", got)
	}
}

// The scripts of the test below.
const (
	domCompile = "#!/bin/sh\ndest=$1\nshift 2\nexec gcc -x c -O1 -static -o \"$dest\" \"$@\"\n"
	domCompare = "#!/bin/sh\nread -r got\nread -r want <\"$2\"\n[ \"$got\" = \"$want\" ] && exit 42\nexit 43\n"
	domRun     = "#!/bin/sh\nIN=\"$1\"; shift\nOUT=\"$1\"; shift\nexec \"$@\" < \"$IN\" > \"$OUT\"\n"
)

var judgehostSubmissions = flag.Int("judgehost-submissions", 13, "submissions that TestJudgehostKilled judges")

// TestJudgehostKilled kills two judged judgehost in turn at random times, while requests fail. Each task must end with one
// result, repeated only if a response was lost, and the verdicts must be those of judged verify.
func TestJudgehostKilled(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	s := domserver.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random, disturber := rand.New(rand.NewPCG(seed, 0)), domserver.NewDisturber(rand.NewPCG(seed, 1), 2)
	s.Fault = disturber.Disturb
	p := domserver.Problem{TimeLimit: 2,
		Run:     s.AddExecutable(domserver.File{Name: "run", Content: domRun, Exec: true}),
		Compare: s.AddExecutable(domserver.File{Name: "run", Content: domCompare, Exec: true})}
	pkg := t.TempDir()
	file := func(text string, name ...any) {
		path := filepath.Join(pkg, fmt.Sprint(name...))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, path, text, 0o644)
	}
	file("name: Double\n", "problem.yaml")
	file("2\n", ".timelimit")
	for i := range 8 {
		c := s.AddTestcase(fmt.Sprintln(i), fmt.Sprintln(2*i))
		p.Tests = append(p.Tests, c)
		file(c.Input, "data/secret/", i, ".in")
		file(c.Output, "data/secret/", i, ".ans")
	}
	l := domserver.Language{Extensions: []string{"c"},
		Compile: s.AddExecutable(domserver.File{Name: "run", Content: domCompile, Exec: true})}
	var ids []int
	submit := func(folder, body string) {
		text := "#include <stdio.h>\nint main(void){int n;scanf(\"%d\",&n);" + body + "}\n"
		id := s.Submit(domserver.Submission{Language: l, Problem: p, Files: []domserver.File{{Name: "a.c", Content: text}}})
		file(text, "submissions/", folder, "/", id, ".c")
		ids = append(ids, id)
	}
	for len(ids) < *judgehostSubmissions {
		for i := range 5 {
			submit("accepted", fmt.Sprintf(`/*%d*/printf("%%d\n",2*n);`, len(ids)))
			submit("wrong_answer", fmt.Sprintf(`/*%d*/printf("%%d\n",n<%d?2*n:0);`, len(ids), i+2))
		}
		submit("run_time_error", fmt.Sprintf(`/*%d*/return 3;`, len(ids)))
		submit("time_limit_exceeded", fmt.Sprintf(`if(n==%d)for(;;);printf("%%d\n",2*n);`, random.IntN(8)))
		submit("wrong_answer", `syntax`)
	}

	var log lockedBuffer
	path := filepath.Join(t.TempDir(), "credentials")
	put(t, path, fmt.Sprintf("default %s %s %s\n", s.Base(), domserver.User, domserver.Password), 0o600)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	caches := map[string]string{"k": t.TempDir(), "l": t.TempDir()}
	start := func(name string) *exec.Cmd {
		cmd := command("judgehost", "--credentials", path, "--name", name, "--cache-dir", caches[name])
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	finished := func() bool {
		return !slices.ContainsFunc(ids, func(id int) bool { return s.Judging(id).Result == "" })
	}
	requests := func() (n int) { return s.Requests("judgehosts/add-judging-run") + s.Requests("judgehosts/get_files") }
	await := func(n int) {
		t.Helper()
		until := requests() + n
		patience := 2*time.Minute + time.Duration(len(ids))*2*time.Second
		testkit.WaitFor(t, patience, "requests", func() bool { return requests() >= until || finished() })
	}
	kills := 8 * len(ids) / 13
	for i := range kills {
		cmd := start([]string{"k", "l"}[i%2])
		await(1 + random.IntN(8))
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
	}
	// The first one returns what is left of its tasks, and the other one judges them.
	for _, last := range []struct {
		name     string
		requests int
	}{{"l", 1}, {"k", math.MaxInt32}} {
		cmd := start(last.name)
		await(last.requests)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s after SIGTERM: %v", last.name, err)
		}
		if left, err := os.ReadDir(filepath.Join(caches[last.name], "scratch")); err != nil || len(left) > 0 {
			t.Errorf("left in scratch: %v, %v", left, err)
		}
	}
	got := map[int]string{}
	for _, id := range ids {
		j := s.Judging(id)
		got[id] = j.Result
		for _, x := range j.Tasks {
			if most := 1 + disturber.Lost(x.ID); len(x.Results) > most {
				t.Errorf("task %d has %d results, want at most %d", x.ID, len(x.Results), most)
			}
		}
	}
	if diff := cmp.Diff(verified(t, pkg), got); diff != "" {
		t.Errorf("(-judged verify +judged judgehost)\n%s", diff)
	}
	if len(s.Complaints()) > 0 || len(s.Errors()) > 0 || len(s.Unfinished()) > 0 {
		t.Errorf("complaints %q, errors %+v, unfinished %v", s.Complaints(), s.Errors(), s.Unfinished())
	}
	if strings.Contains(log.String(), domserver.Password) {
		t.Error("the log has the password")
	}
}

// verified returns the verdicts of judged verify as results of DOMjudge, by the numbers that the sources have as names.
func verified(t *testing.T, pkg string) map[int]string {
	t.Helper()
	// The exit code is 1 because no folder expects a compiler error.
	out, err := command("verify", "--json", "--repeats", "1", pkg).Output()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitNo) {
		t.Fatal(err)
	}
	var said verification
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	names := map[api.Verdict]string{api.Accepted: "correct", api.WrongAnswer: "wrong-answer", api.TimeLimit: "timelimit",
		api.RuntimeError: "run-error", api.CompileError: "compiler-error"}
	results := map[int]string{}
	for _, x := range said.Submissions {
		id, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(x.Name), ".c"))
		if err != nil {
			t.Fatal(err)
		}
		results[id] = names[x.Verdict]
	}
	return results
}

type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
