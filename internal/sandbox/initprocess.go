package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
)

// startInit starts judged-init in the template's namespaces.
func (l *Launcher) startInit() error {
	ours, theirs, err := linux.Socketpair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return err
	}
	defer null.Close()
	attr := &os.ProcAttr{
		// What it forks copies its memory map, so that stays small. Looking
		// for its share of CPUs would keep cgroup files open.
		Env: []string{"GOMAXPROCS=1", "GOGC=20", "GODEBUG=containermaxprocs=0"},
		// What the runtime says when it ends for its own reasons is for the log.
		Files: []*os.File{null, null, os.Stderr, theirs, l.lifeline.read, l.newborn.file},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	done := make(chan struct{})
	l.thread <- func() {
		l.process, err = os.StartProcess(initPath, l.initArgs(), attr)
		close(done)
	}
	<-done
	if err != nil {
		ours.Close()
		return fmt.Errorf("start judged-init: %w", err)
	}
	l.control = ours
	if err := unprotect(l.process.Pid); err != nil {
		return err
	}
	return l.slim()
}

// unprotect has the kernel choose judged-init, and what it forks, like any other
// process when it is out of memory, however much judged itself is protected
// (OOMScoreAdjust= of its unit). With -1000 it could not even end a run that is at its
// own limit. To be chosen rather than others is judged's to keep.
func unprotect(pid int) error {
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if !strings.HasPrefix(read(path), "-") {
		return nil
	}
	return os.WriteFile(path, []byte("0"), 0)
}

// slimEvery is after how many requests judged-init is slimmed again. Its runtime
// maps more memory as it goes on, half a MiB in the first hundred requests.
const slimEvery = 128

// slim keeps judged-init's memory from what it forks: it would be copied for
// every run.
func (l *Launcher) slim() error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", l.process.Pid))
	if err != nil {
		return err
	}
	defer maps.Close()
	reply, err := l.exchange(initproc.MapsRequest(maps))
	if err != nil {
		return err
	}
	_, err = initproc.ParseAnswer(reply)
	return err
}

// initArgs are the arguments of judged-init: its name.
func (l *Launcher) initArgs() []string {
	if l.options.Without == 0 {
		return []string{initproc.Name}
	}
	return []string{initproc.Name, l.options.Without.String()}
}

// stopInit ends judged-init. Sandboxes that it started are not its children
// and live on.
func (l *Launcher) stopInit() {
	if l.control == nil {
		return
	}
	l.control.Close()
	l.control = nil
	_ = l.process.Kill() // it may have ended, and that is what is wanted
	_, _ = l.process.Wait()
}

// initTimeout is how long judged-init may take for an answer. It is an
// emergency brake: an answer takes less than a millisecond.
const initTimeout = 30 * time.Second

// request asks judged-init to fork and returns the pid. A judged-init that has
// ended, killed for memory for instance, is started again: for this request if
// it did not get it, else for the next one.
func (l *Launcher) request(msg []byte, fds []int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newborn.pid.Store(0)
	if l.requests++; l.requests%slimEvery == 0 && l.control != nil && l.slim() != nil {
		l.stopInit() // it is started again for this request
	}
	reply, err := l.exchange(msg, fds)
	// It was gone, or went with the request unread.
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		l.stopInit()
		reply, err = l.exchange(msg, fds)
	}
	if err != nil || len(reply) == 0 {
		l.stopInit()
		err = errors.Join(err, l.newborn.end())
	}
	if err != nil {
		return 0, err
	}
	return initproc.ParseAnswer(reply)
}

func (l *Launcher) exchange(msg []byte, fds []int) ([]byte, error) {
	if l.control == nil {
		if err := l.startInit(); err != nil {
			return nil, err
		}
	}
	fd := int(l.control.Fd())
	if err := linux.Send(fd, msg, fds); err != nil {
		return nil, err
	}
	ready, err := linux.Await(context.Background(), l.control, initTimeout)
	if err != nil {
		return nil, err
	}
	if !ready {
		return nil, fmt.Errorf("wait for judged-init: no answer within %s", initTimeout)
	}
	buf := make([]byte, initproc.MaxMessage)
	n, _, err := linux.Receive(fd, buf)
	return buf[:n], err
}
