package sandbox

import (
	"errors"
	"os"
	"syscall"

	"judged/internal/linux"
)

// process is a child of judged that judged-init forked. A nil one has not been
// started.
type process struct {
	pid int
	fd  *os.File // readable when it has ended
}

func newProcess(pid int) (*process, error) {
	fd, err := linux.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	return &process{pid: pid, fd: fd}, nil
}

// reap collects the process, which must have ended or been killed. Its pid is
// not its own afterwards.
func (p *process) reap() (syscall.WaitStatus, linux.Usage, error) {
	status, usage, err := linux.Reap(p.pid)
	p.fd.Close()
	p.fd = nil
	return status, usage, err
}

// end kills and reaps the process unless that was done.
func (p *process) end() error {
	if p == nil || p.fd == nil {
		return nil
	}
	killed := linux.KillProcess(p.fd)
	_, _, reaped := p.reap()
	return errors.Join(killed, reaped)
}
