package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
)

// TestSecondJudged starts every command that judges next to a daemon, and a daemon next to a run, on the same CPU. The
// second process must exit immediately and name the first.
func TestSecondJudged(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	claims, data, cpu := t.TempDir(), t.TempDir(), lastCPU(t).String()
	together := func(args ...string) *exec.Cmd {
		cmd := command(args...)
		cmd.Env = append(cmd.Env, claimsEnv+"="+claims)
		return cmd
	}
	refuse := func(t *testing.T, holder string, args ...string) {
		t.Helper()
		cmd := together(args...)
		// a daemon that is not refused runs until it is killed
		brake := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer brake.Stop()
		got := execute(t, cmd)
		if got.code != exitFault || got.stdout != "" || strings.Count(got.stderr, "\n") > 2 ||
			!strings.Contains(got.stderr, "claim CPU "+cpu+": "+holder) ||
			!strings.Contains(got.stderr, "; stop that one, or name other CPUs") {
			t.Errorf("judged %q: exit code %d, stdout %q, stderr %q; want %d and the holder %q", args, got.code,
				got.stdout, got.stderr, exitFault, holder)
		}
	}
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--cpu-list", cpu}

	first := together(serve...)
	url := startWith(t, first)
	holder := fmt.Sprintf("judged serve with data folder %s (process %d, since ", data, first.Process.Pid)
	refuse(t, holder, "run", "--cpu-list", cpu, "--", "true")
	refuse(t, holder, "measure", "-n", "1", "--cpu-list", cpu, "--", "true")
	refuse(t, holder, "measure", "--experiment", "gil", "--scale", "0.001", "-n", "1", "--cpu-list", cpu)
	refuse(t, holder, "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--cpu-list", cpu)
	if got := execute(t, command("submit", "--url", url, "--", "true")); got.code != exitYes {
		t.Errorf("the daemon no longer works: %+v", got)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	second := together("run", "--cpu-list", cpu, "--wall-limit", "100s", "--", "sleep", fmt.Sprintf("2%d", os.Getpid()))
	var errOut bytes.Buffer
	second.Stderr = &errOut
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, time.Minute, "the program to run",
		func() bool { return running("sleep\x00" + second.Args[len(second.Args)-1] + "\x00") })
	refuse(t, fmt.Sprintf("judged run sleep (process %d, since ", second.Process.Pid), serve...)
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // an interrupted run ends with exitFault
	if got := execute(t, together("run", "--cpu-list", cpu, "--", "true")); got.code != exitYes {
		t.Errorf("with nobody else: %+v", got)
	}
}
