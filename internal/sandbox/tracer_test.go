package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Constants of ptrace(2) that package syscall lacks.
const (
	ptraceSeize      = 0x4206
	ptraceInterrupt  = 0x4207
	ptraceSyscallGet = 0x420e
	ptraceEventStop  = 128
	waitAll          = 0x40000000 // __WALL: threads too
	waitOwn          = 0x20000000 // __WNOTHREAD: only children of the calling thread
)

// tracer stops judged and all processes that it starts at each system call, counts the calls, and kills the
// victim, judged or judged-init, at one of them: judged at a call of any process, judged-init only at its own
// calls. Only one thread may use it.
type tracer struct {
	t      *testing.T
	judged int
	victim int
	status syscall.WaitStatus // exit status of judged
	killAt int
	of     string // count only calls of the process with this name; "" means all
	calls  int
	made   map[uint64]int // calls by number; may be nil
	tasks  map[int]bool
	killed string // process and call, once the victim has been killed
	held   int    // the task that is stopped until judged has ended
	pipes  []*os.File
}

// idle are calls that a Go runtime makes at any time. They change nothing, and without them the count is nearly
// constant.
var idle = []uint64{syscall.SYS_FUTEX, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EPOLL_CTL, syscall.SYS_NANOSLEEP,
	syscall.SYS_SCHED_YIELD,
	syscall.SYS_MADVISE, syscall.SYS_MMAP, syscall.SYS_MUNMAP, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGACTION,
	syscall.SYS_RT_SIGRETURN,
	syscall.SYS_SIGALTSTACK, syscall.SYS_TGKILL, syscall.SYS_GETPID, syscall.SYS_GETTID, syscall.SYS_CLONE,
	syscall.SYS_FSTAT, syscall.SYS_FCNTL,
	syscall.SYS_LSEEK}

// seize attaches to all threads of a process, also to those that start meanwhile: it lists them until it finds no new one.
func (tr *tracer) seize(pid int) {
	tr.t.Helper()
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE |
		syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK
	for found := true; found; {
		found = false
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			tr.t.Fatal(err)
		}
		for _, e := range threads {
			tid, err := strconv.Atoi(e.Name())
			if err != nil {
				tr.t.Fatal(err)
			}
			if tr.tasks[tid] {
				continue
			}
			found, tr.tasks[tid] = true, true
			// The kernel attaches to what a seized thread starts.
			if statusOf("/proc/"+e.Name()+"/status")("TracerPid") == strconv.Itoa(syscall.Gettid()) {
				continue
			}
			if _, err := ptrace(ptraceSeize, tid, 0, options); errors.Is(err, syscall.ESRCH) {
				continue // it has exited
			} else if err != nil {
				tr.t.Fatalf("seize thread %d of %d: %v", tid, pid, err)
			}
			if _, err := ptrace(ptraceInterrupt, tid, 0, 0); err != nil && !errors.Is(err, syscall.ESRCH) {
				tr.t.Fatalf("stop thread %d of %d: %v", tid, pid, err)
			}
		}
	}
}

func ptrace(request uintptr, pid int, addr, data uintptr) (uintptr, error) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, request, uintptr(pid), addr, data, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// patience is how long processes of a killed judged may live. It is not a guarantee: it only distinguishes
// processes that are exiting from those that are not.
const patience = time.Minute

// follow returns when judged and all processes that it has started have exited. It returns those that it
// killed.
func (tr *tracer) follow() []string {
	tr.t.Helper()
	var left []string
	self := syscall.Gettid()
	brake := time.AfterFunc(patience, func() { left = killTraced(self) })
	for tr.next() {
		if tr.killed == "" {
			brake.Reset(patience)
		}
	}
	if !brake.Stop() && left == nil {
		tr.t.Fatal("the traced processes ended before they could be killed")
	}
	for _, p := range tr.pipes {
		p.Close()
	}
	return left
}

// killTraced kills all processes that a thread traces.
func killTraced(tracer int) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is valid
	for _, path := range paths {
		status := statusOf(path)
		if status("TracerPid") != strconv.Itoa(tracer) {
			continue
		}
		found = append(found, status("Name")+", in its namespaces "+status("NSpid"))
		pid, _ := strconv.Atoi(status("Pid"))  // always a number
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be exiting
	}
	return found
}

