package linux

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// Opens reports which files any process has opened since it started watching them.
type Opens struct {
	file    *os.File // an inotify instance
	watched map[int32]int
}

// NewOpens starts watching files by path, each until it is first opened. The caller must call Close.
func NewOpens(paths []string) (*Opens, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1; is fs.inotify.max_user_instances reached?", err)
	}
	o := &Opens{file: os.NewFile(uintptr(fd), "inotify"), watched: map[int32]int{}}
	for i, path := range paths {
		wd, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_ONESHOT)
		if err != nil {
			o.file.Close()
			return nil, &os.PathError{Op: "inotify_add_watch", Path: path, Err: err}
		}
		o.watched[int32(wd)] = i
	}
	return o, nil
}

// Wait blocks until a file has been opened that Take has not returned yet. It returns an error after Close.
func (o *Opens) Wait() error {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// Read returns the indices of the files that have been opened since the last call, without waiting.
func (o *Opens) Read() (opened []int, err error) {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 64*unix.SizeofInotifyEvent)
	n := 0
	if failed := conn.Control(func(fd uintptr) {
		err = ignoringEINTR(func() (e error) {
			n, e = unix.Read(int(fd), b)
			return e
		})
	}); failed != nil {
		return nil, failed
	}
	if err == unix.EAGAIN {
		return nil, nil
	}
	if err != nil {
		return nil, os.NewSyscallError("read inotify", err)
	}
	for b = b[:n]; len(b) >= unix.SizeofInotifyEvent; {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		if i, known := o.watched[wd]; known && mask&unix.IN_OPEN != 0 {
			opened = append(opened, i)
		}
		b = b[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(b[12:]):]
	}
	rest, err := o.Read()
	return append(opened, rest...), err
}

// Close stops watching.
func (o *Opens) Close() error { return o.file.Close() }
