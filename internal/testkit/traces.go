package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Users are the user IDs that only the sandboxes of one test use.
type Users struct{ First, Count int }

func (u Users) has(id int) bool { return id >= u.First && id < u.First+u.Count }

// Traces is a snapshot of everything that a sandbox could leave behind.
type Traces struct {
	users  Users
	before inventory
	settle time.Duration
}

// Watch takes a snapshot of this process, its children and the host: descriptors, processes, namespaces,
// control groups, mounts, and for the users their processes, shared memory, message queues, semaphores, files
// in world-writable folders, and keys. Other tests of the binary must not run at the same time.
func Watch(t testing.TB, u Users) *Traces {
	t.Helper()
	inv, err := readInventory(u)
	if err != nil {
		t.Fatal(err)
	}
	return &Traces{users: u, before: inv, settle: settle}
}

// None fails the test with a list of what was not in the snapshot and exists now. It waits for resources
// that are being removed.
func (w *Traces) None(t testing.TB) {
	t.Helper()
	left, err := leftover(w.before, w.users, w.settle)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Fatalf("left behind:\n\t%s", strings.Join(left, "\n\t"))
	}
}

// addUsers adds the processes of the users, with any parent.
func (inv inventory) addUsers(u Users) error {
	if u.Count == 0 {
		return nil
	}
	inv.addProcesses(u)
	inv.addOwned(u)
	return inv.addTables(u)
}

func (inv inventory) addProcesses(u Users) {
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is valid
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited since
		}
		_, after, _ := strings.Cut(string(text), "\nUid:\t")
		real, _, _ := strings.Cut(after, "\t")
		if id, err := strconv.Atoi(real); err == nil && u.has(id) {
			what := fmt.Sprintf("process of user %d: %s", id, filepath.Dir(path))
			inv[what] = what
		}
	}
}

// addOwned adds the users' files in world-writable folders.
func (inv inventory) addOwned(u Users) {
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not on this host
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue // removed since
			}
			if s := info.Sys().(*syscall.Stat_t); u.has(int(s.Uid)) {
				what := fmt.Sprintf("file of user %d: %s/%s", s.Uid, dir, e.Name())
				inv[what] = what
			}
		}
	}
}

// addTables adds entries from the kernel's tables of objects that outlive a process.
func (inv inventory) addTables(u Users) error {
	for _, table := range []struct {
		path string
		what string
		uid  int // index of the user's field
	}{
		{"/proc/sysvipc/shm", "shared memory segment", 7},
		{"/proc/sysvipc/sem", "set of semaphores", 4},
		{"/proc/sysvipc/msg", "message queue", 7},
		{"/proc/key-users", "keys", 0}, // "UID: usage keys…"
	} {
		text, err := os.ReadFile(table.path)
		if err != nil {
			if os.IsNotExist(err) {
				continue // not supported by this kernel
			}
			return fmt.Errorf("list %s: %w", table.what, err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) <= table.uid {
				continue
			}
			id, err := strconv.Atoi(strings.TrimSuffix(fields[table.uid], ":"))
			if err == nil && u.has(id) {
				what := fmt.Sprintf("%s of user %d: %s", table.what, id, strings.Join(fields, " "))
				inv[what] = what
			}
		}
	}
	return nil
}
