package sandbox

import (
	"os"
	"strconv"

	"judged/internal/base/linux"
)

// NewOrder reports in which order the programs of loaded sandboxes end, by their indices, and that the other ends of
// pipes are closed, by the indices after those. The caller closes it.
func NewOrder(programs []*Sandbox, pipes ...*os.File) (*linux.Order, error) {
	var files []*os.File
	for _, p := range programs {
		files = append(files, p.solution.fd)
	}
	return linux.NewOrder(append(files, pipes...)...)
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
