package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// thread is one of the host.
type thread struct {
	dir       string // /proc/PID or /proc/PID/task/TID
	pid, ppid int    // of its process
	name      string
	flags     uint64
	start     string // in clock ticks since boot: a number that is given anew has another
	allowed   cpuset.Set
	ours      bool // judged, or what it started
}

// Bits of the flags in /proc/PID/stat (include/linux/sched.h), stable since Linux 3.x.
const (
	flagKernel = 0x00200000 // PF_KTHREAD
	flagFixed  = 0x04000000 // PF_NO_SETAFFINITY
)

func (t thread) kernel() bool { return t.flags&flagKernel != 0 }

func threadKnobs() []knob {
	return []knob{{
		id: "user-tasks", title: "tasks of others",
		why:   "a task that shares the core takes its time out of the run's wall time and its lines out of the caches",
		risk:  "a task that was bound to reserved CPUs runs elsewhere; what it starts inherits that, until restore",
		find:  func(v *view) proposal { return v.moveThreads("user-tasks", false) },
		valid: validThread,
	}, {
		id: "kthreads", title: "kernel threads",
		why:   "writeback, memory reclaim and unbound workers preempt the run for 10 us to 1 ms at a time",
		risk:  "reclaim for the memory of a reserved node is done from CPUs of another",
		find:  func(v *view) proposal { return v.moveThreads("kthreads", true) },
		valid: validThread,
	}}
}

func validThread(_ *view, e entry) bool {
	return e.Kind == affinity && threadPath.MatchString(e.Path) && digits.MatchString(e.Start)
}

var threadPath = regexp.MustCompile(`^/proc/[0-9]+(/task/[0-9]+)?$`)

// moveThreads wants every thread off the reserved CPUs, but for judged's own and what runs in it.
func (v *view) moveThreads(setting string, kernel bool) proposal {
	var p proposal
	reserved, seen := v.reserved.Intersect(v.top.Online), false
	p.threads = scanThreads(v.fs)
	for _, t := range p.threads {
		seen = seen || t.kernel()
		switch {
		case t.kernel() != kernel || t.ours:
		case !t.allowed.Overlaps(reserved):
			p.right++
		case t.whyFixed() != "":
			p.stays = append(p.stays, Value{Path: t.dir, Name: t.name, State: Stays, From: t.allowed.String(), Reason: t.whyFixed()})
		default:
			e := entry{Setting: setting, Kind: affinity, Path: t.dir, Start: t.start, Old: t.allowed.String(), Ours: []string{v.without(t.allowed).String()}}
			p.changes = append(p.changes, change{entry: e, from: e.Old, name: t.name, row: row{mayRefuse: true}})
		}
	}
	if kernel && !seen {
		p.skip = "no kernel thread is visible: a PID namespace or hidepid hides the host's"
	}
	return p
}

// whyFixed says why a thread cannot move; "" if it can.
func (t thread) whyFixed() string {
	base, number, slash := strings.Cut(t.name, "/")
	switch {
	case !t.kernel():
		return ""
	case base == "kworker" && strings.HasPrefix(number, "u"), base == "kworker" && strings.HasPrefix(number, "R"):
		return "follows the mask of unbound workers, which wq-unbound sets"
	case base == "irq" && slash:
		return "follows its interrupt, which irq-affinity sets"
	case t.flags&flagFixed != 0 && len(t.allowed) == 1:
		return "belongs to its CPU: each CPU needs one"
	case t.flags&flagFixed != 0:
		return "the kernel has fixed it (PF_NO_SETAFFINITY); it wakes only when memory is short or a CPU changes"
	}
	return ""
}

// scanThreads reads every thread that it can see. Threads come and go meanwhile: what vanished, or
// hides, is left out.
func scanThreads(h hostfs.FS) []thread {
	names, err := h.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []thread
	for _, name := range names {
		if !digits.MatchString(name) {
			continue
		}
		first, err := readThread(h, "/proc/"+name)
		if err != nil {
			continue
		}
		all = append(all, first)
		tids, err := h.ReadDir("/proc/" + name + "/task")
		if err != nil {
			continue
		}
		for _, tid := range tids {
			if tid == name || !digits.MatchString(tid) {
				continue
			}
			if t, err := readThread(h, "/proc/"+name+"/task/"+tid); err == nil {
				t.pid, t.ppid = first.pid, first.ppid
				all = append(all, t)
			}
		}
	}
	markOurs(h, all)
	return all
}

func readThread(h hostfs.FS, dir string) (thread, error) {
	stat, err := h.Read(dir + "/stat")
	if err != nil {
		return thread{}, err
	}
	t, err := parseStat(stat)
	if err != nil {
		return thread{}, fmt.Errorf("read %s/stat: %w", dir, err)
	}
	status, err := h.Read(dir + "/status")
	if err != nil {
		return thread{}, err
	}
	t.dir = dir
	for line := range strings.Lines(status) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			t.allowed, err = cpuset.Parse(list)
			return t, err
		}
	}
	return thread{}, fmt.Errorf("read %s/status: no line Cpus_allowed_list", dir)
}

// parseStat reads the fields of proc(5) that say who a thread is: 1 number, 2 name, 4 parent,
// 9 flags, 22 start.
func parseStat(text string) (thread, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return thread{}, errors.New("no name in parentheses")
	}
	f := strings.Fields(text[end+1:]) // f[0] is field 3
	if len(f) < 20 {
		return thread{}, fmt.Errorf("%d fields after the name, want 20", len(f))
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(text[:open]))
	ppid, err2 := strconv.Atoi(f[1])
	flags, err3 := strconv.ParseUint(f[6], 10, 64)
	return thread{pid: pid, ppid: ppid, name: text[open+1 : end], flags: flags, start: f[19]}, errors.Join(err1, err2, err3)
}

// markOurs finds this process, daemons and sandboxes beside it, and all below them: they are on reserved CPUs
// because they should, or keep off them by themselves.
func markOurs(h hostfs.FS, all []thread) {
	parent, ours := map[int]int{}, map[int]bool{}
	if self, err := h.Readlink("/proc/self"); err == nil {
		if pid, err := strconv.Atoi(path.Base(self)); err == nil {
			ours[pid] = true
		}
	}
	for _, t := range all {
		parent[t.pid] = t.ppid
		if (t.name == "judged" || t.name == "judged-init") && !t.kernel() {
			ours[t.pid] = true
		}
	}
	for i := range all {
		pid := all[i].pid
		// A number that is given again while they are read could close a circle.
		for range len(parent) + 1 {
			if pid == 0 || ours[pid] {
				break
			}
			pid = parent[pid]
		}
		all[i].ours = ours[pid]
	}
}

// readAffinity says that a thread does not exist when another one has its number.
func readAffinity(h hostfs.FS, e entry) (string, error) {
	t, err := readThread(h, e.Path)
	switch {
	case errors.Is(err, syscall.ESRCH), err == nil && t.start != e.Start:
		return "", &fs.PathError{Op: "read", Path: e.Path, Err: fs.ErrNotExist}
	case err != nil:
		return "", err
	}
	return t.allowed.String(), nil
}
