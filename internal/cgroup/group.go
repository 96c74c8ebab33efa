package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/hostfs"
	"judged/internal/linux"
	"judged/internal/units"
)

// Group is the control group of one run. It is not safe for concurrent use.
type Group struct {
	files   *files
	dirs    []string // what was made, in order
	v2      *os.File // folder of the v2 group, or nil
	tasks   []*os.File
	usage   *os.File // cpu.stat or cpuacct.usage, kept open for the supervisor
	waits   *os.File // cpu.pressure, or nil
	irqs    *os.File // irq.pressure, or nil
	procs   string   // cgroup.procs of the group that counts
	threads string
}

// files names the files of a group by what they are for.
type files struct {
	memory, swap, pids string // limits; swap counts memory too on v1
	swapOff            bool   // v2: swap is limited apart, to 0
	oomGroup           string // v2: one kill ends all
	peak               string
	peakReset          bool // v1: the peak can be reset by writing 0
	oomEvents          string
	stat               string // v2: memory.stat
}

func v2Files(dir string) *files {
	return &files{memory: dir + "/memory.max", swap: dir + "/memory.swap.max", swapOff: true, pids: dir + "/pids.max",
		oomGroup: dir + "/memory.oom.group", peak: dir + "/memory.peak", oomEvents: dir + "/memory.events", stat: dir + "/memory.stat"}
}

func v1Files(memory, pids string) *files {
	return &files{memory: memory + "/memory.limit_in_bytes", swap: memory + "/memory.memsw.limit_in_bytes", pids: pids + "/pids.max",
		peak: memory + "/memory.max_usage_in_bytes", peakReset: true, oomEvents: memory + "/memory.oom_control"}
}

// NewGroup makes a fresh group without limits.
func (s *Slot) NewGroup() (*Group, error) {
	g := &Group{}
	if err := s.open(g, fmt.Sprintf("run%d", s.tree.runs.Add(1))); err != nil {
		return nil, errors.Join(fmt.Errorf("make control group: %w", err), g.Remove())
	}
	return g, nil
}

func (s *Slot) open(g *Group, name string) (err error) {
	h := s.tree.host
	dir := func(hierarchy string) string { return h.fs.Path(filepath.Join(s.dirs[hierarchy], name)) }
	if h.Mode == Unified {
		g.files = v2Files(dir(""))
	} else {
		g.files = v1Files(dir("memory"), dir("pids"))
		// All runs of a slot share its cpuset: that one needs no folder
		// per run.
		if err := g.join(h.fs.Path(s.dirs["cpuset"])); err != nil {
			return err
		}
		for _, c := range v1Controllers(h.Mode)[1:] {
			if err := g.make(dir(c)); err != nil {
				return err
			}
			if err := g.join(dir(c)); err != nil {
				return err
			}
		}
	}
	counts := dir("cpuacct")
	usage := counts + "/cpuacct.usage"
	if h.v2 != "" {
		counts = dir("")
		if err := g.make(counts); err != nil {
			return err
		}
		if g.v2, err = linux.Open(counts, os.O_RDONLY); err != nil {
			return err
		}
		usage = counts + "/cpu.stat"
		g.waits, g.irqs = openSome(counts+"/cpu.pressure"), openSome(counts+"/irq.pressure")
	}
	g.procs, g.threads = counts+"/cgroup.procs", counts+"/cgroup.threads"
	if h.v2 == "" {
		g.threads = counts + "/tasks"
	}
	g.usage, err = linux.Open(usage, os.O_RDONLY)
	return err
}

