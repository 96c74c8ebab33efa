package tune

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/testkit"
)

const bootID = "/proc/sys/kernel/random/boot_id"

// kernel is an in-memory host that responds to writes as Linux does. It is both the writer and the store of a
// tuner, and can stop at any operation to simulate a killed process.
type kernel struct {
	tree    fstest.MapFS
	journal []byte
	refuse  map[string]error // path -> error of a write to it
	invalid string           // why no partition is valid
	rounds  map[string]string
	// dropOffline makes SetAffinity remove offline CPUs, as the kernel does for tasks in a cpuset.
	dropOffline bool
	swaps       swapSpace

	ops, killAt int // number of operations so far; 0: never
}

// killed is the panic value that simulates SIGKILL.
type killed struct{}

func (k *kernel) step() {
	if k.ops++; k.ops == k.killAt {
		panic(killed{})
	}
}

// host reads a host from testdata/hosts.
func host(t *testing.T, name string) *kernel {
	t.Helper()
	tree, _, err := testkit.Host("../../../testdata/hosts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{tree: tree, refuse: map[string]error{}, rounds: map[string]string{},
		swaps: swapSpace{before: map[string]string{}}}
	if k.get(cpuDir+"/present") == "missing" {
		k.put(cpuDir+"/present", k.get(cpuDir+"/online"))
	}
	k.put(cpuDir+"/possible", k.get(cpuDir+"/present"))
	k.put(bootID, "0d5cb7a2-0000-4000-8000-000000000001")
	return k
}

// unified adds to the host cgroup v2 with the cpuset controller, not enabled for child groups, and threads that
// are bound to CPUs.
func unified(t *testing.T, name string) *kernel {
	k := host(t, name)
	online, err := k.fs().Read(cpuDir + "/online")
	if err != nil {
		t.Fatal(err)
	}
	k.put("/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0")
	k.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids")
	k.put("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory pids")
	k.put(cpuDir+"/isolated", "")
	k.put("/proc/80/stat", "80 (kswapd1) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 31 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "+
		"17 1 0 0")
	k.put("/proc/80/status", "Cpus_allowed_list:\t1-3")
	k.put("/proc/81/stat", "81 (writeback) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 31 0 0 0 0 0 0 0 0 0 0 0 0 0 "+
		"0 0 17 1 0 0")
	k.put("/proc/81/status", "Cpus_allowed_list:\t"+online)
	return k
}

// threads panics on errors, which do not occur in these tests.
func (k *kernel) threads() []hostfs.Thread {
	all, err := hostfs.Threads(context.Background(), k.fs())
	if err != nil {
		panic(err)
	}
	return all
}

func (k *kernel) fs() hostfs.FS { return hostfs.Of(k.tree) }

func (k *kernel) put(p, text string) {
	k.tree[strings.TrimPrefix(p, "/")] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: 0o644}
}

func (k *kernel) get(p string) string {
	f, ok := k.tree[strings.TrimPrefix(p, "/")]
	if !ok {
		return "missing"
	}
	return strings.TrimSpace(string(f.Data))
}

// contents returns all files, for comparison.
func (k *kernel) contents() map[string]string {
	all := map[string]string{}
	for name, f := range k.tree {
		all[name] = string(f.Data)
	}
	return all
}

func (k *kernel) tuner(o Options) *tuner {
	o.FS = k.fs()
	return &tuner{o: o, writer: k, store: k}
}

func (k *kernel) Load() ([]byte, error) {
	if k.journal == nil {
		return nil, fs.ErrNotExist
	}
	return k.journal, nil
}

func (k *kernel) Save(text []byte) error { k.step(); k.journal = bytes.Clone(text); return nil }
func (k *kernel) Delete() error          { k.step(); k.journal = nil; return nil }

