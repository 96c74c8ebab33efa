package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/opencontainers/runtime-spec/specs-go"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// prefix starts the name of every tree. The rest is the pid and the start time of its judged, which together identify
// a process while the host is up, and its pid namespace: pids are different in a container.
const prefix = "judged-"

// Tree holds all groups of one judged process.
type Tree struct {
	host *Hierarchies
	name string
	runs atomic.Int64

	mu    sync.Mutex // guards the fields below
	slots map[string]*Subtree
}

// NewTree names a tree for the calling process and removes trees of judged processes that are gone. Slot makes the
// groups.
func (h *Hierarchies) NewTree() (*Tree, error) {
	if err := h.sweep(); err != nil {
		return nil, err
	}
	start, err := h.startTime(os.Getpid())
	if err != nil {
		return nil, err
	}
	namespace, err := h.pidNamespace()
	if err != nil {
		return nil, err
	}
	return &Tree{host: h, name: fmt.Sprintf("%s%d-%s-%s", prefix, os.Getpid(), start, namespace),
		slots: map[string]*Subtree{}}, nil
}

// pidNamespace returns the number of the caller's pid namespace, from "pid:[4026531836]".
func (h *Hierarchies) pidNamespace() (string, error) {
	link, err := os.Readlink(h.fs.Path("/proc/self/ns/pid"))
	if err != nil {
		return "", err
	}
	return strings.Trim(link, "pid:[]"), nil
}

// startTime returns field 22 of /proc/PID/stat, in ticks since boot.
func (h *Hierarchies) startTime(pid int) (string, error) {
	stat, err := h.fs.Read(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	s, err := hostfs.ParseStat(stat)
	return s.Start, err
}

// sweep kills the processes and removes the groups that crashed judged processes left, in any group that they
// were started in.
func (h *Hierarchies) sweep() error {
	var left []error
	for _, mount := range h.mounts() {
		for _, dir := range h.findTrees(mount, 6) {
			if h.ownerLives(filepath.Base(dir)) {
				continue
			}
			left = append(left, h.removeTree(dir))
		}
	}
	return errors.Join(left...)
}

func (h *Hierarchies) mounts() []string {
	var all []string
	if h.v2 != "" {
		all = append(all, h.v2)
	}
	for _, m := range h.v1 {
		all = append(all, m)
	}
	return all
}

// findTrees lists the trees at most depth folders below dir.
func (h *Hierarchies) findTrees(dir string, depth int) []string {
	entries, err := os.ReadDir(h.fs.Path(dir))
	if err != nil || depth == 0 {
		return nil // the group was removed in the meantime
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), prefix):
			found = append(found, path)
		default:
			found = append(found, h.findTrees(path, depth-1)...)
		}
	}
	return found
}

// ownerLives reports whether the judged process of a tree is alive. It returns true if that is unknown: a
// judged in another pid namespace removes its own trees.
func (h *Hierarchies) ownerLives(name string) bool {
	parts := strings.SplitN(strings.TrimPrefix(name, prefix), "-", 4) // the fourth is a preferred slot
	if len(parts) < 3 {
		return true // not a name of a judged tree: leave it alone
	}
	pid, start := parts[0], parts[1]
	n, err := strconv.Atoi(pid)
	_, number := strconv.ParseUint(start, 10, 64)
	namespace, unknown := h.pidNamespace()
	if err != nil || number != nil || unknown != nil || parts[2] != namespace {
		return true
	}
	now, err := h.startTime(n)
	return err == nil && now == start
}

// removeTree kills the processes below dir and removes the folders, deepest first.
func (h *Hierarchies) removeTree(dir string) error {
	var folders []string
	err := filepath.WalkDir(h.fs.Path(dir), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(folders) - 1; i >= 0; i-- {
		if err := killAndRemove(folders[i]); err != nil {
			return fmt.Errorf("remove leftover control group: %w", err)
		}
	}
	return nil
}

// killAndRemove retries: a killed process leaves its group only after its memory is freed, which for a large process
// takes a while.
func killAndRemove(dir string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("rmdir %q: %w", dir, err)
		}
		signalAll(dir + "/cgroup.procs")
		time.Sleep(time.Millisecond)
	}
}

