package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// ended holds the exit code and the output of a process.
type ended struct {
	code           int
	stdout, stderr string
}

func execute(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// TestDoctorAnswer compares the exit code of doctor with its report.
func TestDoctorAnswer(t *testing.T) {
	testkit.Need(t, testkit.Time) // doctor examines the host for a second, four times
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %t", strict), func(t *testing.T) {
			t.Parallel()
			got := execute(t, command("doctor", "--json", fmt.Sprintf("--strict=%t", strict)))
			var r api.DoctorReport
			d := json.NewDecoder(strings.NewReader(got.stdout))
			if err := d.Decode(&r); err != nil {
				t.Fatalf("stdout is no report: %v\n%s%s", err, got.stdout, got.stderr)
			}
			if _, err := d.Token(); !errors.Is(err, io.EOF) {
				t.Errorf("trailing data on stdout after the report: %v", err)
			}
			want := exitNo
			if r.Ready {
				want = exitYes
			}
			if got.code != want || r.Strict != strict || got.stderr != "" {
				t.Errorf("exit code %d, strict %t, stderr %q; want %d, %t and nothing", got.code, r.Strict, got.stderr,
					want, strict)
			}
			if table := execute(t, command("doctor", fmt.Sprintf("--strict=%t", strict))); table.code != want ||
				table.stderr != "" {
				t.Errorf("the table has exit code %d, stderr %q; want %d and nothing", table.code, table.stderr, want)
			}
		})
	}
}

// anybody is a user without privileges.
const anybody = 65534

// TestWithoutRoot starts judged as an unprivileged user.
func TestWithoutRoot(t *testing.T) {
	testkit.Need(t, testkit.Root)
	// Unlike t.TempDir, this folder and the binary are accessible to all users.
	dir, err := os.MkdirTemp("", "judged-cli-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/sol", "#!/bin/sh\n", 0o755)
	put(t, dir+"/secret", "", 0o600)
	if err := os.Mkdir(dir+"/tests", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/tests/a.in", "", 0o600)
	put(t, dir+"/tests/a.ans", "", 0o644)
	if err := os.Mkdir(dir+"/closed", 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/judged", string(self), 0o755)

	const mustBeRoot = "must be root to make namespaces and control groups; start it with sudo or as a system service\n"
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stderr string // part of stderr
	}{
		{"run", []string{"run", "./sol"}, exitFault, mustBeRoot},
		{"serve", []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", "data"}, exitUsage,
			"data_dir: mkdir data: permission denied; set it to a folder that judged can write to"},
		{"input", []string{"run", "--input", "secret", "./sol"}, exitUsage,
			"read --input: open secret: permission denied; "},
		{"program", []string{"run", "./secret"}, exitUsage, "read PROGRAM: open ./secret: permission denied; "},
		{"a test", []string{"run", "--tests", "tests", "./sol"}, exitUsage,
			`read test "a": openat a.in: permission denied; make the file readable`},
		{"all tests", []string{"run", "--tests", "closed", "./sol"}, exitUsage,
			`read tests "closed": open closed: permission denied; make the folder readable`},
		{"configuration", []string{"run", "-c", "secret", "./sol"}, exitUsage,
			"read configuration: open secret: permission denied; "},
		{"tokens", []string{"serve", "--token-file", "secret"}, exitUsage,
			"http.token_file: read tokens: open secret: permission denied; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := command(tt.args...)
			cmd.Path, cmd.Dir = dir+"/judged", dir
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: anybody, Gid: anybody}
			got := execute(t, cmd)
			if got.code != tt.code || got.stdout != "" || !strings.Contains(got.stderr, tt.stderr) ||
				strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, nothing, and one line with %q", got.code,
					got.stdout, got.stderr, tt.code, tt.stderr)
			}
		})
	}
}

func put(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// TestInterrupt interrupts a run: exit code 3, one line, and no leftovers.
func TestInterrupt(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	// The process is found by a duration that no other process sleeps for.
	duration := fmt.Sprintf("1%d", os.Getpid())
	cmd := command("run", "--wall-limit", "100s", "--", "sleep", duration)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asleep := func() bool { return running("sleep\x00" + duration + "\x00") }
	testkit.WaitFor(t, time.Minute, "the program to run", asleep)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFault || out.Len() > 0 ||
		strings.Count(errOut.String(), "\n") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q; want %d, nothing and one line", code, out.Bytes(), errOut.Bytes(),
			exitFault)
	}
	if asleep() {
		t.Error("the program still runs")
	}
	if left := cgroupsOf(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// running reports whether a process with the command line exists.
func running(cmdline string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && string(b) == cmdline {
			return true
		}
	}
	return false
}

// cgroupsOf lists the control groups that are named after a judged process.
func cgroupsOf(pid int) []string {
	var found []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("judged-%d-", pid)):
			found = append(found, path)
		}
		return nil
	})
	return found
}
