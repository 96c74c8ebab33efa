package cgroup

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/testkit"
)

// TestEachCallFails makes each system call that sets up a slot and a group fail once, while a process runs in
// another slot of the tree. The other slot must be unaffected, and the failed one must be removed completely.
func TestEachCallFails(t *testing.T) {
	asMounted := func(*testing.T, *Tree) {}
	for name, tt := range map[string]struct {
		change func(*testing.T, *Tree)
		slot   func(t *Tree, cpus, nodes cpuset.Set) (*Subtree, error)
	}{
		"as mounted":            {asMounted, (*Tree).Subtree},
		"as mounted, preferred": {asMounted, (*Tree).Preferred},
		"legacy":                {useLegacy, (*Tree).Subtree},
		"legacy, preferred":     {useLegacy, (*Tree).Preferred},
	} {
		t.Run(name, func(t *testing.T) {
			faults := testkit.NewFaults(t)
			tree := newTree(t)
			tt.change(t, tree)
			top, err := machine.ReadTopology(hostfs.New("/"))
			if err != nil {
				t.Fatal(err)
			}
			last := top.CPUs[len(top.CPUs)-1]
			slot, err := tree.Subtree(cpuset.New(last.ID), cpuset.New(last.Node))
			if err != nil {
				t.Fatal(err)
			}
			g, err := slot.NewGroup()
			if err != nil {
				t.Fatal(err)
			}
			defer remove(t, g)
			runtime.LockOSThread() // the member dies with the thread that starts it
			defer runtime.UnlockOSThread()
			m := join(t, g, "spin")
			n := 1
			for failed := true; failed; n++ {
				failed = setUpFails(t, tree, tt.slot, faults, n)
				if ids, err := g.Threads(); err != nil || len(ids) == 0 {
					t.Fatalf("call %d: the process of the other slot is gone: %v", n, err)
				}
			}
			if n < 20 {
				t.Errorf("only %d calls have failed", n)
			}
			m.kill(t, g)
			if g, err = slot.NewGroup(); err != nil {
				t.Fatalf("the next group of the other slot: %v", err)
			}
			remove(t, g)
		})
	}
}

// useLegacy uses a hybrid host as if it had no v2 hierarchy.
func useLegacy(t *testing.T, tree *Tree) {
	testkit.Need(t, testkit.CgroupV1)
	h := &Hierarchies{Mode: Legacy, fs: tree.host.fs, v1: map[string]string{}, base: map[string]string{}}
	own, err := h.fs.Read("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.detectV1(hostfs.Cgroups(own)); err != nil {
		t.Fatal(err)
	}
	tree.host = h
}

// setUpFails sets up a slot and a group while one call fails, and removes them. It returns false if there are
// fewer calls.
func setUpFails(t *testing.T, tree *Tree, slot func(t *Tree, cpus, nodes cpuset.Set) (*Subtree, error),
	faults *testkit.Faults, n int) bool {
	t.Helper()
	before := maps.Clone(tree.slots)
	cpus, nodes := cpuset.New(0), cpuset.New(0)
	var g *Group
	var call string
	err := faults.OnThread(func() error {
		faults.FailAt(n)
		defer func() { call = faults.Stop() }()
		s, err := slot(tree, cpus, nodes)
		if err != nil {
			return err
		}
		if g, err = s.NewGroup(); err != nil {
			return err
		}
		return g.Limit(units.Bytes(1<<20), 8)
	})
	if g != nil {
		remove(t, g)
	}
	if call == "" && err != nil {
		t.Fatalf("nothing was made to fail, but %v", err)
	}
	if err != nil && !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), syscall.EIO.Error()) {
		t.Errorf("%s: the error does not name the cause: %v", call, err)
	}
	made := false
	for path, s := range tree.slots {
		if before[path] == nil {
			made = true
			if err := s.Trim(); err != nil {
				t.Error(err)
			}
			delete(tree.slots, path)
		}
	}
	for _, base := range tree.host.bases() {
		for _, path := range []string{tree.name + "/cpu0mem0", tree.name + "-cpu0mem0"} {
			dir := filepath.Join(base, path)
			if !made && (hostfs.FS{}).Exists(dir) {
				t.Errorf("%s: left %s", call, dir)
			}
			// Rmdir fails if a group is left in the folder.
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: remove %s: %v", call, dir, err)
			}
		}
	}
	return call != ""
}
