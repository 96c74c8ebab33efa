package hostfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"

	"judged/internal/base/cpuset"
)

// Thread is a thread of the host. PID and PPID are those of its process.
type Thread struct {
	Stat
	TID      int
	Dir      string     // /proc/PID or /proc/PID/task/TID
	Allowed  cpuset.Set // CPUs on which it may run
	Switches uint64     // number of voluntary and involuntary context switches
	Ours     bool       // part of a judged process or of a descendant
}

// Threads returns all visible threads. Threads that exit during the scan or are hidden by hidepid are skipped.
func Threads(ctx context.Context, h FS) ([]Thread, error) {
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

// vanished reports whether the process has exited or is hidden by hidepid.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission)
}

func readProcess(h FS, dir string) ([]Thread, error) {
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

// ReadThread reads a thread from a folder /proc/PID or /proc/PID/task/TID. For the second form, PID in the
// result is the TID.
func ReadThread(h FS, dir string) (Thread, error) {
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
		// Captures have neither line.
		n, _ := strconv.ParseUint(StatusField(status, line), 10, 63)
		t.Switches += n
	}
	return t, nil
}

// markOurs marks this process, other judged processes, and their descendants. They run on the reserved CPUs on
// purpose, or avoid them by themselves.
func markOurs(h FS, all []Thread) {
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

// descends follows the parents of pid. The number of steps is limited, because a pid reused during the scan
// could create a cycle.
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
