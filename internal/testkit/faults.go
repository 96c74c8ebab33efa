package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// Faults makes one system call of some threads fail, as if the kernel could not execute it. Seccomp reports the
// calls of these threads, and of all threads and processes that they start, to a supervisor, which lets all of
// them continue except one.
type Faults struct {
	supervisors sync.WaitGroup
	// log is the descriptor in which go test records the files that a test opens, or -1. Package os writes to
	// it while it holds a lock.
	log int

	mu     sync.Mutex // guards the fields below
	failAt int        // 0: count no calls
	calls  int
	failed string
}

// spared lists calls that a Go runtime makes at any time and whose failure it does not survive, and calls that
// cannot fail. The clock is read by a call where the vDSO cannot read it, such as in an emulator, and by the scheduler
// while it holds its locks.
var spared = []uint32{syscall.SYS_FUTEX, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EPOLL_CTL,
	syscall.SYS_EPOLL_CREATE1, syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_GETTIME, syscall.SYS_SCHED_YIELD,
	syscall.SYS_MADVISE, syscall.SYS_MMAP, syscall.SYS_MUNMAP, syscall.SYS_RT_SIGPROCMASK,
	syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGRETURN, syscall.SYS_SIGALTSTACK, syscall.SYS_TGKILL,
	syscall.SYS_GETPID, syscall.SYS_GETTID, syscall.SYS_CLONE, syscall.SYS_UMASK, syscall.SYS_RESTART_SYSCALL,
	syscall.SYS_CLOSE, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP}

// Numbers that package syscall lacks.
var (
	sysSeccomp   = map[string]uintptr{"amd64": 317, "arm64": 277}
	sysGetrandom = map[string]uint32{"amd64": 318, "arm64": 278} // the runtime does not survive its failure either
)

// NewFaults returns Faults without threads. The garbage collector is off until the test ends, because it waits
// for a thread that forks, whose child may wait for the supervisor.
func NewFaults(t testing.TB) *Faults {
	f := &Faults{log: testLog(t)}
	percent := debug.SetGCPercent(-1)
	runtime.GC() // waits for a running collection
	// A thread may wait for the supervisor without releasing its P.
	places := runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	t.Cleanup(func() {
		f.supervisors.Wait()
		runtime.GOMAXPROCS(places)
		debug.SetGCPercent(percent)
	})
	return f
}

// testLog returns the descriptor of the flag -test.testlogfile.
func testLog(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path, err := os.Readlink("/proc/self/fd/" + e.Name()) // the descriptor of the folder itself is closed by now
		n, notNumber := strconv.Atoi(e.Name())
		if err == nil && notNumber == nil && filepath.Base(path) == "testlog.txt" {
			return n
		}
	}
	return -1
}

// Watch adds the calling thread permanently: it must be locked, and end with the test. Threads that it starts
// are watched too.
func (f *Faults) Watch() error {
	calls := append(slices.Clip(spared), sysGetrandom[runtime.GOARCH])
	filter := []syscall.SockFilter{{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS}} // the number of the call
	for i, call := range calls {
		filter = append(filter, syscall.SockFilter{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: call,
			Jt: uint8(len(calls) - i)})
	}
	filter = append(filter, syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: retNotify},
		syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: retAllow})
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := syscall.RawSyscall(sysSeccomp[runtime.GOARCH], setModeFilter, newListener,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	f.supervisors.Go(func() { f.supervise(int(fd)) })
	return nil
}

// OnThread runs job on a new watched thread, and returns its error.
func (f *Faults) OnThread(job func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == syscall.Getpid() {
			// The first thread of a process never ends.
			err := f.OnThread(job)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		err := f.Watch()
		if err == nil {
			err = job()
		}
		done <- err
	}()
	return <-done
}

// FailAt makes the nth call from now on fail with EIO.
func (f *Faults) FailAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failAt, f.calls, f.failed = n, 0, ""
}

// Stop lets all calls continue from now on, and returns the process and the call that has failed, or "" if
// there were fewer calls.
func (f *Faults) Stop() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failAt = 0
	return f.failed
}

// The structures and requests of seccomp_unotify(2).
type (
	notification struct {
		id    uint64
		pid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	response struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

const (
	receive = 3<<30 | unsafe.Sizeof(notification{})<<16 | '!'<<8 | 0
	respond = 3<<30 | unsafe.Sizeof(response{})<<16 | '!'<<8 | 1
	goAhead = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE

	setModeFilter = 1          // SECCOMP_SET_MODE_FILTER
	newListener   = 1 << 3     // SECCOMP_FILTER_FLAG_NEW_LISTENER
	retNotify     = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	retAllow      = 0x7fff0000 // SECCOMP_RET_ALLOW
	pollIn        = 1
)

// supervise returns when the last thread with the filter has ended.
func (f *Faults) supervise(listener int) {
	defer syscall.Close(listener)
	for {
		polled := struct {
			fd              int32
			events, revents int16
		}{int32(listener), pollIn, 0}
		if _, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&polled)), 1, 0, 0, 0,
			0); errno != 0 {
			continue // EINTR
		}
		if polled.revents&pollIn == 0 {
			return
		}
		var n notification
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), receive,
			uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // the thread was killed or interrupted
		}
		r := response{id: n.id, flags: goAhead}
		if f.fails(&n) {
			r = response{id: n.id, errno: -int32(syscall.EIO)}
		}
		// An error means that the thread was killed or interrupted in the meantime.
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), respond, uintptr(unsafe.Pointer(&r)))
	}
}

func (f *Faults) fails(n *notification) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failAt == 0:
		return false
	case (n.nr == syscall.SYS_WRITE || n.nr == syscall.SYS_READ) && n.args[2] == 8:
		return false // the Go runtime wakes its poller by writing 8 bytes
	case n.nr == syscall.SYS_WRITE && int(n.args[0]) == f.log && !isChild(n.pid):
		return false
	case n.nr == syscall.SYS_FCNTL && n.args[1] >= syscall.F_GETFD && n.args[1] <= syscall.F_SETFL:
		return false // flags, for which the kernel needs no resources
	}
	if f.calls++; f.calls != f.failAt {
		return false
	}
	f.failed = fmt.Sprintf("%s, system call %d", commandOf(n.pid), n.nr)
	return true
}

// isChild reports whether a thread belongs to another process.
func isChild(tid uint32) bool {
	return syscall.Access(fmt.Sprintf("/proc/self/task/%d", tid), 0) != nil
}

// commandOf returns the name of a thread, for messages. It does not use package os, which would wait for a lock
// that a watched thread may hold.
func commandOf(tid uint32) string {
	fd, err := syscall.Open(fmt.Sprintf("/proc/%d/comm", tid), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "ended"
	}
	defer syscall.Close(fd)
	name := make([]byte, 64)
	n, _ := syscall.Read(fd, name)
	return strings.TrimSpace(string(name[:max(n, 0)]))
}
