package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// TestMain makes the test binary act as judged: as the first process of its sandboxes, and as the command of that name
// in scripts.
func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	testkit.UnitMain()
	testscript.Main(checked{m}, map[string]func(){"judged": tested})
}

// claimsEnv names the folder with the locks of CPUs that all processes of a test share.
const claimsEnv = "JUDGED_TEST_CLAIMS"

// tested runs judged with its own locks of CPUs, because tests of several packages judge on the same CPUs concurrently.
func tested() {
	claims := os.Getenv(claimsEnv)
	if claims == "" {
		if private, err := linux.DetachedTmpfs(); err == nil { // otherwise it may not judge either
			defer private.Close()
			claims = fmt.Sprintf("/proc/self/fd/%d", private.Fd())
		}
	}
	start(&app{in: os.Stdin, out: os.Stdout, err: os.Stderr, claims: claims}, os.Args[1:])
}

// checked checks for leftovers after the tests.
type checked struct{ m *testing.M }

func (c checked) Run() int { return testkit.Run(c.m) }

// TestScripts runs the scripts that need nothing of the host: usage, help and refused input.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func TestScriptsJudging(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	last := lastCPU(t)
	runScripts(t, "testdata/script/root", "LASTCPU="+last.String(), "LASTMASK=0x"+last.Mask())
}

func TestScriptsPython(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	runScripts(t, "testdata/script/python")
}

// TestScriptsPackage verifies the problem packages, which have sources in Python, C and C++.
func TestScriptsPackage(t *testing.T) {
	testkit.Need(t, testkit.Time, testkit.Root, testkit.Cgroup, testkit.Python, testkit.StaticGCC)
	runScripts(t, "testdata/script/package", problems(t))
}

// TestScriptsLanguages verifies a package with sources in more languages.
func TestScriptsLanguages(t *testing.T) {
	testkit.Need(t, testkit.Time, testkit.Root, testkit.Cgroup, testkit.Python, testkit.StaticGCC, testkit.Java,
		testkit.Node, testkit.Go)
	runScripts(t, "testdata/script/languages", problems(t))
}

// TestScriptsGrammar verifies a package whose validator is a grammar.
func TestScriptsGrammar(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python, testkit.Pyctd)
	runScripts(t, "testdata/script/grammar")
}

// problems returns the scripts' variable with the folder of the problem packages.
func problems(t *testing.T) string {
	return "PROBLEMS=" + filepath.Join(testkit.RepoRoot(t), "testdata/problems/packages")
}

// TestScriptsDrain uses its own daemon, because it takes the only slot out of use.
func TestScriptsDrain(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	runScripts(t, "testdata/script/drain", "JUDGED_URL="+startDaemon(t), "LASTCPU="+lastCPU(t).String())
}

// TestScriptsDaemon runs scripts against one daemon. Each uses its own jobs.
func TestScriptsDaemon(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	data := t.TempDir()
	url := startDaemon(t, "--data-dir", data)
	runScripts(t, "testdata/script/daemon", "JUDGED_URL="+url, "ADDRESS="+strings.TrimPrefix(url, "http://"),
		"DATA="+data)
}

func runScripts(t *testing.T, dir string, env ...string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(append(e.Vars, "XDG_CACHE_HOME="+filepath.Join(e.WorkDir, ".cache")), env...)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "refuse": refuse, "onejson": oneJSON, "empty": empty,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// lastCPU returns a CPU that may be used on any host; slots omit CPU 0 unless it is the only one.
func lastCPU(t testing.TB) cpuset.Set {
	t.Helper()
	top, err := machine.ReadTopology(hostfs.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	return top.Online[len(top.Online)-1:]
}

// code runs a program that must end with an exit code: code 1 judged run ./wa
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %q: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// refuse is like code, for a command that prints one line to stderr and nothing else.
func refuse(ts *testscript.TestScript, neg bool, args []string) {
	code(ts, neg, args)
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is %q, want nothing", out)
	}
	line := ts.ReadFile("stderr")
	if !strings.HasPrefix(line, "judged: ") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		ts.Fatalf("stderr is %q, want one line that begins with judged", line)
	}
}

// oneJSON requires a single JSON document on stdout, and nothing on stderr.
func oneJSON(ts *testscript.TestScript, _ bool, args []string) {
	out := ts.ReadFile("stdout")
	d := json.NewDecoder(strings.NewReader(out))
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("trailing data on stdout after the document: %v", err)
	}
	if !utf8.ValidString(out) {
		ts.Fatalf("stdout is not UTF-8")
	}
	if text := ts.ReadFile("stderr"); text != "" {
		ts.Fatalf("stderr is %q, want nothing", text)
	}
}

// empty requires folders without entries.
func empty(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		entries, err := os.ReadDir(ts.MkAbs(dir))
		ts.Check(err)
		if len(entries) > 0 {
			ts.Fatalf("%s holds %v", dir, entries)
		}
	}
}

// command returns the test binary as judged. The process dies with the test.
func command(args ...string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"judged"}, args...),
		Env:         []string{"PATH=" + os.Getenv("PATH")},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
}

// startDaemon starts a daemon and returns its URL. The daemon is drained at the end of the test and must then exit with 0.
func startDaemon(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := command(append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, flags...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	url := startWith(t, cmd)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("daemon: %v\n%s", err, log.Bytes())
		}
	})
	return url
}

// startWith starts a daemon and returns its URL. The daemon is killed at the end of the test.
func startWith(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	brake := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !brake.Stop() || err != nil {
		t.Fatalf("daemon said %q, not its URL: %v", line, err)
	}
	return strings.TrimSpace(line)
}
