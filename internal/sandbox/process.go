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

// process is a child of judged that judged-init forked. A nil one has not been
// started.
type process struct {
	pid int
	fd  *os.File // readable when it has ended
}

// newProcess takes the process over. If that fails the process is ended: nobody
// else knows it.
func newProcess(pid int) (*process, error) {
	fd, err := linux.OpenProcess(pid)
	if err != nil {
		killed := syscall.Kill(pid, syscall.SIGKILL) // nobody's else until it is reaped
		_, _, reaped := linux.Reap(pid)
		return nil, errors.Join(err, killed, reaped)
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

// end kills and reaps the process unless that was done. It does not wait longer
// than it is told: one that cannot be killed must not take its slot with it, or
// judged when that is to end.
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
		return fmt.Errorf("end process %d: it is there %s after SIGKILL, %s; restart judged, and the host if it stays", p.pid, within, p.whereabouts())
	}
	_, _, reaped := p.reap()
	return errors.Join(killed, reaped)
}

// whereabouts tells what the process waits for, and who else is in its pid
// namespace, the end of which its end waits for.
func (p *process) whereabouts() string {
	proc := fmt.Sprintf("/proc/%d", p.pid)
	said := fmt.Sprintf("in state %c, waiting in %q", threadState(p.pid), read(proc+"/wchan"))
	namespace, err := os.Readlink(proc + "/ns/pid")
	if err != nil {
		return said
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return said
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == p.pid {
			continue
		}
		if other, err := os.Readlink("/proc/" + e.Name() + "/ns/pid"); err == nil && other == namespace {
			said += fmt.Sprintf(", with process %d in state %c", pid, threadState(pid))
		}
	}
	return said
}
