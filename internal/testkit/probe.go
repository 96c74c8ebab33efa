package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The answers of these three do not change while a test binary runs and cost
// up to a few hundred milliseconds each.
var (
	gccWorks       = sync.OnceValue(func() error { return tryCompiler(false) })
	staticGCCWorks = sync.OnceValue(func() error { return tryCompiler(true) })
	pythonWorks    = sync.OnceValue(tryPython)
)

// GuestKernelPath returns the kernel image that .ci/setup has fetched. The
// environment variable JUDGED_TEST_KERNEL names another one.
func GuestKernelPath() (string, error) {
	path := os.Getenv("JUDGED_TEST_KERNEL")
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the user's cache folder: %w; set JUDGED_TEST_KERNEL", err)
		}
		path = filepath.Join(cache, "judged-test", "vmlinuz")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find a guest kernel: %w; run .ci/setup", err)
	}
	return path, nil
}

func onPath(name, remedy string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	return nil
}

func tryCompiler(static bool) error {
	dir, err := os.MkdirTemp("", "judged-testkit-")
	if err != nil {
		return fmt.Errorf("make a folder for a trial compilation: %w", err)
	}
	defer os.RemoveAll(dir)
	src := filepath.Join(dir, "trial.c")
	if err := os.WriteFile(src, []byte("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n"), 0o644); err != nil {
		return fmt.Errorf("write a trial program: %w", err)
	}
	return compileC(src, filepath.Join(dir, "trial"), static)
}

// tryPython starts the interpreter because a version manager's shim may be on
// the path without any interpreter behind it.
func tryPython() error {
	out, err := exec.Command("python3", "-c", "pass").CombinedOutput()
	if err != nil {
		return fmt.Errorf("start python3: %w %s; install the package python3", err, bytes.TrimSpace(out))
	}
	return nil
}

type cgroupVersion int

const (
	anyVersion cgroupVersion = iota
	onlyV1
	onlyV2
)

// cgroupUsable makes and removes a cgroup, because a mounted hierarchy may be
// read-only, as it is in most containers.
func cgroupUsable(version cgroupVersion) error {
	parent, isV2, err := memoryHierarchy()
	switch {
	case err != nil:
		return err
	case version == onlyV1 && isV2:
		return fmt.Errorf("memory is a controller of cgroup v2 here; use a host with v1 or hybrid cgroups")
	case version == onlyV2 && !isV2:
		return fmt.Errorf("memory is a v1 hierarchy here; use a host with unified cgroups or a guest")
	}
	trial := filepath.Join(parent, fmt.Sprintf("judged-%d-need", os.Getpid()))
	if err := os.Mkdir(trial, 0o755); err != nil {
		return fmt.Errorf("make a cgroup: %w; run as root with a writable hierarchy", err)
	}
	if err := os.Remove(trial); err != nil {
		return fmt.Errorf("remove the trial cgroup: %w", err)
	}
	return nil
}

// memoryHierarchy returns where the hierarchy that carries the memory
// controller is mounted. A hybrid host mounts a v2 tree too, without
// controllers, and counts as v1.
func memoryHierarchy() (dir string, isV2 bool, err error) {
	all, err := mounts()
	if err != nil {
		return "", false, err
	}
	for _, m := range all {
		if m.fsType == "cgroup" && slices.Contains(strings.Split(m.options, ","), "memory") {
			return m.target, false, nil
		}
	}
	for _, m := range all {
		if m.fsType != "cgroup2" {
			continue
		}
		controllers, err := os.ReadFile(filepath.Join(m.target, "cgroup.controllers"))
		if err == nil && slices.Contains(strings.Fields(string(controllers)), "memory") {
			return m.target, true, nil
		}
	}
	return "", false, fmt.Errorf("find the memory controller: no cgroup hierarchy in /proc/self/mountinfo carries it; mount cgroup2 on /sys/fs/cgroup")
}

type mount struct {
	id, root, target, fsType, source, options string
}

// mounts reads /proc/self/mountinfo. A line is
// "id parent dev root target options [optional…] - type source superoptions",
// with space, tab, newline and backslash as octal escapes in paths.
func mounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var all []mount
	for line := range strings.Lines(string(text)) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 2 {
			return nil, fmt.Errorf("list mounts: line %q of mountinfo has an unknown form", line)
		}
		m := mount{id: left[0], root: unescape(left[3]), target: unescape(left[4]), fsType: right[0], source: unescape(right[1])}
		if len(right) > 2 {
			m.options = right[2]
		}
		all = append(all, m)
	}
	return all, nil
}

func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
