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
	nudge         = time.Second      // between two signals to one that shall hurry
)

// daemon is a judged serve process.
type daemon struct {
	cmd    *exec.Cmd
	url    string
	log    string        // path of what it says on stderr
	ended  chan struct{} // closed when the process is reaped and err is set
	killed bool
	err    error
}

// startDaemon returns when the daemon listens. Its name is that of its files.
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
	// Ctrl-C is the demo's to handle: its own process group keeps the
	// terminal's signal from the daemon.
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
		return nil, errors.Join(fmt.Errorf("start judged: it did not tell its URL%s", d.lastWords()), d.stop(true))
	}
	return d, nil
}

// follow reads stdout to its end, as the pipe must not fill up, and reaps.
func (d *daemon) follow(out io.Reader, first chan<- string) {
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n') // "" is the answer of one that ended
	first <- strings.TrimSpace(line)
	_, err := io.Copy(io.Discard, lines)
	d.err = errors.Join(d.cmd.Wait(), err)
	close(d.ended)
}

// errEnded is what a daemon that nobody stopped comes to; stop says why.
var errEnded = errors.New("judged ended before its jobs did")

// stop ends the daemon by SIGTERM and waits. In a hurry more signals tell it to
// hand back what runs. Its exit code must be 0.
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
				return fmt.Errorf("stop judged: %w%s", d.err, d.lastWords())
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
				d.lastWords())
		}
	}
}

// kill ends the daemon as a power cut does.
func (d *daemon) kill() {
	d.signal(syscall.SIGKILL)
	<-d.ended
}

// signal sends to a process that may be gone, which is what is wanted.
func (d *daemon) signal(s syscall.Signal) { _ = d.cmd.Process.Signal(s) }

// lastWords is the end of what the daemon said.
func (d *daemon) lastWords() string {
	text, err := os.ReadFile(d.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err != nil || len(lines[0]) == 0 {
		return ""
	}
	return "; its last words:\n" + string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}
