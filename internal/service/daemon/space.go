package daemon

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/poll"
	"judged/internal/base/units"
)

// space is the free space of a folder. A file system that does not respond, such as NFS without its server, keeps one
// thread waiting, not one for each caller.
type space struct {
	dir  string
	free poll.Value[linux.Space]
}

const (
	// Below reserveBytes no job and no file is accepted. The rest is reserved for the reports of accepted jobs.
	reserveBytes units.Bytes = 64 << 20
	// Below floorBytes no job is started: its report might not fit.
	floorBytes units.Bytes = 32 << 20
	// fewestInodes are reserved for files that judged creates itself.
	fewestInodes = 64
)

// check returns an error if less than least is free now. It returns nil for file systems that do not report free space
// or inodes.
func (s *space) check(least units.Bytes) error { return s.checkWithin(0, least) }

// checkWithin is check with figures that may be age old, for what each request asks.
func (s *space) checkWithin(age time.Duration, least units.Bytes) error {
	free, err := s.read(age)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read the free space of %q: no answer within %v; check the server of its file system", s.dir,
			readyTime)
	case err != nil:
		return fmt.Errorf("read the free space of %q: %w; check that its file system is mounted", s.dir, err)
	case 0 <= free.Bytes && units.Bytes(free.Bytes) < least:
		return fmt.Errorf("the folder %q has %s left, less than %s: free disk space there: %w", s.dir,
			units.Bytes(free.Bytes), least, syscall.ENOSPC)
	case 0 <= free.Inodes && free.Inodes < fewestInodes:
		return fmt.Errorf("the folder %q has %d inodes left, less than %d: delete files there: %w", s.dir,
			free.Inodes, fewestInodes, syscall.ENOSPC)
	}
	return nil
}

// bytes returns the free space, or -1 if it is unknown.
func (s *space) bytes() int64 {
	free, err := s.read(0)
	if err != nil {
		return -1
	}
	return free.Bytes
}

// read returns the free space, as it was at most age ago.
func (s *space) read(age time.Duration) (linux.Space, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	return s.free.Get(ctx, time.Now, age, func(context.Context) (linux.Space, error) { return linux.FreeSpace(s.dir) })
}
