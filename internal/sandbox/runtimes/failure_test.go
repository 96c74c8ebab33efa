package runtimes

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// brokenDisk fails each read.
type brokenDisk struct{ err error }

func (d brokenDisk) ReadAt([]byte, int64) (int, error) {
	return 0, &os.PathError{Op: "read", Err: d.err}
}

// TestHostThatCannotRead: a file that the host cannot read is not treated as a broken program, but one whose
// headers have invalid offsets is.
func TestHostThatCannotRead(t *testing.T) {
	if p, err := Inspect(brokenDisk{syscall.EIO}, 1<<20); !errors.Is(err, syscall.EIO) {
		t.Errorf("%+v, %v, want EIO", p, err)
	}
	if p, err := Inspect(brokenDisk{syscall.EINVAL}, 1<<20); err != nil {
		t.Errorf("%+v, %v, want no error", p, err)
	}
}
