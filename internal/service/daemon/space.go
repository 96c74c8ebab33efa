package daemon

import (
	"fmt"
	"syscall"

	"judged/internal/base/linux"
	"judged/internal/base/units"
)

// space is the room where the data is.
type space struct{ dir string }

const (
	// reserveBytes is below what no job and no file is accepted: the reports of
	// jobs that were accepted fit into what is left.
	reserveBytes units.Bytes = 64 << 20
	// floorBytes is below what no job is started: its report would have to wait.
	floorBytes units.Bytes = 32 << 20
	// fewestInodes is for the files that judged makes in addition to those of callers.
	fewestInodes = 64
)

// check says why nothing should be written that needs so much room, or nil. A
// file system that does not count is not asked for it.
func (s space) check(least units.Bytes) error {
	free, err := linux.FreeSpace(s.dir)
	switch {
	case err != nil:
		return fmt.Errorf("look for space for the data: %w", err)
	case 0 <= free.Bytes && units.Bytes(free.Bytes) < least:
		return fmt.Errorf("the data folder %q has %s left, less than %s: free disk space there: %w", s.dir, units.Bytes(free.Bytes), least, syscall.ENOSPC)
	case 0 <= free.Inodes && free.Inodes < fewestInodes:
		return fmt.Errorf("the data folder %q has %d inodes left, less than %d: delete files there: %w", s.dir, free.Inodes, fewestInodes, syscall.ENOSPC)
	}
	return nil
}

// bytes is how much room is left, below 0 where that is unknown.
func (s space) bytes() int64 {
	free, err := linux.FreeSpace(s.dir)
	if err != nil {
		return -1
	}
	return free.Bytes
}
