package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// TestDetectV2: judged moves once out of a group in which it is the only process, even if that is the root of a
// container.
func TestDetectV2(t *testing.T) {
	me := strconv.Itoa(os.Getpid()) + "\n"
	type found struct{ Base, Moved string }
	for name, tt := range map[string]struct {
		own, procs string
		want       found
	}{
		"root, with all others": {"/", "1\n2\n" + me, found{root, ""}},
		"root of a container":   {"/", me, found{root, "/daemon"}},
		"a unit's group": {"/system.slice/judged.service", me,
			found{root + "/system.slice/judged.service", "/system.slice/judged.service/daemon"}},
		"a session with others": {"/session", "1\n" + me, found{root, ""}},
		"again, from where it went": {"/system.slice/judged.service/daemon", me,
			found{root + "/system.slice/judged.service", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			host := t.TempDir()
			write := func(path, content string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(host+filepath.Dir(path), 0o755),
					os.WriteFile(host+path, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			write(root+"/cgroup.controllers", "cpuset memory pids\n")
			write(filepath.Join(root, tt.own, "cgroup.procs"), tt.procs)
			leaf := filepath.Join(tt.own, leafName)
			write(root+leaf+"/cgroup.procs", "")
			h := &Hierarchies{Mode: Unified, v2: root, base: map[string]string{}, fs: hostfs.New(host)}
			if err := h.detectV2(tt.own); err != nil {
				t.Fatal(err)
			}
			got := found{Base: h.base[""]}
			if text, err := os.ReadFile(host + root + leaf + "/cgroup.procs"); err != nil || string(text) == "0" {
				got.Moved = leaf
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDetectWeight: judged uses the cpu controller of v1 only in its own group.
func TestDetectWeight(t *testing.T) {
	files := fstest.MapFS{}
	for _, c := range []string{"cpuset/tasks", "memory/tasks", "pids/tasks", "cpuacct/tasks", "cpu/cpu.shares"} {
		files["sys/fs/cgroup/"+c] = &fstest.MapFile{Mode: 0o644}
	}
	for name, tt := range map[string]struct {
		mode Mode
		cpu  string // group of judged
		want string
	}{
		"all controllers of a unit": {Hybrid, "/unit", root + "/cpu/unit"},
		"some":                      {Hybrid, "/", ""},
		"legacy":                    {Legacy, "/unit", ""},
	} {
		h := &Hierarchies{Mode: tt.mode, fs: hostfs.Of(files), v1: map[string]string{}, base: map[string]string{}}
		own := map[string]string{"pids": "/unit", "memory": "/unit", "cpuset": "/", "cpuacct": "/unit", "cpu": tt.cpu}
		if err := h.detectV1(own); err != nil {
			t.Fatal(err)
		}
		if got := h.base[weightController]; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestPartition: slots on the CPUs of a partition created by judged tune are below it, others are not.
func TestPartition(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, cpus, slot, want string
	}{
		"inside":    {"isolated", "2-3", "2", "/sys/fs/cgroup/judged"},
		"wide":      {"root", "2-3", "2-3", "/sys/fs/cgroup/judged"},
		"outside":   {"isolated", "2-3", "1", "/sys/fs/cgroup"},
		"half":      {"isolated", "2-3", "1-2", "/sys/fs/cgroup"},
		"invalid":   {"isolated invalid (Cpu list in cpuset.cpus not exclusive)", "0-3", "2", "/sys/fs/cgroup"},
		"no longer": {"member", "0-3", "2", "/sys/fs/cgroup"},
	} {
		h := &Hierarchies{Mode: Unified, v2: root, base: map[string]string{"": root}, fs: hostfs.Of(fstest.MapFS{
			"sys/fs/cgroup/judged/cpuset.cpus.partition": {Data: []byte(tt.kind + "\n"), Mode: 0o644},
			"sys/fs/cgroup/judged/cpuset.cpus.effective": {Data: []byte(tt.cpus + "\n"), Mode: 0o644},
		})}
		if err := h.findPartition(); err != nil {
			t.Fatal(err)
		}
		cpus, err := cpuset.Parse(tt.slot)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.baseOf("", cpus); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
