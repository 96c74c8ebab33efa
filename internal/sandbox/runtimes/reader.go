package runtimes

import (
	"os"
	"sync"
	"syscall"
	"time"

	"judged/internal/base/linux"
)

// Reader reads the files that programs load into the page cache. It is safe for concurrent use.
type Reader struct {
	now  func() time.Time
	load func(*os.File, int64) error

	mu   sync.Mutex           // guards read; held while files are read, so that concurrent callers wait for them
	read map[string]time.Time // when each file was last read
}

func NewReader() *Reader {
	return &Reader{now: time.Now, load: linux.Populate, read: map[string]time.Time{}}
}

// Read reads the files of a closure, once. It skips files that it has recently read for another closure, and
// files that it cannot read: the run will report the correct error for those.
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
	if at, ok := r.read[e.Path]; ok && now.Sub(at) < maxAge {
		return
	}
	r.read[e.Path] = now
	if f, _ := openRegular(e.Path); f != nil {
		defer f.Close()
		_ = r.load(f, e.Size) // best effort
	}
}

// openRegular opens a regular file. It returns nil for a device or a pipe, and does not block on it.
func openRegular(path string) (*os.File, error) {
	f, err := linux.Open(path, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, err
	}
	return f, nil
}
