package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
)

// Group is the control group of one run. It is not safe for concurrent use.
type Group struct {
	*frame
	slot   *Subtree
	files  *files
	memory string   // v1: the folder of the memory controller, for this run only
	tasks  *os.File // v1: tasks file of that folder
	killed bool
	// hasPeak is nil until HasPeak is called.
	hasPeak *bool
	refused *int64 // v1: the counter of Refused before the run; on v2 it starts at 0
}

// files are the paths of a group's files, by purpose.
type files struct {
	memory, swap, pids string // limits; on v1 swap includes memory
	pidEvents          string
	swapOff            bool   // v2: swap has a separate limit, 0
	oomGroup           string // v2: an OOM kill ends all processes
	peak               string
	peakReset          bool // v1: the peak can be reset by writing 0
	oomEvents          string
	stat               string // v2: memory.stat, read for every run
	cache              string // memory.stat
}

func v2Files(dir string) *files {
	return &files{memory: dir + "/memory.max", swap: dir + "/memory.swap.max", swapOff: true, pids: dir + "/pids.max",
		pidEvents: dir + "/pids.events", oomGroup: dir + "/memory.oom.group", peak: dir + "/memory.peak",
		oomEvents: dir + "/memory.events", stat: dir + "/memory.stat", cache: dir + "/memory.stat"}
}

func v1Files(memory, pids string) *files {
	return &files{memory: memory + "/memory.limit_in_bytes", swap: memory + "/memory.memsw.limit_in_bytes",
		pids: pids + "/pids.max", pidEvents: pids + "/pids.events",
		peak: memory + "/memory.max_usage_in_bytes", peakReset: true, oomEvents: memory + "/memory.oom_control",
		cache: memory + "/memory.stat"}
}

// NewGroup makes a group without limits.
func (s *Subtree) NewGroup() (*Group, error) {
	for {
		g := &Group{slot: s}
		err := s.open(g, fmt.Sprintf("run%d", s.tree.runs.Add(1)))
		if err == nil {
			return g, nil
		}
		left := g.Remove()
		// Another tree of this process has the same folders: try the next number.
		if left != nil || !errors.Is(err, os.ErrExist) {
			return nil, errors.Join(fmt.Errorf("make control group: %w", err), left)
		}
	}
}

func (s *Subtree) open(g *Group, name string) (err error) {
	if g.frame, err = s.acquireFrame(name); err != nil {
		return err
	}
	if s.tree.host.Mode == Unified {
		g.files = v2Files(s.dir("", g.name))
		return nil
	}
	// Memory counters cannot be read as differences: pages of files stay charged, and peaks and OOM kills are totals.
	memory := s.dir("memory", name)
	if err := os.Mkdir(memory, 0o755); err != nil {
		return err
	}
	g.memory, g.files = memory, v1Files(memory, s.dir("pids", g.name))
	g.tasks, err = linux.Open(memory+"/tasks", os.O_WRONLY)
	return err
}

// dir returns the folder of a group in a hierarchy.
func (s *Subtree) dir(hierarchy, name string) string {
	return s.tree.host.fs.Path(s.dirs[hierarchy]) + "/" + name
}

// openSome opens a file that does not exist or is unreadable on some kernels; it then returns nil.
func openSome(path string) *os.File {
	f, err := linux.Open(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	return f
}

// Birth returns the folder for CLONE_INTO_CGROUP, or nil on a host without v2.
func (g *Group) Birth() *os.File { return g.v2 }

// Tasks returns the v1 tasks files to which a run with one thread writes "0", in this order, to join the group.
// judged opens them because v1 checks the permissions of the opener.
func (g *Group) Tasks() []*os.File {
	if g.tasks == nil {
		return g.joins
	}
	return append(slices.Clip(g.joins), g.tasks)
}

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
	// A kernel without swap accounting has no such file; doctor then asks for a host without swap.
	if err := write(f.swap, swap); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if f.oomGroup != "" {
		if err := write(f.oomGroup, "1"); err != nil {
			return err
		}
	}
	if g.memory != "" {
		g.refused = g.countRefused()
	}
	if g.processes == processes {
		return nil
	}
	if err := write(f.pids, strconv.Itoa(processes)); err != nil {
		return err
	}
	g.processes = processes
	return nil
}

// Threads lists the threads in the group.
func (g *Group) Threads() ([]int, error) { return readIDs(g.threads) }

// Kill kills all processes in the group: with cgroup.kill if the kernel has it (Linux 5.14), and then with a signal
// to each remaining process. cgroup.kill sends its signal to the first thread of a process; if that thread has
// exited, the kernel drops the signal and the other threads keep running (Linux 6.1 and 6.18). A signal to the
// process reaches any thread.
//
// A fork at the wrong moment escapes cgroup.kill, and a fork bomb can outrun the signals. The end of the run's pid
// namespace stops both.
func (g *Group) Kill() error {
	g.killed = true
	var err error
	if g.v2 != nil {
		if err = write(g.v2.Name()+"/cgroup.kill", "1"); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	signalAll(g.procs)
	return err
}

// WaitEmpty waits until the group has no processes, and reports whether that happened in time.
func (g *Group) WaitEmpty(timeout time.Duration) (bool, error) {
	if g.v2 == nil {
		return g.pollEmpty(timeout)
	}
	deadline := time.Now().Add(timeout)
	var buf [256]byte
	for {
		// Reading arms the notification, so read before poll.
		n, err := g.events.ReadAt(buf[:], 0)
		if n == 0 {
			return false, err
		}
		if strings.Contains(string(buf[:n]), "populated 0") {
			return true, nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		if _, err := linux.WaitException(left, int(g.events.Fd())); err != nil {
			return false, err
		}
	}
}

// pollEmpty is WaitEmpty for legacy hosts, whose kernel sends no notification.
func (g *Group) pollEmpty(timeout time.Duration) (bool, error) {
	deadline := time.Now().Add(timeout)
	for {
		ids, err := readIDs(g.procs)
		if err != nil || len(ids) == 0 {
			return err == nil, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Remove closes the group's files and removes its folders, and kills the remaining processes. The group cannot be
// used afterwards, even after an error.
func (g *Group) Remove() error {
	again := g.reusable() // before the rest is killed
	var errs []error
	if g.memory != "" {
		errs = append(errs, removeFolder(g.memory))
	}
	if g.tasks != nil {
		errs = append(errs, g.tasks.Close())
	}
	switch {
	case again:
		g.slot.putIdle(g.frame)
	case g.frame != nil:
		errs = append(errs, g.frame.remove())
	}
	return errors.Join(errs...)
}

// reusable reports whether the next run may use the frame. After cgroup.kill it may not: since a kernel between 6.1
// and 6.18, a process that starts in a killed group is killed too.
func (g *Group) reusable() bool {
	if g.frame == nil || g.killed || g.slot.tree.host.Mode == Unified {
		return false
	}
	empty, err := g.WaitEmpty(0)
	return err == nil && empty
}

func removeFolder(dir string) error {
	if err := syscall.Rmdir(dir); err != nil {
		return killAndRemove(dir)
	}
	return nil
}
