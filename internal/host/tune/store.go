package tune

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"judged/internal/base/linux"
)

// store stores a journal. Save returns when the journal is durable. After a crash during Save the previous
// journal remains.
type store interface {
	Load() ([]byte, error) // fs.ErrNotExist if there is no journal
	Save(text []byte) error
	Delete() error
}

// file is the store of the live host. /run is in memory, so the file is lost on reboot, like the values.
type file struct{ path string }

// lock keeps a second judged tune from running while the file is open, even if this process is killed. It removes what a
// killed one has left.
func (f file) lock() (io.Closer, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return nil, &UsageError{Reason: fmt.Sprintf("make folder of journal: %v; set tune.journal to a place that judged "+
			"can write to", err)}
	}
	held, err := linux.LockFile(f.path + ".lock")
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, fmt.Errorf("lock %q: another judged tune is running; wait until it has finished", f.path+".lock")
	case err != nil:
		return nil, &UsageError{Reason: fmt.Sprintf("lock journal: %v; set tune.journal to a place that judged can write to",
			err)}
	}
	if err := linux.RemoveUnfinished(filepath.Dir(f.path), f.unfinished()); err != nil {
		return nil, errors.Join(fmt.Errorf("remove what a crash left of the journal: %w; remove it yourself", err),
			held.Close())
	}
	return held, nil
}

// unfinished is the prefix of the names of journals that are being written.
func (f file) unfinished() string { return filepath.Base(f.path) + ".new" }

// Load rejects a file that other users can write, because its values are written as root.
func (f file) Load() ([]byte, error) {
	in, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case !ok || int(owner.Uid) != os.Geteuid() && owner.Uid != 0 || info.Mode().Perm()&0o022 != 0:
		return nil, errors.New("other users may write to it")
	case info.Size() > maxJournalBytes:
		return nil, fmt.Errorf("its size of %d bytes exceeds %d", info.Size(), maxJournalBytes)
	}
	return io.ReadAll(io.LimitReader(in, maxJournalBytes))
}

func (f file) Save(text []byte) error {
	return linux.ReplaceFile(f.path, f.unfinished(), func(out *os.File) error {
		_, err := out.Write(text)
		return err
	})
}

func (f file) Delete() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return linux.SyncDir(filepath.Dir(f.path))
}
