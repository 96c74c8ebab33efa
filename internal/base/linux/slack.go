package linux

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// UsualSlack is how much later than asked the kernel wakes ordinary threads, to
// wake several at once.
const UsualSlack = 50 * time.Microsecond

// SetTimerSlack sets how much later than asked waits of the calling thread may end:
// its sleeps, and its waits for files and futexes with a timeout. Threads and
// processes that it makes have the same, also after an execve.
func SetTimerSlack(d time.Duration) error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_TIMERSLACK", err)
	}
	return nil
}

// monitorPatience is far longer than the 10 ms that the monitor sleeps at most.
const monitorPatience = time.Second

// CalmMonitor gives slack to the monitor of Go's runtime (sysmon in runtime/proc.go),
// a thread that looks every 20 µs for goroutines in system calls as long as it finds
// any that block, and every 10 ms in the end. It sleeps by nanosleep(2) whenever a
// goroutine runs, and that is how it is known: another thread does so for 3 µs, when it
// looks for work, and will hardly be seen three times.
//
// Threads that the monitor starts, to run what others are kept from, have the same
// slack. So afterwards no wait of the runtime is more exact than that.
func CalmMonitor(slack time.Duration) error {
	seen := map[int]int{}
	// A single look can meet it at work, and many of them on a busy machine, where it
	// waits for a CPU.
	for end := Monotonic() + monitorPatience; Monotonic() < end; {
		tids, err := ownThreads()
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if isAsleep(tid) {
				seen[tid]++
			}
			if seen[tid] == 3 {
				return setThreadSlack(tid, slack)
			}
		}
	}
	return errors.New("calm the runtime's monitor: no thread of this process is seen asleep; /proc/self/syscall tells whether this kernel shows system calls")
}

// isAsleep reports whether a thread is in nanosleep(2), by /proc/TID/syscall.
func isAsleep(tid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/syscall")
	if err != nil {
		return false // it has ended
	}
	number, _, _ := strings.Cut(string(text), " ")
	return number == strconv.Itoa(unix.SYS_NANOSLEEP)
}

// setThreadSlack is SetTimerSlack for another thread (Linux 4.6), which has a folder
// in /proc although that does not list it.
func setThreadSlack(tid int, d time.Duration) error {
	return os.WriteFile("/proc/"+strconv.Itoa(tid)+"/timerslack_ns", strconv.AppendInt(nil, int64(d), 10), 0)
}

// ownThreads lists the threads of the calling process.
func ownThreads() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}