// openSome opens a file that not every kernel has, or lets be read.
func openSome(path string) *os.File {
	f, err := linux.Open(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	return f
}

func (g *Group) make(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	g.dirs = append(g.dirs, dir)
	return nil
}

func (g *Group) join(dir string) error {
	f, err := linux.Open(dir+"/tasks", os.O_WRONLY)
	if err != nil {
		return err
	}
	g.tasks = append(g.tasks, f)
	return nil
}

// Birth is the folder for CLONE_INTO_CGROUP, or nil on a host without v2.
func (g *Group) Birth() *os.File { return g.v2 }

// Tasks are the v1 files that a run with one thread writes "0" into, in this
// order, to join. They are open because v1 checks the rights of who opened
// them.
func (g *Group) Tasks() []*os.File { return g.tasks }

// Limit bounds memory, without swap, and the number of processes and threads.
func (g *Group) Limit(memory units.Bytes, processes int) error {
	f := g.files
	bytes := strconv.FormatInt(int64(memory), 10)
	if err := write(f.memory, bytes); err != nil {
		return err
	}
	swap := bytes
	if f.swapOff {
		swap = "0"
	}
	// A kernel without swap accounting has no such file, and then doctor
	// asks for a host without swap.
	if err := write(f.swap, swap); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if f.oomGroup != "" {
		if err := write(f.oomGroup, "1"); err != nil {
			return err
		}
	}
	return write(f.pids, strconv.Itoa(processes))
}

// Threads lists the threads in the group.
func (g *Group) Threads() ([]int, error) { return readIDs(g.threads) }

// Kill ends everything in the group: with cgroup.kill (Linux 5.14), else by
// signals until nothing is left. A fork at the wrong moment escapes the first, a
// fork bomb can outrun the second; the end of the run's pid namespace catches
// both.
func (g *Group) Kill() error {
	if g.v2 != nil {
		err := write(g.v2.Name()+"/cgroup.kill", "1")
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	signalAll(g.procs)
	return nil
}

// WaitEmpty blocks until nothing lives in the group and reports whether that
// came in time.
func (g *Group) WaitEmpty(timeout time.Duration) (bool, error) {
	if g.v2 == nil {
		return g.pollEmpty(timeout)
	}
	events, err := linux.Open(g.v2.Name()+"/cgroup.events", os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer events.Close()
	deadline := linux.Monotonic() + timeout
	var buf [256]byte
	for {
		// Reading arms the notification, so read first, then wait.
		n, err := events.ReadAt(buf[:], 0)
		if n == 0 {
			return false, err
		}
		if strings.Contains(string(buf[:n]), "populated 0") {
			return true, nil
		}
		left := deadline - linux.Monotonic()
		if left <= 0 {
			return false, nil
		}
		if _, err := linux.WaitException(left, int(events.Fd())); err != nil {
			return false, err
		}
	}
}

// pollEmpty is for legacy hosts, whose kernel tells nobody.
func (g *Group) pollEmpty(timeout time.Duration) (bool, error) {
	deadline := linux.Monotonic() + timeout
	for {
		ids, err := readIDs(g.procs)
		if err != nil || len(ids) == 0 {
			return err == nil, err
		}
		if linux.Monotonic() > deadline {
			return false, nil
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Remove closes the group's files and removes its folders, killing what is
// left inside. The group is of no use afterwards, even after an error.
func (g *Group) Remove() error {
	for _, f := range append(g.tasks, g.usage, g.waits, g.irqs, g.v2) {
		if f != nil {
			f.Close()
		}
	}
	var errs []error
	for i := len(g.dirs) - 1; i >= 0; i-- {
		if err := syscall.Rmdir(g.dirs[i]); err != nil {
			errs = append(errs, killAndRemove(g.dirs[i]))
		}
	}
	return errors.Join(errs...)
}

func write(path, value string) error {
	f, err := linux.Open(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func readInt(path string) (int64, error) {
	b, err := hostfs.FS{}.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// findKey is one value of "key value" lines, or nil.
func findKey(text, key string) *int64 {
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == key {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

// parseKey is one value of "key value" lines; a missing key is 0.
func parseKey(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == key {
			return strconv.ParseInt(v, 10, 64)
		}
	}
	return 0, nil
}

func readIDs(path string) ([]int, error) {
	b, err := hostfs.FS{}.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ids, err := parseIDs(string(b))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return ids, nil
}

func parseIDs(text string) ([]int, error) {
	var ids []int
	for field := range strings.FieldsSeq(text) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
