package sandbox

import (
	"os"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// Output is not memory of the program, but the kernel charges the pages that a run
// adds to stdout and stderr to its group like any others. So the limit of the group
// has room for all output that the run may write, and judged takes off what it
// has written.
//
// The kernel keeps the peak of the sum only. What was the program's at the peak is
// at least the peak less the output of a later moment. Once at the end would be
// enough for a program that does not know of it. One that does would take more memory
// than it may, give it back and cover it with output, on stderr for instance. So the
// account is taken while the run lasts, as often as it can matter: what the program
// has beyond its limit for longer than memoryPause is found.

const (
	// memoryPause is the shortest time between two looks at the memory of a run.
	memoryPause = 10 * time.Millisecond
	// memoryRate is more bytes than a CPU adds to a program in a second: the
	// kernel clears each page. It bounds how soon the limit can be reached.
	memoryRate = 8 << 30
	// chargeBatch is how many pages the kernel charges to a group at once for each
	// CPU (MEMCG_CHARGE_BATCH). They are in its peak before they are used.
	chargeBatch = 64
)

// account is the memory of one run without its output.
type account struct {
	s     *Sandbox
	limit units.Bytes
	slack units.Bytes // what the kernel may have charged beforehand
	own   units.Bytes // the program had at least this much at some moment
	stop  chan struct{}
	ended chan error
}

// room is what the group of a run may use beyond the memory limit. Without a peak
// (cgroup v2 before Linux 5.19) nothing separates output from memory, and there is no room.
func (s *Sandbox) room(l Limits) units.Bytes {
	if !s.group.HasPeak() {
		return 0
	}
	return 2*charged(l.Output+1+pageSize()) + s.slack()
}

// slack is how much more than the run uses may be charged to its group.
func (s *Sandbox) slack() units.Bytes {
	return chargeBatch * pageSize() * units.Bytes(len(s.slot.CPUs))
}

func pageSize() units.Bytes { return units.Bytes(os.Getpagesize()) }

// charged is what a number of bytes of output costs: pages, and the kernel's index of
// them, a node of 576 bytes for 64 pages.
func charged(output units.Bytes) units.Bytes { return output + output/256 }

// newAccount starts to watch the memory of the run. Close ends that.
func (s *Sandbox) newAccount() *account {
	a := &account{s: s, limit: s.limits.Memory, slack: s.slack(), stop: make(chan struct{}), ended: make(chan error, 1)}
	if s.launcher.options.Without.Has(initproc.Cgroup) || !s.group.HasPeak() {
		a.ended <- nil
		return a
	}
	go func() { a.ended <- a.watch() }()
	return a
}

// watch ends the run when it has more memory than it may. Whether that is why the run
// has ended is in what the account says, not in who ended it.
func (a *account) watch() error {
	pause := a.pause(0)
	for {
		select {
		case <-a.stop:
			return nil
		case <-time.After(pause):
		}
		used, err := a.look()
		if err != nil {
			return err
		}
		if a.own > a.limit+a.slack {
			return a.s.end()
		}
		pause = a.pause(used)
	}
}

// pause is until the limit can be reached at the earliest.
func (a *account) pause(used units.Bytes) time.Duration {
	left := max(a.limit-used, 0)
	return max(memoryPause, time.Duration(float64(left)/memoryRate/float64(len(a.s.slot.CPUs))*float64(time.Second)))
}

// look brings the account up to date and returns the peak with all output.
func (a *account) look() (units.Bytes, error) {
	peak, err := a.s.group.Peak()
	if err != nil {
		return 0, err
	}
	// After the peak, or output of later could be taken for memory.
	output, err := a.s.outputCharged()
	if err != nil {
		return 0, err
	}
	own := peak - output
	if own > a.limit+a.slack {
		// Files of the host that the run is the first to read are charged to it,
		// too, and go when the memory is needed.
		cache, err := a.s.group.Cache()
		if err != nil {
			return 0, err
		}
		own -= cache
	}
	a.own = max(a.own, own)
	return peak, nil
}

// Close ends the watch.
func (a *account) Close() error {
	close(a.stop)
	return <-a.ended
}

// peak is what the program had at most, nil where the kernel keeps no peak. It is
// called when nothing of the run lives. What the kernel may have charged beforehand
// does not take it over the limit.
func (a *account) peak() (*units.Bytes, error) {
	if !a.s.group.HasPeak() {
		return nil, nil
	}
	if _, err := a.look(); err != nil {
		return nil, err
	}
	own := a.own
	if own <= a.limit+a.slack {
		own = min(own, a.limit)
	}
	return &own, nil
}

// outputCharged is what the output written so far is charged to the run.
func (s *Sandbox) outputCharged() (units.Bytes, error) {
	var all units.Bytes
	for _, o := range []*Output{s.stdout, s.stderr} {
		pages, err := linux.Allocated(o.read)
		if err != nil {
			return 0, err
		}
		all += max(0, units.Bytes(pages)-o.aside)
	}
	return charged(all), nil
}
