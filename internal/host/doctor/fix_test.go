package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/host/settings"
	"judged/internal/testkit"
)

// shellEnv makes this binary run all remedies on a host that lacks everything they apply to, and report which
// of them failed silently.
const shellEnv = "JUDGED_TEST_REMEDIES"

func TestMain(m *testing.M) {
	if tools := os.Getenv(shellEnv); tools != "" {
		if err := runRemedies(tools); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testkit.Run(m))
}

// TestFixesFailLoudly runs the fixes of all modes in separate namespaces, with /proc and /sys read-only and
// /sys/fs/cgroup as on a hybrid host (tmpfs): each must report a failure, and none may create a regular file.
func TestFixesFailLoudly(t *testing.T) {
	testkit.Need(t, testkit.Root)
	tools := t.TempDir()
	for _, name := range []string{"sh", "cat", "mkdir", "grep", "dirname", "mountpoint"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{shellEnv + "=" + tools}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func runRemedies(tools string) error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	for _, dir := range []string{"/sys", "/proc"} {
		err = errors.Join(err, syscall.Unmount(dir, syscall.MNT_DETACH))
	}
	if err = errors.Join(err, syscall.Mount("proc", "/proc", "proc", syscall.MS_RDONLY, ""),
		syscall.Mount("sysfs", "/sys", "sysfs", syscall.MS_RDONLY, ""),
		syscall.Mount("tmpfs", cgroupDir, "tmpfs", 0, "")); err != nil {
		return err
	}
	names := strings.NewReplacer("{R}", "3", "{RW}", "3", "{H}", "0-2", "{HM}", "7", "{W}", "1", "{P}", "isolated")
	var faults []error
	ran := 0
	for _, c := range slices.Concat(settings.All(), settings.Probes()) {
		for _, command := range renderFix(explainFix(c), c, names).Runtime {
			if strings.HasPrefix(command, "#") {
				continue
			}
			ran++
			faults = append(faults, runRemedy(c.ID, command, tools))
		}
	}
	if ran < 60 {
		faults = append(faults, fmt.Errorf("ran %d remedies; is the table still read?", ran))
	}
	return errors.Join(faults...)
}

func runRemedy(id, command, tools string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools+"/sh", "-c", command)
	cmd.Env = []string{"PATH=" + tools}
	cmd.Dir = "/"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var faults []error
	if err == nil || stderr.Len() == 0 {
		faults = append(faults, fmt.Errorf("%s: %s: ended with %v and said %q", id, command, err, stderr.String()))
	}
	// Folders of v1 exist before anything is mounted there.
	made, err := filepath.Glob(cgroupDir + "/*")
	deeper, err2 := filepath.Glob(cgroupDir + "/*/*")
	for _, file := range append(made, deeper...) {
		if info, err := os.Lstat(file); err == nil && !info.IsDir() {
			faults = append(faults, fmt.Errorf("%s: %s: made the plain file %s", id, command, file), os.Remove(file))
		}
	}
	return errors.Join(append(faults, err, err2)...)
}
