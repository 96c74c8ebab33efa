package testkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func (inv inventory) addFiles() error {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // the descriptor that listed the folder, closed by now
		}
		what := fmt.Sprintf("file descriptor %s: %s", e.Name(), target)
		inv[what] = what
	}
	return nil
}

// addChildren looks through all of /proc: the children file of a task exists
// only on kernels with CONFIG_PROC_CHILDREN.
func (inv inventory) addChildren() error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited since
		}
		if p, ok := parseStat(string(text)); ok && p.parent == os.Getpid() {
			key := fmt.Sprintf("process %d started %s", p.pid, p.start)
			inv[key] = fmt.Sprintf("child process %d: %s, state %s", p.pid, p.name, p.state)
		}
	}
	return nil
}

type process struct {
	pid, parent        int
	name, state, start string
}

// parseStat reads /proc/<pid>/stat. The name stands in parentheses and may
// itself hold parentheses and spaces, so the fields begin after the last one.
func parseStat(text string) (process, bool) {
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	fields := strings.Fields(text[shut+1:])
	if err != nil || len(fields) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, name: text[open+1 : shut], state: fields[0], start: fields[19]}, true
}

func (inv inventory) addCgroups() error {
	all, err := mounts()
	if err != nil {
		return err
	}
	own := fmt.Sprintf("judged-%d-", os.Getpid())
	for _, m := range all {
		if m.fsType != "cgroup" && m.fsType != "cgroup2" {
			continue
		}
		err := filepath.WalkDir(m.target, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return filepath.SkipDir // removed or closed to us while we look
			case err != nil:
				return nil
			case d.IsDir() && strings.HasPrefix(d.Name(), own):
				inv[path] = "cgroup " + path
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("list cgroups below %s: %w", m.target, err)
		}
	}
	return nil
}

var namedByProcess = regexp.MustCompile(`judged-([0-9]+)-`)

func (inv inventory) addMounts() error {
	all, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range all {
		if text := m.target + " " + m.source + " " + m.root; strings.Contains(text, "judged") && !ofAnother(text) {
			inv["mount "+m.id] = fmt.Sprintf("mount of %s (%s) on %s", m.source, m.fsType, m.target)
		}
	}
	return nil
}

// ofAnother reports whether text names, as judged-<pid>-, another process
// that is alive: test binaries of several packages run side by side.
func ofAnother(text string) bool {
	found := namedByProcess.FindStringSubmatch(text)
	if found == nil || found[1] == strconv.Itoa(os.Getpid()) {
		return false
	}
	_, err := os.Stat("/proc/" + found[1])
	return err == nil
}
