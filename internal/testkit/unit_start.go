package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The environment of a process that will become the unit's.
const (
	unitEnv  = "JUDGED_TEST_UNIT"
	groupEnv = "JUDGED_TEST_UNIT_GROUP"
)

// UnitCommand returns a program that is started as systemd would start that of the unit file, regarding the privileges
// and limits of the process: capabilities, no_new_privs, resource limits, umask, its view of the file system, and a
// delegated control group. It is for machines without systemd. It starts the test binary, whose TestMain must call
// UnitMain first. The test fails if the program leaves anything in its delegated control group.
func UnitCommand(t *testing.T, path, program string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", append([]string{program}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), unitEnv + "=" + path, groupEnv + "=" + delegate(t)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// delegate creates the control groups that systemd delegates to a unit with Delegate=yes. On v1 there is no
// cpuset.
func delegate(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("judges-%d.service", os.Getpid())
	for _, dir := range groups(name) {
		// For v2: the root may have processes and enable controllers for child groups. v1 has no such file.
		_ = os.WriteFile(filepath.Dir(dir)+"/cgroup.subtree_control", []byte("+cpu +cpuset +memory +pids"), 0)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = os.Remove(dir + "/daemon") // on v2, judged leaves its leaf group for systemd to remove
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	return name
}

func groups(name string) []string {
	var found []string
	for _, root := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
		"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err == nil {
			found = append(found, filepath.Join(root, name))
		}
	}
	return found
}

// UnitMain replaces a process started by UnitCommand with its program. It returns in other processes only.
func UnitMain() {
	path := os.Getenv(unitEnv)
	if path == "" {
		return
	}
	runtime.LockOSThread() // execve uses the privileges of this thread
	u, err := ReadUnit(path)
	if err == nil {
		err = u.become()
	}
	if err == nil {
		env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, unitEnv) })
		err = syscall.Exec(os.Args[1], append([]string{"judged"}, os.Args[2:]...), env)
	}
	fmt.Fprintln(os.Stderr, "unit:", err)
	os.Exit(125)
}

// become drops everything that the unit does not have, privileges last.
func (u Unit) become() error {
	for _, dir := range groups(os.Getenv(groupEnv)) {
		if err := os.WriteFile(dir+"/cgroup.procs", []byte("0"), 0); err != nil {
			return err
		}
	}
	if err := u.protect(); err != nil {
		return err
	}
	for resource, l := range u.Limits {
		if err := setLimit(resource, l); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	syscall.Umask(u.Umask)
	const dropBounding, setNoNewPrivs = 24, 38 // PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS
	for c := range capabilityNames {
		if slices.Contains(u.Capabilities, c) {
			continue
		}
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, dropBounding, uintptr(c), 0); errno != 0 &&
			errno != syscall.EINVAL {
			return fmt.Errorf("drop capability %s: %w", capabilityNames[c], errno) // EINVAL: unknown to this kernel
		}
	}
	if u.NoNewPrivileges {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
			return fmt.Errorf("set no_new_privs: %w", errno)
		}
	}
	return nil
}

// setLimit sets a limit as high as allowed: unlike systemd, the root of a container lacks CAP_SYS_RESOURCE.
func setLimit(resource int, l syscall.Rlimit) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	err := syscall.Setrlimit(resource, &l)
	if err == syscall.EPERM {
		err = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(l.Cur, now.Max), Max: now.Max})
	}
	return err
}

// protect implements ProtectSystem=strict, ProtectHome=yes, PrivateTmp=yes, StateDirectory and RuntimeDirectory
// with mounts that only this process sees.
func (u Unit) protect() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare mounts: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts apart: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(u.StateDirectory), 0o755); err != nil { // missing in a guest
		return err
	}
	if err := readOnly(); err != nil {
		return err
	}
	for dir, flags := range map[string]uintptr{"/tmp": 0, "/var/tmp": 0, "/var/lib": 0, "/run": 0,
		"/home": syscall.MS_RDONLY, "/root": syscall.MS_RDONLY} {
		err := syscall.Mount("tmpfs", dir, "tmpfs", flags|syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755")
		if err != nil && err != syscall.ENOENT {
			return fmt.Errorf("cover %s: %w", dir, err)
		}
	}
	for _, dir := range []string{u.StateDirectory, u.RuntimeDirectory} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// readOnly makes all mounts read-only except /dev, /proc and /sys.
func readOnly() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		dir := strings.Fields(line)[4]
		if slices.Contains([]string{"dev", "proc", "sys"}, strings.SplitN(dir, "/", 3)[1]) {
			continue
		}
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("make %s read-only: %w", dir, err)
		}
	}
	return nil
}
