package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// writer changes the host. hostfs.FS reads it.
type writer interface {
	Write(path, value string) error
	SetAffinity(thread string, cpus cpuset.Set) error
	MakeGroup(path string) error            // returns nil if it exists
	RemoveGroup(path string) error          // returns nil if it does not exist
	SwapOn(file string, priority int) error // negative: the kernel chooses
	SwapOff(file string) error              // returns fs.ErrNotExist if it is not enabled
}

// live changes the live machine.
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

// RemoveGroup removes an empty group. The kernel rejects a group with tasks (EBUSY).
func (l live) RemoveGroup(group string) error {
	if err := os.Remove(l.Path(group)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l live) SwapOn(file string, priority int) error {
	f, err := openArea(l.Path(file))
	if err != nil {
		return err
	}
	return errors.Join(linux.SwapOn(f, priority), f.Close())
}

// SwapOff accepts only areas that SwapOn can enable again.
func (l live) SwapOff(file string) error {
	f, err := openArea(l.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("cannot find it: it was removed while in use, or is in another mount namespace")
	}
	if err != nil {
		return err
	}
	err = linux.SwapOff(f)
	if errors.Is(err, syscall.EINVAL) {
		err = &fs.PathError{Op: "swapoff", Path: file, Err: fs.ErrNotExist}
	}
	return errors.Join(err, f.Close())
}

// openArea opens the file or device of a swap area, so that a later rename has no effect. Memory of the kernel
// and of all programs is written there, so only root may have access, even if the journal is trusted.
func openArea(file string) (*os.File, error) {
	f, err := linux.OpenPath(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRootOnly(info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// loopMajor is the major number of loop devices (Documentation/admin-guide/devices.txt).
const loopMajor = 7

// checkRootOnly returns an error where swapon(8) only warns, for example about a device whose group can read
// all disks.
func checkRootOnly(info fs.FileInfo) error {
	open := fs.FileMode(0o077)
	switch info.Mode().Type() {
	case 0:
	case fs.ModeDevice:
		open = 0o007
	default:
		return errors.New("it is neither a file nor a block device")
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch perm := info.Mode().Perm(); {
	case !ok || owner.Uid != 0:
		return errors.New("root does not own it, and its owner could read and change what the kernel puts there")
	case info.Mode().Type() == fs.ModeDevice && owner.Rdev>>8&0xfff == loopMajor:
		return errors.New("it is a loop device, and anybody could own the file behind it")
	case perm&open != 0:
		return fmt.Errorf("other users may access it (mode %04o); run chmod %04o first", perm, perm&^open)
	}
	return nil
}

// set writes a value and returns the value that the kernel stored.
func (t *tuner) set(e entry, to string) (now string, err error) {
	switch e.Kind {
	case affinity:
		cpus, perr := cpuset.Parse(to)
		if perr != nil {
			return "", perr
		}
		err = t.writer.SetAffinity(e.Path, cpus)
	case partition:
		err = t.setPartition(e.Path, to)
	case area:
		err = t.setArea(e.Path, to)
	default:
		err = t.writer.Write(e.Path, to)
	}
	now, rerr := value(t.o.FS, e)
	return now, errors.Join(err, rerr)
}
