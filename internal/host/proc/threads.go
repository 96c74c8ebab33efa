package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// Thread is one thread of the host. PID and PPID are those of its process.
type Thread struct {
	Stat
	TID      int
	Dir      string     // /proc/PID or /proc/PID/task/TID
	Allowed  cpuset.Set // where it may run
	Switches uint64     // how often it gave up its CPU, voluntarily or not
	Ours     bool       // a judged process or a descendant of one
}

// Threads reads every thread that is visible. Threads come and go meanwhile: one that has vanished, or is hidden by
// hidepid, is no error.
func Threads(ctx context.Context, h hostfs.FS) ([]Thread, error) {
	names, err := h.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []Thread
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := readProcess(h, "/proc/"+name)
		if err != nil && !vanished(err) {
			return nil, err
		}
		all = append(all, found...)
	}
	markOurs(h, all)
	return all, nil
}

// vanished also covers a process that hidepid hides.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission)
}

func readProcess(h hostfs.FS, dir string) ([]Thread, error) {
	first, err := ReadThread(h, dir)
	if err != nil {
		return nil, err
	}
	all := []Thread{first}
	if first.Stat.Threads < 2 {
		return all, nil
	}
	tids, err := h.ReadDir(dir + "/task")
	if err != nil {
		return all, err
	}
	for _, tid := range tids {
		if tid == strconv.Itoa(first.PID) {
			continue
		}
		t, err := ReadThread(h, dir+"/task/"+tid)
		if err != nil {
			continue
		}
		t.TID, t.PID, t.PPID = t.PID, first.PID, first.PPID
		all = append(all, t)
	}
	return all, nil
}

// ReadThread reads the thread of a folder /proc/PID or /proc/PID/task/TID. In the second form its PID is that of the
// thread.
func ReadThread(h hostfs.FS, dir string) (Thread, error) {
	stat, err := h.Read(dir + "/stat")
	if err != nil {
		return Thread{}, err
	}
	s, err := ParseStat(stat)
	if err != nil {
		return Thread{}, fmt.Errorf("read %s/stat: %w", dir, err)
	}
	status, err := h.Read(dir + "/status")
	if err != nil {
		return Thread{}, err
	}
	t := Thread{Stat: s, TID: s.PID, Dir: dir}
	if t.Allowed, err = cpuset.Parse(StatusField(status, "Cpus_allowed_list")); err != nil {
		return Thread{}, fmt.Errorf("read %s/status: %w", dir, err)
	}
	for _, line := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
		// A captured host has neither line.
		n, _ := strconv.ParseUint(StatusField(status, line), 10, 63)
		t.Switches += n
	}
	return t, nil
}

// markOurs finds this process, other judged processes, and everything below them: they are on the reserved CPUs
// because they belong there, or keep off them without help.
func markOurs(h hostfs.FS, all []Thread) {
	parent, roots := map[int]int{}, map[int]bool{}
	if self, err := h.Readlink("/proc/self"); err == nil {
		if pid, err := strconv.Atoi(path.Base(self)); err == nil {
			roots[pid] = true
		}
	}
	for _, t := range all {
		parent[t.PID] = t.PPID
		if (t.Name == "judged" || t.Name == "judged-init") && !t.Kernel() {
			roots[t.PID] = true
		}
	}
	for i := range all {
		all[i].Ours = descends(all[i].PID, parent, roots)
	}
}

// descends walks up. A pid that is reused during the scan could close a circle, so the number of steps is bounded.
func descends(pid int, parent map[int]int, roots map[int]bool) bool {
	for range len(parent) + 1 {
		if roots[pid] {
			return true
		}
		up, ok := parent[pid]
		if !ok || up == pid {
			return false
		}
		pid = up
	}
	return false
}
