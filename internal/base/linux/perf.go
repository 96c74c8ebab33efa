package linux

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PerfEvent names something that a performance monitoring unit counts, in the numbers of its folder
// in /sys/bus/event_source/devices.
type PerfEvent struct {
	Type     uint32
	Config   [3]uint64 // attr.config, config1, config2
	UserOnly bool      // the kernel's own share is left out
}

// Numbers of the software events that judged counts.
const (
	PerfContextSwitches = unix.PERF_COUNT_SW_CONTEXT_SWITCHES
	PerfCPUMigrations   = unix.PERF_COUNT_SW_CPU_MIGRATIONS
)

// OpenPerf counts an event on one CPU, whatever runs there, until the file is closed. With a leader it
// joins that one's group. A read of the leader gives 64-bit words: how many events there are, and the
// count of each in the order of opening; it gives none while the unit has no counters left for the
// group. Where perf_event_paranoid or a missing CAP_PERFMON forbids it the error is EACCES or EPERM.
func OpenPerf(e PerfEvent, cpu int, leader *os.File) (*os.File, error) {
	attr := unix.PerfEventAttr{
		Type: e.Type, Config: e.Config[0], Ext1: e.Config[1], Ext2: e.Config[2],
		Read_format: unix.PERF_FORMAT_GROUP,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	group := -1
	if leader != nil {
		group = int(leader.Fd())
	} else {
		// All the time or not at all: a count that is scaled up from a part of it is a guess.
		attr.Bits |= unix.PerfBitPinned
	}
	if e.UserOnly {
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, group, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "perf_event_open on CPU", Path: strconv.Itoa(cpu), Err: err}
	}
	return os.NewFile(uintptr(fd), "perf event"), nil
}
