package judge_test

import (
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// TestLookFindsLeftovers checks that each kind of object that an attack could leave is detected.
func TestLookFindsLeftovers(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	a := openArena(t, 1, sandbox.RootPrivate, 0)
	defer a.close(t)
	for _, tc := range []struct {
		name string
		make func(t *testing.T) (undo func() error)
		want []string
	}{
		{"nothing", func(*testing.T) func() error { return func() error { return nil } }, nil},
		{"canary written", func(t *testing.T) func() error {
			write(t, a.host.canary)
			return func() error { return os.WriteFile(a.host.canary, []byte(canaryText), 0o666) }
		}, []string{"Canary"}},
		{"file next to it", func(t *testing.T) func() error {
			write(t, a.host.canary+"2")
			return func() error { return os.Remove(a.host.canary + "2") }
		}, []string{"Canary"}},
		{"file of a run's user", func(t *testing.T) func() error {
			path := fmt.Sprintf("/tmp/judged-leftover-%d", os.Getpid())
			write(t, path)
			if err := os.Chown(path, firstUID(), 0); err != nil {
				t.Fatal(err)
			}
			return func() error { return os.Remove(path) }
		}, []string{"Files"}},
		{"shared memory", func(t *testing.T) func() error {
			id := sharedMemory(t, firstUID())
			return func() error {
				_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
				return err
			}
		}, []string{"IPC"}},
		{"process", func(t *testing.T) func() error { return startAs(t, firstUID()) },
			[]string{"Children", "Descriptors", "Processes"}},
		{"process of another user", func(t *testing.T) func() error { return startAs(t, firstUID()-1) },
			[]string{"Children", "Descriptors"}},
		{"descriptor", func(t *testing.T) func() error {
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			return f.Close
		}, []string{"Descriptors"}},
		{"connection", func(t *testing.T) func() error {
			c, err := net.Dial("unix", "@"+a.host.abstract)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			return func() error { a.host.accepted = nil; return nil }
		}, []string{"Connections"}},
		{"bystander stopped", func(t *testing.T) func() error {
			p := a.host.bystander.Process
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			return func() error { return p.Signal(syscall.SIGCONT) }
		}, []string{"Bystander"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			undo := tc.make(t)
			testkit.WaitFor(t, time.Minute, "the look to tell",
				func() bool { return slices.Equal(tc.want, differing(a.before, a.host.look(t))) })
			if err := undo(); err != nil {
				t.Error(err)
			}
			if diff := a.host.changes(t, a.before, a.host.look(t)); diff != "" {
				t.Errorf("it was undone, and still (-before +after):\n%s", diff)
			}
		})
	}
}

// differing returns the sorted names of the members that differ.
func differing(a, b surroundings) []string {
	var names []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for _, f := range reflect.VisibleFields(x.Type()) {
		if !f.Anonymous && !cmp.Equal(x.FieldByIndex(f.Index).Interface(), y.FieldByIndex(f.Index).Interface()) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sharedMemory(t *testing.T, uid int) int {
	t.Helper()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil {
		t.Fatal(err)
	}
	d.Perm.Uid = uint32(uid)
	if _, err := unix.SysvShmCtl(id, unix.IPC_SET, &d); err != nil {
		t.Fatal(err)
	}
	return id
}

func startAs(t *testing.T, uid int) (undo func() error) {
	t.Helper()
	cmd := startBystander(t, &syscall.Credential{Uid: uint32(uid)})
	return func() error { return killBystander(cmd) }
}
