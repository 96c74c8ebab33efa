package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"judged/internal/host/proc"
)

// scene is where the demo plays: its own folder, and what was there
// before.
type scene struct {
	dir     string
	daemons []int           // their pids
	mounts  map[string]bool // lines of mountinfo
}

func newScene() (*scene, error) {
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	s := &scene{mounts: map[string]bool{}}
	lines, err := mountLines()
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		s.mounts[l] = true
	}
	if s.dir, err = os.MkdirTemp("", "judged-demo-"); err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w; free space in %s", err, os.TempDir())
	}
	if err := os.Mkdir(s.programs(), 0o755); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *scene) programs() string { return filepath.Join(s.dir, "programs") }

// data and log are those of a daemon with a name.
func (s *scene) data(name string) string { return filepath.Join(s.dir, name) }
func (s *scene) log(name string) string  { return filepath.Join(s.dir, name+".log") }

func (s *scene) remove() error { return os.RemoveAll(s.dir) }

// adoptOrphans makes what the daemon leaves running a child of the demo, so
// that it can be distinguished from what other judged processes run.
func adoptOrphans() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER, Linux 3.4
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become the parent of orphans: %w", errno)
	}
	return nil
}

// reapPatience is how long killed processes may take to be gone. There are
// some only if the daemon was killed.
const reapPatience = 3 * time.Second

// reapOrphans waits for adopted processes that are ending. The first process of
// a sandbox cannot end before the others of it are reaped.
func reapOrphans() {
	deadline := time.Now().Add(reapPatience)
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), err == nil && pid > 0:
		case err != nil || time.Now().After(deadline):
			return // ECHILD: there are none
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// leftovers lists what of the demo is still there.
func (s *scene) leftovers() ([]string, error) {
	reapOrphans()
	var all []string
	for _, find := range []func() ([]string, error){children, s.groups, s.newMounts} {
		found, err := find()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// children are processes whose parent is the demo. It has waited for its own.
func children() ([]string, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended since
		}
		if p, err := proc.ParseStat(string(text)); err == nil && p.PPID == os.Getpid() {
			found = append(found, "process "+strings.TrimSpace(string(text)))
		}
	}
	return found, nil
}

// groups are the control groups of the daemons: the pid of each is in their names.
func (s *scene) groups() ([]string, error) {
	lines, err := mountLines()
	if err != nil {
		return nil, err
	}
	own := func(name string) bool {
		return slices.ContainsFunc(s.daemons, func(pid int) bool {
			return strings.HasPrefix(name, fmt.Sprintf("judged-%d-", pid))
		})
	}
	var found []string
	for _, l := range lines {
		before, after, _ := strings.Cut(l, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup") || len(fields) < 5 {
			continue
		}
		err := filepath.WalkDir(fields[4], func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return filepath.SkipDir // it went away while we look
			case err == nil && d.IsDir() && own(d.Name()):
				found = append(found, "control group "+path)
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

// newMounts are the mounts of judged's that were not there before.
func (s *scene) newMounts() ([]string, error) {
	lines, err := mountLines()
	var found []string
	for _, l := range lines {
		if !s.mounts[l] && strings.Contains(l, "judged") {
			found = append(found, "mount "+l)
		}
	}
	return found, err
}

func mountLines() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), nil
}
