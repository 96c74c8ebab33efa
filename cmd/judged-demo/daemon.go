package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startPatience = 60 * time.Second // until the daemon prints its URL
	stopPatience  = 30 * time.Second // until it has drained
	nudge         = time.Second      // between two signals when the daemon must stop quickly
)

// daemon is a judged serve process.
type daemon struct {
	cmd    *exec.Cmd
	url    string
	log    string        // path of its stderr
	ended  chan struct{} // closed when the process is reaped and err is set
	killed bool
	err    error
}

// startDaemon starts a daemon and returns when it listens. The names of its files start with name.
func startDaemon(judged string, s *scene, name string, args ...string) (*daemon, error) {
	d := &daemon{log: s.log(name), ended: make(chan struct{})}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", s.data(name)}, args...)
	d.cmd = exec.Command(judged, args...)
	d.cmd.Stderr = log
	// The demo itself handles Ctrl-C. In its own process group the daemon does not get the terminal's signal.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start judged: %w; build it with make build", err)
	}
	s.daemons = append(s.daemons, d.cmd.Process.Pid)
	first := make(chan string, 1)
	go d.follow(out, first)
	select {
	case d.url = <-first:
	case <-time.After(startPatience):
	}
	if d.url == "" {
		return nil, errors.Join(fmt.Errorf("start judged: it did not print its URL%s", d.logTail()), d.stop(true))
	}
	return d, nil
}

// follow reads stdout to its end, so that the pipe does not fill up, and waits for the process.
func (d *daemon) follow(out io.Reader, first chan<- string) {
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n') // "" if the daemon has exited
	first <- strings.TrimSpace(line)
	_, err := io.Copy(io.Discard, lines)
	d.err = errors.Join(d.cmd.Wait(), err)
	close(d.ended)
}

// errEnded is the error if the daemon exits unexpectedly.
var errEnded = errors.New("judged exited before its jobs ended")

// stop ends the daemon with SIGTERM and waits. With hurry it sends further signals, so that the daemon returns
// running jobs. The exit code must be 0.
func (d *daemon) stop(hurry bool) error {
	deadline := time.NewTimer(stopPatience)
	defer deadline.Stop()
	again := time.NewTicker(nudge)
	defer again.Stop()
	d.signal(syscall.SIGTERM)
	for {
		select {
		case <-d.ended:
			if d.err != nil {
				return fmt.Errorf("stop judged: %w%s", d.err, d.logTail())
			}
			return nil
		case <-again.C:
			if hurry {
				d.signal(syscall.SIGTERM)
			}
		case <-deadline.C:
			d.signal(syscall.SIGKILL)
			<-d.ended
			return fmt.Errorf("stop judged: it did not end within %s of SIGTERM and was killed%s", stopPatience,
				d.logTail())
		}
	}
}

// kill ends the daemon with SIGKILL, which simulates a power failure.
func (d *daemon) kill() {
	d.signal(syscall.SIGKILL)
	<-d.ended
}

// signal sends a signal to the daemon. It ignores errors, because the process may have exited.
func (d *daemon) signal(s syscall.Signal) { _ = d.cmd.Process.Signal(s) }

// logTail returns the end of the daemon's stderr.
func (d *daemon) logTail() string {
	text, err := os.ReadFile(d.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err != nil || len(lines[0]) == 0 {
		return ""
	}
	return "; its last output:\n" + string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}
