package sandbox

import (
	"fmt"
	"os"
	"sync/atomic"

	"judged/internal/base/linux"
)

// newborn is how judged knows of a child that judged-init forked and did not live
// to tell of. The kernel itself notes the pid, in memory that both share, before
// the child runs. Until it is reaped, which nobody but judged can, the pid is the
// child's.
type newborn struct {
	file *os.File
	pid  *atomic.Int32 // of the last child of the request that is being answered, or 0
}

func (n *newborn) open() (err error) {
	if n.file, err = linux.Memfd("newborn"); err != nil {
		return err
	}
	if n.pid, err = linux.SharedWord(int(n.file.Fd())); err != nil {
		n.file.Close()
	}
	return err
}

func (n *newborn) close() {
	n.file.Close()
	_ = linux.UnmapWord(n.pid) // mapped until now
}

// end ends the child that nobody was told of, if there is one. judged-init must
// have ended.
func (n *newborn) end() error {
	pid := int(n.pid.Load())
	if pid == 0 {
		return nil
	}
	orphan, err := newProcess(pid)
	if err == nil {
		err = orphan.end(settleTimeout)
	}
	if err != nil {
		return fmt.Errorf("end what judged-init left: %w", err)
	}
	return nil
}
