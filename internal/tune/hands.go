package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"judged/internal/cpuset"
	"judged/internal/hostfs"
	"judged/internal/linux"
)

// hands are what turns knobs; the eyes are a hostfs.FS.
type hands interface {
	Write(path, value string) error
	SetAffinity(thread string, cpus cpuset.Set) error
	MakeGroup(path string) error   // no error if it is there
	RemoveGroup(path string) error // no error if it is not there
}

// live are the hands on this machine.
type live struct{ hostfs.FS }

func (l live) SetAffinity(thread string, cpus cpuset.Set) error {
	tid, err := strconv.Atoi(path.Base(thread))
	if err != nil {
		return fmt.Errorf("set affinity of %q: %w", thread, errors.Unwrap(err))
	}
	return linux.SetAffinity(tid, cpus)
}

func (l live) MakeGroup(group string) error {
	if err := os.Mkdir(l.Path(group), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// RemoveGroup removes an empty group; the kernel refuses one with tasks in it (EBUSY).
func (l live) RemoveGroup(group string) error {
	if err := os.Remove(l.Path(group)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// turn writes one value and reads back what the kernel made of it.
func (t *tuner) turn(e entry, to string) (now string, err error) {
	switch e.Kind {
	case affinity:
		cpus, perr := cpuset.Parse(to)
		if perr != nil {
			return "", perr
		}
		err = t.hands.SetAffinity(e.Path, cpus)
	case partition:
		err = t.setPartition(e.Path, to)
	default:
		err = t.hands.Write(e.Path, to)
	}
	now, rerr := value(t.o.FS, e)
	return now, errors.Join(err, rerr)
}
