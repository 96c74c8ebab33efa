package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestJudgehostKilled kills judged judgehost at random times. Each task must end with one result, and the verdicts must
// be those of the programs.
func TestJudgehostKilled(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	s := domserver.New(t)
	p := domserver.Problem{TimeLimit: 2,
		Run:     s.AddExecutable(domserver.File{Name: "run", Content: domRun, Exec: true}),
		Compare: s.AddExecutable(domserver.File{Name: "run", Content: domCompare, Exec: true})}
	for i := range 8 {
		p.Tests = append(p.Tests, s.AddTestcase(fmt.Sprintf("%d\n", i), fmt.Sprintf("%d\n", 2*i)))
	}
	l := domserver.Language{Extensions: []string{"c"},
		Compile: s.AddExecutable(domserver.File{Name: "run", Content: domCompile, Exec: true})}
	want := map[int]string{}
	submit := func(body, result string) {
		id := s.Submit(domserver.Submission{Language: l, Problem: p, Files: []domserver.File{{Name: "a.c",
			Content: "#include <stdio.h>\nint main(void){int n;scanf(\"%d\",&n);" + body + "}\n"}}})
		want[id] = result
	}
	for i := range 5 {
		submit(fmt.Sprintf(`/*%d*/printf("%%d\n",2*n);`, i), "correct")
		submit(fmt.Sprintf(`/*%d*/printf("%%d\n",n<%d?2*n:0);`, i, i+2), "wrong-answer")
	}
	submit(`return 3;`, "run-error")
	submit(`syntax`, "compiler-error")

	path, cache := filepath.Join(t.TempDir(), "credentials"), t.TempDir()
	put(t, path, fmt.Sprintf("default %s %s %s\n", s.Base(), domserver.User, domserver.Password), 0o600)
	var log lockedBuffer
	start := func() *exec.Cmd {
		cmd := command("judgehost", "--credentials", path, "--name", "k", "--cache-dir", cache)
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	finished := func() (n int) {
		for id := range want {
			if s.Judging(id).Result != "" {
				n++
			}
		}
		return n
	}
	results := func() (n int) { return s.Requests("judgehosts/add-judging-run") }
	const kills = 8
	for range kills {
		cmd := start()
		until := results() + 1 + rand.IntN(6)
		testkit.WaitFor(t, time.Minute, "results", func() bool { return results() >= until || finished() == len(want) })
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
	}
	cmd := start()
	testkit.WaitFor(t, 2*time.Minute, "all judgings", func() bool { return finished() == len(want) })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	got := map[int]string{}
	for id := range want {
		j := s.Judging(id)
		got[id] = j.Result
		for _, x := range j.Tasks {
			if len(x.Results) > 1 && x.Results[0].Host != x.Results[1].Host {
				t.Errorf("task %d has %d results", x.ID, len(x.Results))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(s.Complaints()) > 0 || len(s.Errors()) > 0 || len(s.Unfinished()) > 0 {
		t.Errorf("complaints %q, errors %+v, unfinished %v", s.Complaints(), s.Errors(), s.Unfinished())
	}
	if strings.Contains(log.String(), domserver.Password) {
		t.Error("the log has the password")
	}
	if t.Failed() {
		t.Log(log.String())
	}
	if left, err := os.ReadDir(filepath.Join(cache, "scratch")); err != nil || len(left) > 0 {
		t.Errorf("left in scratch: %v, %v", left, err)
	}
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