// signalAll sends SIGKILL to every process that a procs file lists. It opens the processes and then reads the list
// again: a pid that ended in between may belong to another process, even one of the host.
func signalAll(procs string) {
	pids, err := readIDs(procs)
	if err != nil || len(pids) == 0 {
		return // the group is empty or gone
	}
	opened := make(map[int]*os.File, len(pids))
	for _, pid := range pids {
		if fd, err := linux.OpenProcess(pid); err == nil { // on error it has exited
			opened[pid] = fd
			defer fd.Close()
		}
	}
	members, _ := readIDs(procs) // none if the group is gone
	for _, pid := range members {
		if fd := opened[pid]; fd != nil {
			_ = linux.KillProcess(fd) // it may have ended
		}
	}
}

// Subtree is the part of a tree for one slot, bound to its CPUs and memory. Its methods may be called concurrently.
type Subtree struct {
	tree   *Tree
	cpus   cpuset.Set
	dirs   map[string]string // hierarchy -> folder
	weight error             // see Weighted
	others atomic.Bool       // see CountAsOthers
	usage  *os.File          // the CPU time of all runs; opened when it is first read; the lock of the tree guards it

	mu   sync.Mutex // guards the fields below
	idle []*frame
}

// Subtree makes the groups of a slot on the given CPUs and memory nodes. A second call with the same arguments returns
// the same groups.
func (t *Tree) Subtree(cpus, nodes cpuset.Set) (*Subtree, error) {
	return t.subtree(t.name, slotName(cpus, nodes), cpus, nodes, false)
}

// Preferred is Subtree with ten times the weight of other programs on its CPUs. Next to eight programs that compute, a
// run with the usual weight gets a slice of 3 ms at a time, and uses 2 ms of it to fill the caches again: its CPU time
// is several times that on an idle CPU. The groups are not below those of Subtree, whose programs keep their weight.
func (t *Tree) Preferred(cpus, nodes cpuset.Set) (*Subtree, error) {
	name := slotName(cpus, nodes)
	return t.subtree(t.name+"-"+name, "", cpus, nodes, true)
}

func slotName(cpus, nodes cpuset.Set) string {
	return strings.ReplaceAll("cpu"+cpus.String()+"mem"+nodes.String(), ",", "+")
}

// Weighted returns why a preferred slot has the usual weight, for example because judged may not use the cpu controller.
func (s *Subtree) Weighted() error { return s.weight }

func (t *Tree) subtree(tree, name string, cpus, nodes cpuset.Set, preferred bool) (*Subtree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	path := filepath.Join(tree, name)
	if s := t.slots[path]; s != nil {
		return s, nil
	}
	s := &Subtree{tree: t, cpus: cpus, dirs: map[string]string{}}
	for hierarchy := range t.host.base {
		if hierarchy != weightController || preferred {
			s.dirs[hierarchy] = filepath.Join(t.host.baseOf(hierarchy, cpus), path)
		}
	}
	missing := s.missing()
	mems := nodes.String()
	var err error
	if t.host.Mode == Unified {
		err = s.setUpV2(cpus.String(), mems, preferred)
	} else {
		err = s.setUpV1(cpus.String(), mems, preferred)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up control groups of slot %s: %w", cpus, err), removeUnused(missing))
	}
	t.slots[path] = s
	return s, nil
}

// missing returns the folders of the subtree and of its tree that do not exist, parents last.
func (s *Subtree) missing() []string {
	var dirs []string
	for _, dir := range s.dirs {
		for _, dir := range []string{dir, filepath.Dir(dir)} {
			if !s.tree.host.fs.Exists(dir) {
				dirs = append(dirs, s.tree.host.fs.Path(dir))
			}
		}
	}
	return dirs
}