func statusOf(path string) func(key string) string {
	text := "\n" + read(path)
	return func(key string) string {
		_, rest, _ := strings.Cut(text, "\n"+key+":")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
}

// next waits for one event and reports whether there can be another.
func (tr *tracer) next() bool {
	var status syscall.WaitStatus
	tid, err := syscall.Wait4(-1, &status, waitAll|waitOwn, nil)
	if err != nil {
		return errors.Is(err, syscall.EINTR)
	}
	if status.Exited() || status.Signaled() {
		delete(tr.tasks, tid)
		if tid == tr.judged {
			tr.status = status
		}
		if tid == tr.judged && tr.held != 0 {
			tr.resume(tr.held, 0)
			tr.held = 0
		}
		return true
	}
	tr.tasks[tid] = true
	event := int(status) >> 16
	switch signal := status.StopSignal(); {
	case event != 0:
		tr.resume(tid, 0)
	case signal == syscall.SIGTRAP|0x80:
		if tr.enters(tid) {
			tr.kill(tid)
		}
		if tr.held != tid {
			tr.resume(tid, 0)
		}
	default:
		tr.resume(tid, int(signal))
	}
	return true
}

func (tr *tracer) resume(tid, signal int) {
	_, _ = ptrace(syscall.PTRACE_SYSCALL, tid, 0, uintptr(signal)) // it may have been killed in the meantime
}

// enters reports whether a task is about to make the call to kill at.
func (tr *tracer) enters(tid int) bool {
	var info struct {
		op      uint8
		_       [3]uint8
		arch    uint32
		ip, sp  uint64
		nr      uint64
		args    [6]uint64
		reserve [4]uint64
	}
	const entry = 1
	if _, err := ptrace(ptraceSyscallGet, tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info))); err != nil ||
		info.op != entry {
		return false
	}
	if tr.killed != "" || slices.Contains(idle, info.nr) || tr.victim != tr.judged && !tr.isVictim(tid) {
		return false
	}
	if tr.of != "" && tr.name(tid) != tr.of {
		return false
	}
	tr.calls++
	if tr.made != nil {
		tr.made[info.nr]++
	}
	if tr.calls != tr.killAt {
		return false
	}
	tr.killed = fmt.Sprintf("%s, system call %d", tr.name(tid), info.nr)
	return true
}

// isVictim reports whether a thread belongs to the victim.
func (tr *tracer) isVictim(tid int) bool {
	return statusOf("/proc/"+strconv.Itoa(tid)+"/status")("Tgid") == strconv.Itoa(tr.victim)
}

// kill kills the victim while a task is about to make a call. If the victim is judged, a task of another
// process makes its call after judged has exited, while the pipes of judged-init are still open, as if the
// kernel took long to end judged-init.
func (tr *tracer) kill(tid int) {
	whole := tr.victim == tr.judged
	for other := range tr.tasks {
		if whole && tr.name(other) == "judged-init" {
			tr.keepPipes(other)
		}
	}
	if err := syscall.Kill(tr.victim, syscall.SIGKILL); err != nil {
		tr.t.Error(err)
	}
	if whole && tr.name(tid) != "judged" {
		tr.held = tid
	}
}

func (tr *tracer) keepPipes(pid int) {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*") // the pattern is valid
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !strings.HasPrefix(target, "pipe:") {
			continue
		}
		if p, err := os.OpenFile(link, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			tr.pipes = append(tr.pipes, p)
		}
	}
}

// name returns the role of a process: judged, judged-init, or one in the sandbox.
func (tr *tracer) name(tid int) string {
	field := statusOf("/proc/" + strconv.Itoa(tid) + "/status")
	switch inside := strings.Fields(field("NSpid")); {
	case field("Tgid") == strconv.Itoa(tr.judged):
		return "judged"
	case len(inside) < 2:
		return "judged-init"
	case inside[len(inside)-1] == "1":
		return "process 1"
	}
	return "solution"
}
