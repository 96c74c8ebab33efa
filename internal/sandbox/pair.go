package sandbox

import (
	"strconv"
	"strings"

	"judged/internal/base/linux"
)

// NewOrder tells which of two loaded sandboxes' programs ends first: 0 or 1. Close it.
func NewOrder(a, b *Sandbox) (*linux.Order, error) {
	return linux.NewOrder(a.solution.fd, b.solution.fd)
}

// WaitsForOthers reports whether the run waits for what others write or read: none of its threads wants to run, and one
// of them sleeps in the kernel's code for pipes or for waiting on several files. A run that sleeps for another reason,
// or computes, keeps the others waiting. It may be called while Run is under way.
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
		where := read("/proc/" + strconv.Itoa(tid) + "/wchan")
		for _, part := range []string{"pipe", "poll", "select"} {
			waits = waits || strings.Contains(where, part)
		}
		waits = waits || where == "0" // a kernel that does not say
	}
	return waits
}

// written is how much the first process and the children that it waited for have written to anything, pipes too; 0 is
// unknown (a kernel without CONFIG_TASK_IO_ACCOUNTING).
func (s *Sandbox) written() int64 {
	return max(0, keyed(read("/proc/"+strconv.Itoa(s.solution.pid)+"/io"), "wchar"))
}
