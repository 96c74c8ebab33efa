package slots

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/testkit"
)

// claimEnv makes this binary claim the CPU that it names, report the result, and wait.
const claimEnv = "JUDGED_TEST_CLAIM"

func TestMain(m *testing.M) {
	if text := os.Getenv(claimEnv); text != "" {
		claimMain(text)
	}
	os.Exit(testkit.Run(m))
}

func claimMain(text string) {
	cpu, err := strconv.Atoi(text)
	if os.Getpid() == 1 {
		err = errors.Join(err, ownFiles())
	}
	if err == nil {
		_, err = ClaimCPUs("", cpuset.New(cpu), "judged serve with data folder /data")
	}
	if err == nil {
		fmt.Println("claimed")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test closes it
		os.Exit(0)
	}
	fmt.Println(err)
	os.Exit(3)
}

// container is the set of namespaces of a container.
const container = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWNET |
	syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// ownFiles replaces the file systems of the host, as an image and a container runtime do.
func ownFiles() error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	for _, dir := range []string{"/run", "/tmp", "/dev"} {
		err = errors.Join(err, syscall.Mount("tmpfs", dir, "tmpfs", 0, ""))
	}
	return errors.Join(err, syscall.Mount("proc", "/proc", "proc", 0, ""))
}

// claimant starts a process that claims a CPU, and returns its report.
func claimant(t *testing.T, cpu int, namespaces uintptr) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{fmt.Sprintf("%s=%d", claimEnv, cpu)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()
	})
	buffer := make([]byte, 1<<10)
	n, err := stdout.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(string(buffer[:n]))
}

// noCPU returns the number of a CPU that no machine has and no other test is claiming, so that the machine's
// own folder can be used.
func noCPU(t *testing.T) int {
	cpu := 1<<23 + os.Getpid()
	t.Cleanup(func() {
		devices, err := linux.DetachedDevices()
		if err != nil {
			t.Fatal(err)
		}
		defer devices.Close()
		if err := os.Remove(fmt.Sprintf("/proc/self/fd/%d/%s/cpu%d", devices.Fd(), claimFolder, cpu)); err != nil {
			t.Error(err)
		}
	})
	return cpu
}

// TestClaimAcrossContainers claims a CPU on the host and in two containers, in each order.
func TestClaimAcrossContainers(t *testing.T) {
	testkit.Need(t, testkit.Root)
	for _, tt := range []struct {
		name           string
		first, second  uintptr
		holder, people string
	}{
		{"on the host", 0, 0, "judged serve with data folder /data (process ", ", since "},
		{"host, then container", 0, container, "judged serve with data folder /data (process ",
			" of another container or PID namespace, with host name "},
		{"container, then host", container, 0, "judged serve with data folder /data (process 1 of another container",
			", since "},
		{"two containers", container, container, "judged serve with data folder /data (process ",
			" of another container or PID namespace, with host name "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cpu := noCPU(t)
			before := mountOptions(t)
			first, said := claimant(t, cpu, tt.first)
			if said != "claimed" {
				t.Fatalf("the first says %q", said)
			}
			if _, said = claimant(t, cpu, tt.second); !strings.Contains(said, tt.holder) ||
				!strings.Contains(said, tt.people) ||
				!strings.HasPrefix(said, fmt.Sprintf("claim CPU %d: ", cpu)) {
				t.Errorf("the second says %q", said)
			}
			if tt.first|tt.second == 0 && !strings.Contains(said,
				fmt.Sprintf("(process %d, since", first.Process.Pid)) {
				t.Errorf("the second does not name process %d: %q", first.Process.Pid, said)
			}
			// The kernel releases the lock when the holder is killed.
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait()
			if _, said = claimant(t, cpu, tt.second); said != "claimed" {
				t.Errorf("after the first was killed the next says %q", said)
			}
			if diff := cmp.Diff(before, mountOptions(t)); diff != "" {
				t.Errorf("devtmpfs has other options (-before +after):\n%s", diff)
			}
		})
	}
}

// mountOptions returns the options of devtmpfs.
func mountOptions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == "devtmpfs" {
			found = append(found, line)
		}
	}
	return found
}

func TestClaimAllOrNone(t *testing.T) {
	dir := t.TempDir()
	first, err := ClaimCPUs(dir, cpuset.New(3), "judged run ./a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = ClaimCPUs(dir, cpuset.New(2, 3), "judged run ./b")
	var taken *TakenError
	if !errors.As(err, &taken) {
		t.Fatalf("claim of a CPU that is taken: %v", err)
	}
	want := &TakenError{CPU: 3, Holder: Holder{Command: "judged run ./a", PID: os.Getpid(), Since: time.Now()}}
	ignore := cmpopts.IgnoreFields(Holder{}, "PIDNamespace", "HostName")
	if diff := cmp.Diff(want, taken, ignore, cmpopts.EquateApproxTime(time.Minute)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The failed claim has released CPU 2, and the first claim has released CPU 3.
	for cpu, c := range map[int]*Claim{2: nil, 3: first} {
		if c != nil {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		again, err := ClaimCPUs(dir, cpuset.New(cpu), "judged run ./c")
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClaimOfWhoSaysNothing: a holder that has the lock but has not written its name yet, and a file that was
// overwritten.
func TestClaimOfWhoSaysNothing(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "no JSON": "process 1", "no holder": "{}"} {
		dir := t.TempDir()
		held, err := linux.LockFile(dir + "/cpu3")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := held.WriteString(text); err != nil {
			t.Fatal(err)
		}
		_, err = ClaimCPUs(dir, cpuset.New(3), "judged run ./b")
		if err == nil || !strings.HasPrefix(err.Error(), "claim CPU 3: another judged uses it") {
			t.Errorf("%s: %v", name, err)
		}
		held.Close()
	}
}

// TestClaimForgetsWhoIsGone: the error of a failed claim does not name a holder that has released the CPU.
func TestClaimForgetsWhoIsGone(t *testing.T) {
	dir := t.TempDir()
	gone, err := ClaimCPUs(dir, cpuset.New(3), "judged run ./gone")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	held, err := linux.LockFile(dir + "/cpu3")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, err = ClaimCPUs(dir, cpuset.New(3), "judged run ./b")
	if err == nil || !strings.HasPrefix(err.Error(), "claim CPU 3: another judged uses it") {
		t.Error(err)
	}
}
