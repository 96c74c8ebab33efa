package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Socketpair returns two connected SOCK_SEQPACKET sockets. Messages keep their boundaries, and an empty message
// means that the peer has closed. a is non-blocking, see Await; b blocks, because its reader has nothing else
// to do.
func Socketpair() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		closeBoth(fds)
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "socketpair"), os.NewFile(uintptr(fds[1]), "socketpair"), nil
}

// Pipe returns a pipe with both ends blocking and close-on-exec.
func Pipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// ReadPipe is like Pipe, but the read end is non-blocking.
func ReadPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return pipe(fds, 0)
}

// WritePipe is like Pipe, but the write end is non-blocking.
func WritePipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return pipe(fds, 1)
}

// pipe makes one end of a pipe non-blocking.
func pipe(fds [2]int, end int) (r, w *os.File, err error) {
	if err := unix.SetNonblock(fds[end], true); err != nil {
		closeBoth(fds)
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

func closeBoth(fds [2]int) {
	unix.Close(fds[0])
	unix.Close(fds[1])
}

// MaxSendFiles is the maximum number of descriptors in one message (SCM_MAX_FD).
const MaxSendFiles = 253

// Send sends one message with descriptors.
func Send(fd int, msg []byte, files []int) error {
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	err := ignoringEINTR(func() error { return unix.Sendmsg(fd, msg, oob, nil, unix.MSG_NOSIGNAL) })
	if err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return nil
}

// Receive receives one message into buf with its descriptors, which are close-on-exec. n is 0 if the peer has
// closed.
func Receive(fd int, buf []byte) (n int, files []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*MaxSendFiles))
	var oobn int
	err = ignoringEINTR(func() (e error) {
		n, oobn, _, _, e = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		return e
	})
	if err != nil {
		return 0, nil, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, nil, os.NewSyscallError("recvmsg: read control message", err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return 0, nil, os.NewSyscallError("recvmsg: read descriptors", err)
		}
		files = append(files, fds...)
	}
	return n, files, nil
}

// SetPipeSize sets the capacity of a pipe in bytes.
func SetPipeSize(end *os.File, bytes int) error {
	if _, err := unix.FcntlInt(end.Fd(), unix.F_SETPIPE_SZ, bytes); err != nil {
		return &os.PathError{Op: "fcntl F_SETPIPE_SZ", Path: end.Name(), Err: err}
	}
	return nil
}
