package runtimes

import (
	"errors"
	"io"
	"slices"
	"syscall"
)

// failure is the first error that the host is responsible for. A file that cannot be read for such a reason is not a
// file that does not exist: a program would be run without it, and blamed.
type failure struct{ err error }

// hostErrors are the errors of a disk or a file server that fails, and of a host without memory or descriptors.
// Contestants choose some of the names and offsets, so that other errors can be theirs.
var hostErrors = []error{syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE, syscall.ETIMEDOUT}

func (f *failure) note(err error) {
	if f.err == nil && slices.ContainsFunc(hostErrors, func(known error) bool { return errors.Is(err, known) }) {
		f.err = err
	}
}

// reader returns a reader of r that notes errors.
func (f *failure) reader(r io.ReaderAt) io.ReaderAt { return notingReader{r, f} }

type notingReader struct {
	io.ReaderAt
	failure *failure
}

func (r notingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	r.failure.note(err)
	return n, err
}
