package jury

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/base/linux"
	"judged/internal/sandbox"
)

// witness determines which ended first: a run of a contestant's program, or the program of the jury that communicates
// with it.
type witness struct {
	order *linux.Order
	box   *sandbox.Sandbox // sandbox of the program of the jury
	other *sandbox.Sandbox // sandbox of the program
	ended <-chan struct{}  // closed when the program of the jury has ended
	first atomic.Int32     // value of order when the program reached a limit; nobody if neither had ended

	// State at the wall limit of the program, while it waited for the jury's: whether that one did not wait for a
	// program, nor read what the program wrote without end, and whether noise explains how far the program was over its
	// limit.
	hung, starved atomic.Bool

	mu    sync.Mutex // guards the fields below
	known int        // last value of order
}

// nobody is the value of an Order before either program has ended.
const nobody = -1

// watch begins to watch two loaded programs. alive is the write end of a pipe; only the jury's program has its read
// end.
//
// A process closes its files shortly before the kernel reports its end (do_exit: exit_files, then exit_notify). In
// between, the program can end because the jury's program has closed its pipes. So the end of the jury's program is
// detected by its pipe, which is the earlier of the two. The program itself needs no such pipe: it has its own CPU, so
// nothing delays the report of its end.
func (w *witness) watch(program, jury *sandbox.Sandbox, alive *os.File, ended <-chan struct{}) (err error) {
	w.first.Store(nobody)
	w.known = nobody
	w.box, w.other, w.ended = jury, program, ended
	w.order, err = sandbox.NewOrder([]*sandbox.Sandbox{program, jury}, alive)
	return err
}

// readsWithin is the time within which a program of the jury that is not hung reads again from a full pipe.
const readsWithin = time.Second

// atLimit records which program ended first when the program reaches a limit, before it is killed. If the program is
// killed at that limit, the jury's program was first only if it has already ended. excess is how far the program is
// over its wall limit, negative if it is not, and explained is how much of that noise explains.
func (w *witness) atLimit(excess, explained time.Duration) {
	if w.first.Load() == nobody {
		if first, err := w.whoFirst(); err == nil {
			w.first.Store(int32(first))
		}
	}
	select {
	case <-w.ended:
	default:
		if excess >= 0 {
			w.hung.Store(!w.box.WaitsForOthers() && !(w.other.WaitsForReader() && w.box.Reads(readsWithin)))
			w.starved.Store(explained >= excess)
		}
	}
}

// whoFirst queries order until it returns a result.
func (w *witness) whoFirst() (first int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nobody {
		if first, err = w.order.First(); err == nil {
			w.known = first
		}
	}
	return w.known, err
}

// juryEndedFirst reports whether the jury's program ended before the other. One of them must have ended.
func (w *witness) juryEndedFirst() (bool, error) {
	first, err := w.whoFirst()
	return first > 0, err
}

// juryFirst reports whether the jury's program ended before a run with that result.
func (w *witness) juryFirst(program sandbox.Result) (bool, error) {
	if program.Stop == sandbox.StopCPU || program.Stop == sandbox.StopWall {
		return w.first.Load() > 0, nil
	}
	return w.juryEndedFirst()
}

// isHung reports whether the program waited for the jury's program until its wall limit, and that was not noise.
func (w *witness) isHung(program sandbox.Result) bool {
	return w.hung.Load() && !w.starved.Load() && program.Stop == sandbox.StopWall && program.Idle
}

// isStarved reports whether the program was stopped at its wall limit although noise explains its time. What the
// jury's program does after that is a consequence.
func (w *witness) isStarved(program sandbox.Result) bool {
	return w.starved.Load() && program.Stop == sandbox.StopWall
}

// close may be called without watch.
func (w *witness) close() {
	if w.order != nil {
		_ = w.order.Close() // the descriptors belong to judged
	}
}
