package sandbox

import (
	"os"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// Output is not memory of the program, but the kernel charges the pages that a run adds to stdout and stderr to
// its group like any others. The limit of the group therefore includes all output that the run may write, and
// judged subtracts what it has written.
//
// The kernel records only the peak of the sum. At the peak the program had at least the peak minus the output
// of a later time. Computing this once at the end is enough for an ordinary program. A malicious one could use
// more memory than allowed, free it, and then write output, for example to stderr, to hide it. The value is
// therefore computed during the run, as often as necessary: memory beyond the limit for longer than memoryPause
// is detected.

const (
	// memoryPause is the shortest time between two readings of a run's memory.
	memoryPause = 10 * time.Millisecond
	// memoryRate is more than a CPU can add to a program, in bytes per second, because the kernel clears each
	// page. It determines how soon the limit can be reached.
	memoryRate = 8 << 30
	// chargeBatch is the number of pages that the kernel charges to a group at once for each CPU
	// (MEMCG_CHARGE_BATCH). The peak includes them before they are used.
	chargeBatch = 64
)

// account tracks the memory of one run without its output.
type account struct {
	s     *Sandbox
	limit units.Bytes
	slack units.Bytes // what the kernel may have charged in advance
	own   units.Bytes // the highest lower bound of the program's memory so far
	stop  chan struct{}
	ended chan error
}

// room returns how much the group of a run may use beyond the memory limit. Without a peak (cgroup v2 before
// Linux 5.19) output and memory cannot be distinguished, and room is 0.
func (s *Sandbox) room(spec Spec) units.Bytes {
	if !s.group.HasPeak() {
		return 0
	}
	outputs := units.Bytes(2)
	if spec.OutputFile != "" {
		outputs++
	}
	return outputs*charged(spec.Limits.Output+1+pageSize()) + s.slack()
}

// slack returns how much more may be charged to the group than the run uses.
func (s *Sandbox) slack() units.Bytes {
	return chargeBatch * pageSize() * units.Bytes(len(s.slot.CPUs))
}

func pageSize() units.Bytes { return units.Bytes(os.Getpagesize()) }

// charged returns the memory for an output: its pages, and the kernel's index of them, one node of 576 bytes
// per 64 pages.
func charged(output units.Bytes) units.Bytes { return output + output/256 }

// newAccount starts tracking the memory of the run, until Close.
func (s *Sandbox) newAccount() *account {
	a := &account{s: s, limit: s.limits.Memory, slack: s.slack(), stop: make(chan struct{}), ended: make(chan error, 1)}
	if s.launcher.options.Without.Has(initproc.Cgroup) || !s.group.HasPeak() {
		a.ended <- nil
		return a
	}
	go func() { a.ended <- a.watch() }()
	return a
}

// watch kills the run when it exceeds its memory limit. The account, and not who killed the run, decides whether memory
// is the reason.
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
			return a.s.killInit()
		}
		pause = a.pause(used)
	}
}

// pause returns the time until the next reading. The limit cannot be reached earlier.
func (a *account) pause(used units.Bytes) time.Duration {
	left := max(a.limit-used, 0)
	return max(memoryPause, time.Duration(float64(left)/memoryRate/float64(len(a.s.slot.CPUs))*float64(time.Second)))
}

// look updates the account and returns the peak including all output.
func (a *account) look() (units.Bytes, error) {
	peak, err := a.s.group.Peak()
	if err != nil {
		return 0, err
	}
	// Read the output after the peak; otherwise later output would count as memory.
	output, err := a.s.outputCharged()
	if err != nil {
		return 0, err
	}
	own := peak - output
	if own > a.limit+a.slack {
		// The run is also charged for files of the host that it is the first to read. The kernel reclaims those
		// pages when memory is needed.
		cache, err := a.s.group.Cache()
		if err != nil {
			return 0, err
		}
		own -= cache
	}
	a.own = max(a.own, own)
	return peak, nil
}

// Close stops watching.
func (a *account) Close() error {
	close(a.stop)
	return <-a.ended
}

// peak returns the program's highest memory use, or nil if the kernel records no peak. It is called when all
// processes of the run have ended. Memory that the kernel may have charged in advance does not count against
// the limit.
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

// outputCharged returns the charge for the output that the run has written so far.
func (s *Sandbox) outputCharged() (units.Bytes, error) {
	var all units.Bytes
	for _, o := range s.outputs() {
		pages, err := linux.Allocated(o.read)
		if err != nil {
			return 0, err
		}
		all += max(0, units.Bytes(pages)-o.preallocated)
	}
	if s.answerName != "" && s.answer == nil {
		// The program may replace the file at any time, by a pipe or a file with a lease, so this does not open it.
		pages, err := linux.AllocatedAt(s.box, s.answerName)
		if err != nil {
			return 0, err
		}
		all += units.Bytes(pages)
	}
	return charged(all), nil
}
