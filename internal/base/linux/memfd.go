package linux

import (
	"errors"
	"io"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memfd creates an anonymous file in memory that can be sealed. The process that first touches a page
// determines its NUMA node and is charged for it.
func Memfd(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, &os.PathError{Op: "memfd_create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// SealContent forbids all further changes to a memfd.
func SealContent(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	if err != nil {
		return &os.PathError{Op: "fcntl F_ADD_SEALS", Path: f.Name(), Err: err}
	}
	return nil
}

// Preallocate allocates pages for the first n bytes of f without changing its size.
func Preallocate(f *os.File, n int64) error {
	if err := ignoringEINTR(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0,
			n)
	}); err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// Allocated returns how many bytes of memory or disk the content of a file uses.
func Allocated(f *os.File) (int64, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		return 0, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return info.Blocks * 512, nil
}

// AllocatedAt is like Allocated for a file in dir, which is not opened. It returns 0 if there is no such file.
func AllocatedAt(dir *os.File, name string) (int64, error) {
	var info unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &info, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil && err != unix.ENOENT {
		return 0, &os.PathError{Op: "fstatat", Path: name, Err: err}
	}
	return info.Blocks * 512, nil
}

// OpenWriteOnly opens the file behind f again for writing only, so that a solution cannot read from the
// descriptor of its output.
func OpenWriteOnly(f *os.File) (*os.File, error) {
	return Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY)
}

// CopyAll copies the rest of src to dst inside the kernel.
func CopyAll(dst, src int) error {
	for {
		n, err := unix.Sendfile(dst, src, nil, 1<<30)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("sendfile", err)
		case n == 0:
			return nil
		}
	}
}

// CopyLocked copies the first size bytes of src to an empty file in memory, and keeps them mapped and locked until
// Munmap. The kernel neither moves, splits nor swaps pages that are locked, and does not count their use.
func CopyLocked(dst, src *os.File, size int64) ([]byte, error) {
	if err := dst.Truncate(size); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(dst.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: dst.Name(), Err: err}
	}
	if _, err = io.ReadFull(src, b); err == nil {
		err = os.NewSyscallError("mprotect", unix.Mprotect(b, unix.PROT_READ))
	}
	if err == nil {
		err = os.NewSyscallError("mlock", unix.Mlock(b))
	}
	if err != nil {
		return nil, errors.Join(err, Unmap(b))
	}
	return b, nil
}

// CanLock returns an error if this process may not lock size bytes of memory, as with a limit and without
// CAP_IPC_LOCK.
func CanLock(size int64) error {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	_, _, e := unix.Syscall(unix.SYS_MLOCK2, uintptr(unsafe.Pointer(&b[0])), uintptr(size), unix.MLOCK_ONFAULT)
	if err = Unmap(b); e != 0 {
		err = os.NewSyscallError("mlock2", e)
	}
	return err
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// populateWindow limits how much memory Populate maps at a time, and so how much it adds to the resident size
// of this process.
const populateWindow = 8 << 20

// Populate reads the first size bytes of a file into the page cache and waits until they are there. It copies
// nothing: MAP_POPULATE has the effect of touching each page. readahead(2) does not wait.
func Populate(f *os.File, size int64) error {
	for at := int64(0); at < size; at += populateWindow {
		b, err := unix.Mmap(int(f.Fd()), at, int(min(size-at, populateWindow)), unix.PROT_READ,
			unix.MAP_PRIVATE|unix.MAP_POPULATE)
		if err != nil {
			return &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
		}
		if err := unix.Munmap(b); err != nil {
			return &os.PathError{Op: "munmap", Path: f.Name(), Err: err}
		}
	}
	return nil
}
