package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/client"
	"judged/internal/testkit"
)

// TestUnit runs the daemon with exactly the environment of deploy/judged.service, and judges jobs.
func TestUnit(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	root := testkit.RepoRoot(t)
	path := filepath.Join(root, unitFile)
	u, err := testkit.ReadUnit(path)
	if err != nil {
		t.Fatal(err)
	}
	socket := notifySocket(t)
	cmd := testkit.UnitCommand(t, path, "/proc/self/exe", "serve", "--listen", "127.0.0.1:0", "--data-dir", u.StateDirectory)
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+socket.LocalAddr().String())
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process has exited unless the test failed
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("it said:\n%s", log.Bytes())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not serve: %v", err)
	}
	if diff := cmp.Diff("READY=1", told(t, socket)); diff != "" {
		t.Errorf("notifications to systemd (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(u.Status(), only(statusOf(t, cmd.Process.Pid), u.Status())); diff != "" {
		t.Errorf("its rights (-want +got):\n%s", diff)
	}
	inItsGroup(t, cmd.Process.Pid)
	judges(t, strings.TrimSpace(line), testkit.CompileC(t, filepath.Join(root, "testdata/submissions/sum/AC-sum.c"),
		true))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it does not drain: %v", err)
	}
	if diff := cmp.Diff("STOPPING=1", told(t, socket)); diff != "" {
		t.Errorf("notifications to systemd (-want +got):\n%s", diff)
	}
	var locked syscall.Rlimit
	if err := syscall.Getrlimit(linux.LimitLocked, &locked); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log.String()) {
		if expected := strings.Contains(line, "level=INFO") || strings.Contains(line, "no tokens are configured") ||
			strings.Contains(line, "the host is not fit") ||
			// In a container the unit may be unable to raise this limit.
			locked.Max < math.MaxUint64 && strings.Contains(line, "LimitMEMLOCK"); !expected {
			t.Errorf("it complains: %s", line)
		}
	}
}

// notifySocket returns a socket like that of systemd.
func notifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: fmt.Sprintf("@judged-test-%d", os.Getpid()),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func told(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatalf("systemd gets no notification: %v", err)
	}
	return string(buf[:n])
}

func statusOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}

// only returns the entries of m whose keys are in want.
func only(m, want map[string]string) map[string]string {
	kept := map[string]string{}
	for key := range want {
		kept[key] = m[key]
	}
	return kept
}

// inItsGroup checks that all groups of runs are below the delegated one. The cpuset controller of v1 cannot be
// delegated; its groups are below the root.
func inItsGroup(t *testing.T, pid int) {
	t.Helper()
	groups := cgroupsOf(pid)
	if len(groups) == 0 {
		t.Error("it has no control groups")
	}
	for _, dir := range groups {
		if !strings.Contains(dir, fmt.Sprintf("/judges-%d.service/", os.Getpid())) &&
			!strings.HasPrefix(dir, "/sys/fs/cgroup/cpuset/") {
			t.Errorf("it makes %s, outside of its unit's", dir)
		}
	}
}

// judges checks the verdicts of a correct and a wrong answer, and of a program that must be stopped.
func judges(t *testing.T, url, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := client.Client{Base: url}
	digest, err := c.PutBlobFile(ctx, program)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) *api.File { return &api.File{Text: &s} }
	got := map[string]api.Verdict{}
	for name, test := range map[string]api.Test{
		"right": {Name: "1", Input: text("2\n1 2\n"), Answer: text("3\n")},
		"wrong": {Name: "1", Input: text("2\n1 2\n"), Answer: text("4\n")},
	} {
		got[name] = verdictOf(t, ctx, c, name, api.Job{Program: api.File{Blob: digest}, Tests: []api.Test{test}})
	}
	loop := "#!/bin/sh\nwhile :; do :; done\n"
	got["spins"] = verdictOf(t, ctx, c, "spins", api.Job{Program: api.File{Text: &loop}, Tests: []api.Test{{Name: "1"}},
		Limits: api.Limits{CPUTimeMS: 100, WallTimeMS: 60_000}})
	want := map[string]api.Verdict{"right": api.Accepted, "wrong": api.WrongAnswer, "spins": api.TimeLimit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func verdictOf(t *testing.T, ctx context.Context, c client.Client, id string, j api.Job) api.Verdict {
	t.Helper()
	if _, err := c.Submit(ctx, id, j); err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict == api.InternalError {
		t.Logf("%s: %+v", id, r)
	}
	return r.Verdict
}
