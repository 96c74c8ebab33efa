package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"judged/internal/host/hostfs"
)

// StartCompetitor starts a command whose n busy threads each have the weight of a judged run on their CPU. Programs of
// the usual weight get a tenth of the time of one. The caller ends the command in a cleanup of the test.
func StartCompetitor(t testing.TB, c *exec.Cmd, n int) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if v1 := "/sys/fs/cgroup/cpu"; exists(v1 + "/cpu.shares") {
		own := filepath.Join(v1, hostfs.Cgroups(string(own))["cpu"])
		dir := makeGroup(t, own, "cpu.shares", 10*1024*n)
		// A child starts in the group of the thread that starts it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := []byte(strconv.Itoa(syscall.Gettid()))
		if err := os.WriteFile(dir+"/tasks", thread, 0); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.WriteFile(own+"/tasks", thread, 0); err != nil {
				t.Fatal(err)
			}
		}()
	} else {
		root := "/sys/fs/cgroup" // only the root may have processes and controllers for its children
		if err := os.WriteFile(root+"/cgroup.subtree_control", []byte("+cpu"), 0); err != nil {
			t.Fatal(err)
		}
		group, err := os.Open(makeGroup(t, root, "cpu.weight", min(1000*n, 10_000)))
		if err != nil {
			t.Fatal(err)
		}
		defer group.Close()
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// makeGroup makes a control group with a weight, for the duration of the test, and returns its folder.
func makeGroup(t testing.TB, parent, file string, weight int) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "competitor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		WaitFor(t, time.Minute, "the competitors to end", func() bool { return os.Remove(dir) == nil })
	})
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(weight)), 0); err != nil {
		t.Fatal(err)
	}
	return dir
}
