package runtimes

import (
	"os"
	"sync"
	"syscall"
	"time"

	"judged/internal/base/linux"
)

// Reader reads into memory what programs load. It is safe for concurrent use.
type Reader struct {
	now  func() time.Time
	load func(*os.File, int64) error

	mu   sync.Mutex           // guards read, and is held while files are read: who comes second needs them too
	read map[string]time.Time // when a file was read last
}

// NewReader makes a Reader that has read nothing.
func NewReader() *Reader {
	return &Reader{now: time.Now, load: linux.Populate, read: map[string]time.Time{}}
}

// Read reads the files of a closure, once. What another closure had it read a
// moment ago is not read again. What cannot be read is passed over; it is the
// run that will fail over it, and for the right reason.
func (r *Reader) Read(c *Closure) {
	c.read.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range c.Entries {
			if !e.IsLink() {
				r.file(e)
			}
		}
	})
}

func (r *Reader) file(e Entry) {
	now := r.now()
	if at, ok := r.read[e.Path]; ok && now.Sub(at) < fresh {
		return
	}
	r.read[e.Path] = now
	if f := openRegular(e.Path); f != nil {
		defer f.Close()
		_ = r.load(f, e.Size) // as far as it came
	}
}

// openRegular opens a file; a device or a pipe is none, and is not waited for.
func openRegular(path string) *os.File {
	f, err := linux.Open(path, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil
	}
	return f
}