// removeUnused undoes a set-up that failed. It removes nothing that contains a process or another group: the other
// slots of the tree keep running.
func removeUnused(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		err := syscall.Rmdir(dir)
		if err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.EBUSY) {
			errs = append(errs, fmt.Errorf("rmdir %q: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// weight of a preferred slot, as cpu.weight of v2, whose usual value is 100. In v1 it is cpu.shares, usually 1024.
const (
	weight = 1000
	shares = 10 * 1024
)

func (s *Subtree) setUpV2(cpus, mems string, preferred bool) error {
	h, dir := s.tree.host, s.dirs[""]
	group := strings.TrimPrefix(dir, h.v2)
	m, err := cgroup2.NewManager(h.v2, group, &cgroup2.Resources{Memory: &cgroup2.Memory{}, Pids: &cgroup2.Pids{}})
	if err != nil {
		return err
	}
	if err := m.ToggleControllers([]string{"cpuset"}, cgroup2.Enable); err != nil {
		return err
	}
	if preferred {
		s.weight = h.weighV2(dir)
	}
	// The cpu controller stays off below: cpu.stat works without it, and groups without it are scheduled as one.
	for _, w := range [][2]string{{"cpuset.cpus", cpus}, {"cpuset.mems", mems},
		{"cgroup.subtree_control", "+memory +pids"}} {
		if err := h.fs.Write(filepath.Join(dir, w[0]), w[1]); err != nil {
			return err
		}
	}
	return nil
}

// weighV2 enables the cpu controller for a group and sets its weight.
func (h *Hierarchies) weighV2(dir string) error {
	if err := h.fs.Write(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), "+cpu"); err != nil {
		return err
	}
	return h.fs.Write(filepath.Join(dir, "cpu.weight"), strconv.Itoa(weight))
}

func (s *Subtree) setUpV1(cpus, mems string, preferred bool) error {
	h := s.tree.host
	limits := &specs.LinuxCPU{Cpus: cpus, Mems: mems}
	hierarchy := func() ([]cgroup1.Subsystem, error) {
		all := []cgroup1.Subsystem{cgroup1.NewCpuset(root), cgroup1.NewMemory(root), cgroup1.NewPids(root)}
		if h.Mode == Legacy {
			all = append(all, cgroup1.NewCpuacct(root))
		}
		if s.dirs[weightController] != "" {
			all = append(all, cgroup1.NewCpu(root))
			limits.Shares = new(uint64(shares))
		}
		return all, nil
	}
	path := func(name cgroup1.Name) (string, error) {
		return strings.TrimPrefix(s.dirs[string(name)], h.v1[string(name)]), nil
	}
	_, err := cgroup1.New(path, &specs.LinuxResources{CPU: limits}, cgroup1.WithHierarchy(hierarchy))
	if err != nil {
		return err
	}
	if preferred && s.dirs[weightController] == "" {
		s.weight = fmt.Errorf("judged is in another group of the v1 controller %q than of pids, or "+
			"it is not mounted below %s", weightController, root)
	}
	if h.Mode == Hybrid {
		return os.MkdirAll(h.fs.Path(s.dirs[""]), 0o755)
	}
	return nil
}

// Remove kills all processes in the tree and removes it. No group may be in use.
func (t *Tree) Remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, s := range t.slots {
		errs = append(errs, s.Trim())
		if s.usage != nil {
			errs = append(errs, s.usage.Close())
			s.usage = nil
		}
	}
	return errors.Join(append(errs, t.remove())...)
}

func (t *Tree) remove() error {
	var errs []error
	for _, base := range t.host.bases() {
		for _, dir := range t.host.findTrees(base, 1) {
			if name := filepath.Base(dir); name == t.name || strings.HasPrefix(name, t.name+"-") {
				errs = append(errs, t.host.removeTree(dir))
			}
		}
	}
	return errors.Join(errs...)
}
