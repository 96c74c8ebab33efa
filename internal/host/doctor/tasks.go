package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// task is one thread of the host.
type task struct {
	pid, ppid int // of the process
	tid       int // its own
	comm      string
	state     string
	flags     int
	threads   int
	cpu       int        // where it ran last
	allowed   cpuset.Set // where it may run
	realTime  bool       // of a policy that goes before all ordinary ones
	ours      bool       // judged, or something that judged started
	switches  uint64     // how often it gave up its CPU, by itself or not
}

// flagKernelThread is PF_KTHREAD of the kernel's sched.h, stable since Linux 2.6.
const flagKernelThread = 0x00200000

func (t task) kernel() bool { return t.flags&flagKernelThread != 0 }

// bound is a kernel thread that belongs to one CPU, such as ksoftirqd/2: it is part of that CPU.
func (t task) bound() bool { return t.kernel() && len(t.allowed) == 1 }

// scanTasks reads every thread of every process that it can see. Threads come and go while it
// reads: one that vanished is no error.
func scanTasks(ctx context.Context, h hostfs.FS) ([]task, error) {
	names, err := h.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var tasks []task
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
		tasks = append(tasks, found...)
	}
	markOurs(h, tasks)
	return tasks, nil
}

// vanished also covers a process that hides from us: hidepid refuses to show it.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission)
}

func readProcess(h hostfs.FS, dir string) ([]task, error) {
	first, err := readTask(h, dir)
	if err != nil {
		return nil, err
	}
	tasks := []task{first}
	if first.threads < 2 {
		return tasks, nil
	}
	tids, err := h.ReadDir(dir + "/task")
	if err != nil {
		return tasks, err
	}
	for _, tid := range tids {
		if tid == strconv.Itoa(first.pid) {
			continue
		}
		t, err := readTask(h, dir+"/task/"+tid)
		if err != nil {
			continue
		}
		t.pid, t.tid = first.pid, t.pid
		tasks = append(tasks, t)
	}
	return tasks, nil
}

func readTask(h hostfs.FS, dir string) (task, error) {
	stat, err := h.Read(dir + "/stat")
	if err != nil {
		return task{}, err
	}
	t, err := parseStat(stat)
	if err != nil {
		return task{}, fmt.Errorf("read %s: %w", dir+"/stat", err)
	}
	status, err := h.Read(dir + "/status")
	if err != nil {
		return task{}, err
	}
	if t.allowed, err = cpuset.Parse(statusField(status, "Cpus_allowed_list")); err != nil {
		return task{}, fmt.Errorf("read %s: %w", dir+"/status", err)
	}
	t.tid = t.pid
	for _, line := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
		// A capture keeps neither.
		n, _ := strconv.ParseUint(statusField(status, line), 10, 63)
		t.switches += n
	}
	return t, nil
}

// markOurs finds judged and everything below it: the process that asks, a daemon that runs beside
// it, their checkers and the programs they judge. They are on the reserved CPUs because they should.
func markOurs(h hostfs.FS, tasks []task) {
	roots := map[int]bool{}
	if self, err := h.Readlink("/proc/self"); err == nil {
		if pid, err := strconv.Atoi(path.Base(self)); err == nil {
			roots[pid] = true
		}
	}
	parent := map[int]int{}
	for _, t := range tasks {
		parent[t.pid] = t.ppid
		if t.comm == "judged" && !t.kernel() {
			roots[t.pid] = true
		}
	}
	for i := range tasks {
		tasks[i].ours = descends(tasks[i].pid, parent, roots)
	}
}

// descends walks up. A pid that is reused while the scan runs could close a circle, so the number
// of steps is bounded.
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

// intruders sorts out who may run on the reserved CPUs: the names with their CPUs, and of these the
// ones that ran there last; of kernel threads, which wait there for years, in the window if there is
// one. Names are listed once per process and set of CPUs.
func (v *view) intruders(of func(task) bool) (allowed, ran []string) {
	count, seen := map[string]int{}, map[string]bool{}
	for _, t := range v.tasks {
		if t.state == "Z" || t.state == "X" || !of(t) || !t.allowed.Overlaps(v.reserved) {
			continue
		}
		// kworker/u4:2-events_unbound and its like differ by what they did last.
		name, _, _ := strings.Cut(t.comm, "-events")
		label := fmt.Sprintf("%s (%s)", name, t.allowed)
		count[label]++
		if v.reserved.Contains(t.cpu) && (v.window == nil || !t.kernel() || v.window.ran(t)) {
			seen[label] = true
		}
	}
	for label := range count {
		allowed = append(allowed, times(label, count[label]))
		if seen[label] {
			ran = append(ran, times(label, count[label]))
		}
	}
	slices.Sort(allowed)
	slices.Sort(ran)
	return allowed, ran
}

func times(label string, n int) string {
	if n == 1 {
		return label
	}
	return fmt.Sprintf("%s x%d", label, n)
}

// blind says why the list of tasks may not be the whole host's; "" if it is.
func (v *view) blind() string {
	v.saw("/proc/[pid]/stat", "/proc/[pid]/status")
	for _, t := range v.tasks {
		if t.kernel() {
			return ""
		}
	}
	return "no kernel thread is visible, so a PID namespace or hidepid hides the host's tasks; run doctor as root on the host"
}
