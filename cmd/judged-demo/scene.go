package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"judged/internal/testkit"
)

// scene is where the demo plays: its own folder, and what was there
// before.
type scene struct {
	dir     string
	daemons []int // their PIDs
	// leftovers lists what the given processes and the demo have left behind.
	leftovers func(pids ...int) ([]string, error)
}

func newScene() (*scene, error) {
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	leftovers, err := testkit.Baseline()
	if err != nil {
		return nil, err
	}
	s := &scene{leftovers: leftovers}
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
