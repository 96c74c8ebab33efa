package linux

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PerfEvent identifies an event of a performance monitoring unit by the numbers in
// /sys/bus/event_source/devices.
type PerfEvent struct {
	Type     uint32
	Config   [3]uint64 // attr.config, config1, config2
	UserOnly bool      // exclude the kernel
}

// The software events that judged counts.
const (
	PerfContextSwitches = unix.PERF_COUNT_SW_CONTEXT_SWITCHES
	PerfCPUMigrations   = unix.PERF_COUNT_SW_CPU_MIGRATIONS
)

// OpenPerf counts an event on one CPU for all processes until the file is closed. With a leader, it joins the
// leader's group. A read of the leader returns 64-bit words: the number of events, and the count of each in the
// order of opening. It returns no data if the unit has no free counters for the group. The error is EACCES or
// EPERM if perf_event_paranoid or a missing CAP_PERFMON forbids the call.
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
		// Pinned: a counter that runs only part of the time would need extrapolation.
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