func (k *kernel) Write(p, value string) error {
	k.step()
	f, ok := k.tree[strings.TrimPrefix(p, "/")]
	if err := k.refuse[p]; err != nil {
		return &fs.PathError{Op: "write", Path: p, Err: err}
	}
	if !ok {
		return &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	old := strings.TrimSpace(string(f.Data))
	if r, ok := k.rounds[p]; ok {
		value = r
	}
	switch base := path.Base(p); {
	case strings.Contains(old, "["):
		words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(old))
		if !slices.Contains(words, value) {
			return &fs.PathError{Op: "write", Path: p, Err: syscall.EINVAL}
		}
		words[slices.Index(words, value)] = "[" + value + "]"
		value = strings.Join(words, " ")
	case base == "rps_cpus", base == "xps_cpus", base == "cpumask", base == "default_smp_affinity":
		value = strings.Repeat("0", max(0, len(old)-len(value))) + value
	case base == "control", base == "online":
		k.plug(p, value)
	case base == "cgroup.subtree_control":
		value = k.handDown(old, value)
	case base == "cpuset.cpus.partition":
		value = k.partition(path.Dir(p), value)
	}
	f.Data = []byte(value + "\n")
	return nil
}

// plug takes CPUs offline and brings them back online.
func (k *kernel) plug(p, value string) {
	online, _ := cpuset.Parse(k.get(cpuDir + "/online"))
	present, _ := cpuset.Parse(k.get(cpuDir + "/present"))
	var second cpuset.Set
	for _, id := range present {
		siblings, _ := cpuset.Parse(k.get(fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuDir, id)))
		if path.Base(p) == "online" {
			siblings = cpuset.New(-1, id)
			if !strings.HasSuffix(p, fmt.Sprintf("/cpu%d/online", id)) {
				continue
			}
		}
		if len(siblings) > 0 && siblings[0] != id {
			second = second.Union(cpuset.New(id))
		}
	}
	if value == "off" || value == "0" {
		online = online.Minus(second)
	} else {
		online = online.Union(second)
	}
	k.put(cpuDir+"/online", online.String())
}

func (k *kernel) handDown(old, value string) string {
	words := slices.DeleteFunc(strings.Fields(old), func(w string) bool { return w == value[1:] })
	if value[0] == '+' {
		words = append([]string{value[1:]}, words...)
	}
	return strings.Join(words, " ")
}

// partition overwrites all affinities, as kernels before 6.2 do.
func (k *kernel) partition(group, kind string) string {
	if kind == "member" {
		if k.get(group+"/cpuset.cpus.partition") != "member" {
			k.rewrite(k.all())
		}
		return kind
	}
	if k.invalid != "" {
		return kind + " invalid (" + k.invalid + ")"
	}
	own, _ := cpuset.Parse(k.get(group + "/cpuset.cpus"))
	k.put(group+"/cpuset.cpus.effective", own.String())
	k.rewrite(k.all().Minus(own))
	return kind
}

// all returns the CPUs to which Linux 6.1 sets affinities. Offline CPUs are lost.
func (k *kernel) all() cpuset.Set {
	online, _ := cpuset.Parse(k.get(cpuDir + "/online"))
	return online
}

func (k *kernel) rewrite(cpus cpuset.Set) {
	for _, t := range k.threads() {
		if !t.Fixed() {
			k.put(t.Dir+"/status", "Cpus_allowed_list:\t"+cpus.String())
		}
	}
}

func (k *kernel) SetAffinity(dir string, cpus cpuset.Set) error {
	k.step()
	if k.get(dir+"/stat") == "missing" {
		return &fs.PathError{Op: "sched_setaffinity", Path: dir, Err: syscall.ESRCH}
	}
	if err := k.refuse[dir]; err != nil {
		return &fs.PathError{Op: "sched_setaffinity", Path: dir, Err: err}
	}
	if k.dropOffline {
		cpus = cpus.Intersect(k.all())
	}
	if r := k.rounds[dir]; r != "" {
		k.put(dir+"/status", "Cpus_allowed_list:\t"+r)
		return nil
	}
	k.put(dir+"/status", "Cpus_allowed_list:\t"+cpus.String())
	return nil
}

func (k *kernel) MakeGroup(group string) error {
	k.step()
	name := strings.TrimPrefix(group, "/")
	k.tree[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	if strings.Contains(k.get("/sys/fs/cgroup/cgroup.subtree_control"), "cpuset") {
		k.put(group+"/cpuset.cpus", "")
		k.put(group+"/cpuset.cpus.partition", "member")
	}
	return nil
}

func (k *kernel) RemoveGroup(group string) error {
	k.step()
	if err := k.refuse[group]; err != nil {
		return &fs.PathError{Op: "remove", Path: group, Err: err}
	}
	for name := range k.tree {
		if name == group[1:] || strings.HasPrefix(name, group[1:]+"/") {
			delete(k.tree, name)
		}
	}
	return nil
}
