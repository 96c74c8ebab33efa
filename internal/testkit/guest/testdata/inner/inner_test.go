// Package inner is run inside a guest by the tests of package guest. It checks that tests of a sandbox can run
// there.
package inner

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

func TestRootWithCgroups(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.CgroupV2)
	const root = "/sys/fs/cgroup/"
	put := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(root+file, []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("cgroup.subtree_control", "+cpuset")
	dir := root + "judged-" + strconv.Itoa(os.Getpid()) + "-part"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	// Not one of the CPUs in isolcpus: Linux 6.12 rejects those for partitions that are not isolated.
	put(filepath.Base(dir)+"/cpuset.cpus", "1")
	put(filepath.Base(dir)+"/cpuset.cpus.partition", "root")
	got, err := os.ReadFile(dir + "/cpuset.cpus.partition")
	if err != nil || string(got) != "root\n" {
		t.Errorf("partition is %q, %v; want root", got, err)
	}
}

func TestFilesOfThePackage(t *testing.T) {
	got, err := os.ReadFile("testdata/word")
	if err != nil || string(got) != "a word\n" {
		t.Errorf("testdata/word holds %q, %v", got, err)
	}
	if root := testkit.RepoRoot(t); root != "/repo" {
		t.Errorf("repository is at %q, want /repo", root)
	}
}

func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestPivotRoot performs the first steps of a sandbox in a mount namespace. It runs itself again, because a
// mount namespace belongs to a process.
func TestPivotRoot(t *testing.T) {
	if os.Getenv("INNER_PIVOT") != "" {
		pivot(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPivotRoot$")
	cmd.Env = append(os.Environ(), "INNER_PIVOT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("in new namespaces: %v\n%s", err, out)
	}
}

func pivot(t *testing.T) {
	dir := os.Getenv("INNER_PIVOT")
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		t.Fatal("make mounts private:", err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal("mount tmpfs:", err)
	}
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		t.Fatal("pivot root:", err)
	}
	// Exit without testkit.Run's checks, which need /proc. Only this process can see the new root.
	os.Exit(0)
}

// TestOrphansAreReaped leaves a grandchild to process 1 and waits until it has been reaped.
func TestOrphansAreReaped(t *testing.T) {
	if os.Getenv("INNER_ORPHAN") == "parent" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLoopback$")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid) + "\n")
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestOrphansAreReaped$")
	cmd.Env = append(os.Environ(), "INNER_ORPHAN=parent")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(out), "\n")
	testkit.WaitFor(t, time.Minute, "process "+pid+" to be reaped", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return os.IsNotExist(err)
	})
}

// TestFails fails, to test that the host reports a failure.
func TestFails(t *testing.T) { t.Error("this is meant to fail") }
