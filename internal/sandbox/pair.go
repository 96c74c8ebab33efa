package sandbox

import (
	"os"
	"strconv"

	"judged/internal/base/linux"
)

// NewOrder reports which is first: the end of the program of one of two loaded sandboxes, 0 or 1, or that the other
// end of a pipe is closed, 2. The caller closes it.
func NewOrder(a, b *Sandbox, pipe *os.File) (*linux.Order, error) {
	return linux.NewOrder(a.solution.fd, b.solution.fd, pipe)
}

// WaitsForOthers reports whether the run waits for others to write or read: none of its threads is runnable, and one
// sleeps in the kernel's code for pipes or for polling. A run that sleeps for another reason, or computes, keeps the
// others waiting. It may be called while Run is in progress.
func (s *Sandbox) WaitsForOthers() bool {
	threads, err := s.group.Threads()
	if err != nil {
		return false
	}
	waits := false
	for _, tid := range threads {
		switch threadState(tid) {
		case 'R', 'D':
			return false
		}
		waits = waits || isPipeWait(read("/proc/"+strconv.Itoa(tid)+"/wchan"))
	}
	return waits
}

// written is the number of bytes that the first process and the children it waited for have written to anything,
// pipes too; 0 if unknown (a kernel without CONFIG_TASK_IO_ACCOUNTING).
func (s *Sandbox) written() int64 {
	return max(0, keyed(read("/proc/"+strconv.Itoa(s.solution.pid)+"/io"), "wchar"))
}
