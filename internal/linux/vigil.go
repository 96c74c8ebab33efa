package linux

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime's brackets around a call that blocks, as package syscall uses them.
// Their signatures are frozen: the runtime lists them as reached from outside.

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// Vigil is the watch over a control group close to its limit of CPU time, by a
// thread that comes before all that is not real-time on its CPU (SCHED_FIFO,
// lowest priority). An ordinary thread that wakes up waits until the fair
// scheduler takes the CPU from who has it: from a checker, or from the very run
// that is beyond its limit, whose milliseconds those are.
//
// To the runtime all of it is one system call. A real-time thread must not pass
// through the runtime's own code: on the way out of a system call that spins until
// sysmon or the garbage collector has let go of the goroutine, which on the same
// CPU it never does, until the kernel's brake on real-time threads
// (sched_rt_runtime_us) lets it, a second later: once in some thousand waits, and
// once in a hundred while the collector works.
//
// Where the kernel refuses the policy (it needs CAP_SYS_NICE and, with
// CONFIG_RT_GROUP_SCHED, a real-time budget in the thread's group of the cpu
// controller) the thread stays ordinary. One that is real-time stays as it is.
type Vigil struct {
	Ended   *os.File // can be read when there is nothing to watch any more
	Process *os.File // pidfd of the first process, which is killed too; nil is none
	Usage   *os.File // begins with the CPU time: cpu.stat or cpuacct.usage
	Unit    time.Duration
	Threads string // file that lists the threads: cgroup.threads or tasks
	Kill    string // file that ends all when 1 is written, cgroup.kill (Linux 5.14); without it they get SIGKILL

	Base  time.Duration // CPU time of the group when the run began
	Limit time.Duration // of the run's own
	Exact time.Duration // from which CPU time on the threads are accounted anew before it counts
	Width int           // how many CPUs the run has
	Pause time.Duration // between two looks, at least
	Break time.Duration // it ends where the next look is further away

	// What the watching thread works on, laid out before: it has no runtime.
	fate      Fate
	at, until time.Duration
	threads   []byte
	kill      []byte
	ended     unix.PollFd
	process   int32
	patience  unix.Timespec
	clock     unix.Timespec
	policy    int32
	priority  int32
	touched   [2]schedAttr
	text      [4096]byte
}

// Fate is how a Vigil came to its end.
type Fate int

// The fates.
const (
	VigilOver   Fate = iota // the time is over, or something could not be read
	VigilEnded              // the run has ended by itself
	VigilKilled             // the run has used its CPU time and is killed, but for what was born meanwhile
)

// Keep watches, from the moment next on, which is when the limit can be reached
// at the earliest, until last at most; both are monotonic. It tells when it saw the
// end of the run.
func (v *Vigil) Keep(next, last time.Duration) (Fate, time.Duration, error) {
	v.fate, v.until = VigilOver, last
	v.threads, v.kill = append([]byte(v.Threads), 0), append([]byte(v.Kill), 0)
	v.ended = unix.PollFd{Fd: int32(v.Ended.Fd()), Events: unix.POLLIN}
	if v.process = -1; v.Process != nil {
		v.process = int32(v.Process.Fd())
	}
	for i, policy := range []uint32{unix.SCHED_BATCH, unix.SCHED_NORMAL} {
		v.touched[i] = schedAttr{size: uint32(unsafe.Sizeof(schedAttr{})), policy: policy}
	}
	left := v.keep(next, int(v.Usage.Fd()))
	runtime.KeepAlive(v)
	if left != 0 {
		runtime.LockOSThread() // it ends with the goroutine
		return v.fate, v.at, os.NewSyscallError("sched_setscheduler", left)
	}
	return v.fate, v.at, nil
}

// keep and all that it calls has no stack to grow, and touches no pointer but v's.
//
//go:nosplit
func (v *Vigil) keep(next time.Duration, usage int) (left syscall.Errno) {
	entersyscallblock()
	// A thread that the runtime's monitor has started has its slack, see CalmMonitor.
	syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(UsualSlack), 0)
	urgent := v.rise()
	v.watch(next, usage)
	if urgent {
		left = v.lower()
	}
	exitsyscall()
	return left
}

//go:nosplit
func (v *Vigil) watch(next time.Duration, usage int) {
	for {
		ended := v.sleep(min(next, v.until))
		asked := v.now()
		if ended {
			v.fate, v.at = VigilEnded, asked
			return
		}
		if asked >= v.until {
			return
		}
		used, ok := v.used(usage)
		switch {
		case !ok:
			return
		case used >= v.Limit:
			v.end()
			v.fate = VigilKilled
			return
		}
		next = max(asked+v.left(used)/time.Duration(v.Width), v.now()+v.Pause)
		if next-asked > v.Break {
			return
		}
	}
}

// left is what the run can use, by a reading, until it has to be looked at: where
// that may lack what was used since the last ticks, until readings are exact.
//
//go:nosplit
func (v *Vigil) left(used time.Duration) time.Duration {
	if used < v.Exact {
		return v.Exact - used
	}
	return v.Limit - used
}

