package linux

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Memfd makes an anonymous file in memory that can be sealed. Its pages come
// from the NUMA policy, and are charged to the memory cgroup, of the
// process that touches them first.
func Memfd(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, &os.PathError{Op: "memfd_create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// SealContent forbids every further change to a memfd.
func SealContent(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	if err != nil {
		return &os.PathError{Op: "fcntl F_ADD_SEALS", Path: f.Name(), Err: err}
	}
	return nil
}

// Preallocate gives f pages for its first n bytes now and leaves its size.
func Preallocate(f *os.File, n int64) error {
	if err := ignoringEINTR(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0,
			n)
	}); err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// Allocated is how many bytes of memory or disk the content of a file takes.
func Allocated(f *os.File) (int64, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		return 0, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return info.Blocks * 512, nil
}

// OpenWriteOnly opens the file behind f again for writing only: what is passed
// to a solution as its output must not let it read.
func OpenWriteOnly(f *os.File) (*os.File, error) {
	return Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY)
}

// CopyAll copies the rest of one file to another inside the kernel.
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

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// populateWindow bounds what Populate has mapped at a time, and so what it adds
// to this process' memory as others see it.
const populateWindow = 8 << 20

// Populate reads the first size bytes of a file into the page cache and waits
// for them. Nothing is copied: MAP_POPULATE does what touching every page of
// the mapping would. readahead(2) would be shorter and does not wait.
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
