package sandbox

import (
	"os"
	"sync/atomic"

	"judged/internal/base/linux"
)

// newborn lets judged find a child that judged-init forked but did not report because it died first. The kernel
// itself writes the pid into memory that both share, before the child runs. Only judged can reap the child, so until
// then the pid is the child's.
type newborn struct {
	file *os.File
	pid  *atomic.Int32 // of the last child forked for the current request, or 0
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
	_ = linux.UnmapWord(n.pid) // it is mapped
}
