package jury

import (
	"os"
	"sync"
	"sync/atomic"

	"judged/internal/base/linux"
	"judged/internal/sandbox"
)

// witness determines which ended first: a run of a contestant's program, or the program of the jury that communicates
// with it.
type witness struct {
	order *linux.Order
	box   *sandbox.Sandbox // sandbox of the program of the jury
	ended <-chan struct{}  // closed when the program of the jury has ended
	first atomic.Int32     // value of order when the program reached a limit; nobody if neither had ended
	hung  atomic.Bool      // at its wall limit the program waited for the jury's, which did not wait for a program

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
	w.box, w.ended = jury, ended
	w.order, err = sandbox.NewOrder([]*sandbox.Sandbox{program, jury}, alive)
	return err
}

// atLimit records which program ended first when the program reaches a limit, before it is killed. If the program is
// killed at that limit, the jury's program was first only if it has already ended.
func (w *witness) atLimit(wall bool) {
	if w.first.Load() == nobody {
		if first, err := w.whoFirst(); err == nil {
			w.first.Store(int32(first))
		}
	}
	select {
	case <-w.ended:
	default:
		if wall {
			w.hung.Store(!w.box.WaitsForOthers())
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

// isHung reports whether the program waited for the jury's program until its wall limit.
func (w *witness) isHung(program sandbox.Result) bool {
	return w.hung.Load() && program.Stop == sandbox.StopWall && program.Idle
}

// close may be called without watch.
func (w *witness) close() {
	if w.order != nil {
		_ = w.order.Close() // the descriptors belong to judged
	}
}
