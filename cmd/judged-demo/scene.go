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

// scene is the environment of the demo: its own folder, and what existed before it.
type scene struct {
	dir     string
	daemons []int // PIDs
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

// data and log return the paths of the data directory and the log of the named daemon.
func (s *scene) data(name string) string { return filepath.Join(s.dir, name) }
func (s *scene) log(name string) string  { return filepath.Join(s.dir, name+".log") }

func (s *scene) remove() error { return os.RemoveAll(s.dir) }

// adoptOrphans makes the demo the parent of processes that the daemon leaves running. They can then be
// distinguished from those of other judged processes.
func adoptOrphans() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER, Linux 3.4
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become the parent of orphans: %w", errno)
	}
	return nil
}

// reapPatience is how long processes may take to exit after the daemon was killed.
const reapPatience = 3 * time.Second

// reapOrphans waits for adopted processes that are exiting. Process 1 of a sandbox cannot exit before the other
// processes of the sandbox are reaped.
func reapOrphans() {
	deadline := time.Now().Add(reapPatience)
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), err == nil && pid > 0:
		case err != nil || time.Now().After(deadline):
			return // ECHILD: no children
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}
