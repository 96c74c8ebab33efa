package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Order records the order in which files become readable. The kernel appends each file to the ready list of an
// epoll instance at that moment, so the order does not depend on when this process reads it.
type Order struct {
	epoll int
	files []int // duplicates, independent of the caller's
}

// NewOrder starts watching files. The caller must call Close.
func NewOrder(files ...*os.File) (*Order, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	o := &Order{epoll: epoll}
	for i, f := range files {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, errors.Join(os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err), o.Close())
		}
		o.files = append(o.files, fd)
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return nil, errors.Join(os.NewSyscallError("epoll_ctl", err), o.Close())
		}
	}
	return o, nil
}

// First returns the index of the file that became readable first, or -1. It may be called once, and not after
// All.
func (o *Order) First() (int, error) {
	all, err := o.All()
	if err != nil || len(all) == 0 {
		return -1, err
	}
	return all[0], nil
}

// All returns the indices of the readable files in the order in which they became readable. It may be called
// once.
func (o *Order) All() ([]int, error) {
	events := make([]unix.EpollEvent, len(o.files))
	var n int
	err := ignoringEINTR(func() (e error) {
		n, e = unix.EpollWait(o.epoll, events, 0)
		return e
	})
	if err != nil {
		return nil, os.NewSyscallError("epoll_wait", err)
	}
	all := make([]int, n)
	for i, e := range events[:n] {
		all[i] = int(e.Fd)
	}
	return all, nil
}

// Close stops watching.
func (o *Order) Close() error {
	for _, fd := range o.files {
		_ = unix.Close(fd) // our own duplicate
	}
	return os.NewSyscallError("close", unix.Close(o.epoll))
}
