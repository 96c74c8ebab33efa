package runtimes

import (
	"errors"
	"io"
	"slices"
	"syscall"
)

// failure records the first error for which the host is responsible. A file that cannot be read because of such
// an error must not be treated as missing: the program would be run without it, and blamed for the result.
type failure struct{ err error }

// hostErrors are the errors of a failing disk or file server, and of a host without free memory or descriptors.
// Contestants choose some of the names and offsets, so other errors can be caused by them.
var hostErrors = []error{syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE, syscall.ETIMEDOUT}

func (f *failure) note(err error) {
	if f.err == nil && slices.ContainsFunc(hostErrors, func(known error) bool { return errors.Is(err, known) }) {
		f.err = err
	}
}

// reader returns a reader of r that records errors.
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
