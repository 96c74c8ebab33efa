package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"judged/internal/base/linux"
)

// process is a child of judged that judged-init forked. nil means not started.
type process struct {
	pid int
	fd  *os.File // readable when it has ended
}

// newProcess takes over a process. If that fails it kills the process, because nothing else knows it.
func newProcess(pid int) (*process, error) {
	fd, err := linux.OpenProcess(pid)
	if err != nil {
		killed := syscall.Kill(pid, syscall.SIGKILL) // the pid cannot be reused before it is reaped
		_, _, reaped := linux.Reap(pid)
		return nil, errors.Join(err, killed, reaped)
	}
	return &process{pid: pid, fd: fd}, nil
}

// reap collects the process, which must have ended or been killed. Its pid may be reused afterwards.
func (p *process) reap() (syscall.WaitStatus, linux.Usage, error) {
	status, usage, err := linux.Reap(p.pid)
	p.fd.Close()
	p.fd = nil
	return status, usage, err
}

// end kills and reaps the process unless that was done. The wait is bounded: a process that cannot be killed must not
// block its slot, or judged when it shuts down.
func (p *process) end(within time.Duration) error {
	if p == nil || p.fd == nil {
		return nil
	}
	killed := linux.KillProcess(p.fd)
	gone, err := linux.Await(context.Background(), p.fd, within)
	if err != nil {
		return errors.Join(killed, err)
	}
	if !gone {
		return fmt.Errorf("kill process %d: still alive %s after SIGKILL, %s; restart judged, and reboot if the process "+
			"remains", p.pid, within, p.describe())
	}
	_, _, reaped := p.reap()
	return errors.Join(killed, reaped)
}

// describe shows what the process waits for, and the other processes in its pid namespace: process 1 of a namespace
// ends after all others.
func (p *process) describe() string {
	proc := fmt.Sprintf("/proc/%d", p.pid)
	text := fmt.Sprintf("in state %c, waiting in %q", threadState(p.pid), read(proc+"/wchan"))
	namespace, err := os.Readlink(proc + "/ns/pid")
	if err != nil {
		return text
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return text
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == p.pid {
			continue
		}
		if other, err := os.Readlink("/proc/" + e.Name() + "/ns/pid"); err == nil && other == namespace {
			text += fmt.Sprintf(", with process %d in state %c", pid, threadState(pid))
		}
	}
	return text
}
