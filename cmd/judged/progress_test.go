package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/base/text"
	"judged/internal/lab/bench"
	"judged/internal/testkit"
)

// watched is a judged process whose stderr is a terminal.
type watched struct {
	cmd    *exec.Cmd
	screen *bufio.Reader
	stdout bytes.Buffer
}

func watch(t *testing.T, args ...string) *watched {
	t.Helper()
	ours, theirs := terminal(t)
	w := &watched{cmd: command(args...), screen: bufio.NewReader(ours)}
	w.cmd.Stdout, w.cmd.Stderr = &w.stdout, theirs
	w.cmd.Env = append(w.cmd.Environ(), "TERM=xterm")
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // the process has exited unless the test failed
		_ = w.cmd.Wait()
	})
	return w
}

// terminal returns both ends of a new terminal.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// shows reads the screen until it matches.
func (w *watched) shows(t *testing.T, want string) {
	t.Helper()
	re := regexp.MustCompile(want)
	var seen strings.Builder
	for !re.MatchString(seen.String()) {
		c, err := w.screen.ReadByte()
		if err != nil {
			t.Fatalf("the terminal ends without %q: %v\n%s", want, err, &seen)
		}
		seen.WriteByte(c)
	}
}

// TestScreen checks the width of a terminal, and the escape sequences that TERM and NO_COLOR allow.
func TestScreen(t *testing.T) {
	_, theirs := terminal(t)
	t.Cleanup(func() { theirs.Close() })
	for name, tt := range map[string]struct {
		columns       uint16
		term, noColor string
		want          text.Screen
	}{
		"terminal":              {100, "xterm", "", text.Screen{Width: 100, Color: true, Cursor: true}},
		"of unknown width":      {0, "xterm", "", text.Screen{Width: 80, Color: true, Cursor: true}},
		"without colors":        {100, "xterm", "1", text.Screen{Width: 100, Cursor: true}},
		"without any escape":    {100, "dumb", "", text.Screen{Width: 100}},
		"of an unknown kind":    {100, "", "", text.Screen{Width: 100, Color: true, Cursor: true}},
		"without any, and both": {100, "dumb", "1", text.Screen{Width: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", tt.term)
			t.Setenv("NO_COLOR", tt.noColor)
			if err := unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: tt.columns}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, text.ScreenOf(theirs)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(text.Screen{}, text.ScreenOf(new(bytes.Buffer))); diff != "" {
		t.Errorf("a buffer (-want +got)\n%s", diff)
	}
}

// TestProgress: on a terminal, each run of a repeated test is shown.
func TestProgress(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	w := watch(t, "run", "--repeats", "3", "--", "true")
	for _, want := range []string{`0 of 1  1  run 1 of 3`, `0 of 1  1  run 2 of 3`, `0 of 1  1  run 3 of 3`,
		`1 of 1  1 AC`} {
		w.shows(t, want)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &w.stdout)
	}
}

// TestInterruptedMeasure: the runs so far are printed and written, and marked as partial.
func TestInterruptedMeasure(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		w := watch(t, "measure", "-n", "10000", "--placements", "free,slot", "--seed", "1", "--out", dir, "--", "true")
		w.shows(t, `5 of 20000  (free|slot)`)
		if err := w.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		w.shows(t, "judged: interrupted: the result is partial; run it again to complete it")
		_ = w.cmd.Wait()
		if code := w.cmd.ProcessState.ExitCode(); code != exitFault {
			t.Errorf("%v: exit code %d, want %d", s, code, exitFault)
		}
		text, err := os.ReadFile(filepath.Join(dir, "measure.json"))
		if err != nil {
			t.Fatal(err)
		}
		var r bench.Result
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		runs := 0
		for _, o := range r.Cases {
			runs += len(o.Runs)
		}
		if !r.Partial || runs < 5 || r.Host == nil {
			t.Errorf("%v: partial %t with %d runs, host %v", s, r.Partial, runs, r.Host)
		}
		if want := fmt.Sprintf("partial: interrupted after %d runs", runs); !strings.Contains(w.stdout.String(), want) {
			t.Errorf("%v: no %q in\n%s", s, want, &w.stdout)
		}
		picture, err := os.ReadFile(filepath.Join(dir, "measure.svg"))
		if err != nil || !strings.Contains(string(picture), "seed 1, partial") ||
			!strings.Contains(string(picture), "host ") {
			t.Errorf("%v: the picture does not say where it is from: %v\n%s", s, err, picture)
		}
	}
}