// used is the CPU time of the run. A running thread is accounted at ticks, and on
// a nohz_full CPU hardly ever, so where the difference decides the kernel is made
// to account now.
//
//go:nosplit
func (v *Vigil) used(usage int) (time.Duration, bool) {
	total, ok := v.total(usage)
	if !ok || total-v.Base < v.Exact {
		return total - v.Base, ok
	}
	if !v.eachThread(false) {
		return 0, false
	}
	total, ok = v.total(usage)
	return total - v.Base, ok
}

// total is the first number of the usage file.
//
//go:nosplit
func (v *Vigil) total(usage int) (time.Duration, bool) {
	n, _, e := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(usage), uintptr(unsafe.Pointer(&v.text)), unsafe.Sizeof(v.text), 0, 0, 0)
	if e != 0 || n > unsafe.Sizeof(v.text) {
		return 0, false
	}
	total, some := time.Duration(0), false
	for _, c := range v.text[:n] {
		if c >= '0' && c <= '9' {
			total, some = total*10+time.Duration(c-'0'), true
		} else if some {
			break
		}
	}
	return total * v.Unit, some
}

// end kills everything in the group, as far as one attempt can. cgroup.kill does
// not reach a process whose first thread has exited; the pidfd does.
//
//go:nosplit
func (v *Vigil) end() {
	if v.process >= 0 {
		syscall.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(v.process), uintptr(unix.SIGKILL), 0, 0, 0, 0)
	}
	fd, ok := v.open(&v.kill[0], unix.O_WRONLY)
	if !ok {
		v.eachThread(true)
		return
	}
	v.text[0] = '1'
	syscall.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&v.text)), 1)
	syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
}

// eachThread touches or kills every thread of the group. The file is opened anew:
// a v1 kernel keeps the list of an open one for a second.
//
//go:nosplit
func (v *Vigil) eachThread(kill bool) bool {
	fd, ok := v.open(&v.threads[0], unix.O_RDONLY)
	if !ok {
		return false
	}
	tid := uintptr(0)
	for {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&v.text)), unsafe.Sizeof(v.text))
		if n == 0 || e != 0 || n > unsafe.Sizeof(v.text) {
			syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			return e == 0
		}
		for _, c := range v.text[:n] {
			if c >= '0' && c <= '9' {
				tid = tid*10 + uintptr(c-'0')
				continue
			}
			if tid != 0 { // 0 is in another pid namespace
				v.act(tid, kill)
			}
			tid = 0
		}
	}
}

// act is done to a thread. One that has ended meanwhile is none to touch or kill.
//
//go:nosplit
func (v *Vigil) act(tid uintptr, kill bool) {
	if kill {
		syscall.RawSyscall(unix.SYS_KILL, tid, uintptr(unix.SIGKILL), 0)
		return
	}
	for i := range v.touched {
		syscall.RawSyscall(unix.SYS_SCHED_SETATTR, tid, uintptr(unsafe.Pointer(&v.touched[i])), 0)
	}
}

//go:nosplit
func (v *Vigil) open(path *byte, flags uintptr) (fd uintptr, ok bool) {
	const here = ^uintptr(99) // AT_FDCWD, -100; the path is absolute
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, here, uintptr(unsafe.Pointer(path)), flags|unix.O_CLOEXEC, 0, 0, 0)
	return fd, e == 0
}

// sleep waits until a moment and reports whether the run has ended before.
//
//go:nosplit
func (v *Vigil) sleep(until time.Duration) bool {
	for {
		left := max(until-v.now(), 0)
		v.patience = unix.Timespec{Sec: int64(left / time.Second), Nsec: int64(left % time.Second)}
		v.ended.Revents = 0
		_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&v.ended)), 1, uintptr(unsafe.Pointer(&v.patience)), 0, 0, 0)
		if e != unix.EINTR {
			return v.ended.Revents != 0
		}
	}
}

//go:nosplit
func (v *Vigil) now() time.Duration {
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&v.clock)), 0)
	return time.Duration(v.clock.Sec)*time.Second + time.Duration(v.clock.Nsec)
}

// rise makes the thread urgent and reports whether lower has something to do.
// Other than sched_setattr, sched_setscheduler keeps the nice value.
//
//go:nosplit
func (v *Vigil) rise() bool {
	policy, _, e := syscall.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	if e != 0 {
		return false
	}
	switch policy &^ unix.SCHED_RESET_ON_FORK {
	case unix.SCHED_FIFO, unix.SCHED_RR, unix.SCHED_DEADLINE:
		return false
	}
	v.policy = int32(policy)
	return v.schedule(unix.SCHED_FIFO, 1) == 0
}

//go:nosplit
func (v *Vigil) lower() syscall.Errno { return v.schedule(uintptr(v.policy), 0) }

//go:nosplit
func (v *Vigil) schedule(policy uintptr, priority int32) syscall.Errno {
	v.priority = priority
	_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&v.priority)))
	return e
}
