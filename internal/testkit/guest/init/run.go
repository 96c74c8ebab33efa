package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"judged/internal/testkit/guest"
)

// channel sends frames. The streams of a command use it concurrently.
type channel struct {
	mu  sync.Mutex // guards the fields below
	enc *json.Encoder
	err error // the first error; later frames are dropped, and the host gets no Done
}

func (c *channel) send(f guest.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = c.enc.Encode(f)
	}
	return c.err
}

// stream is one output of one command.
type stream struct {
	to    *channel
	frame guest.Frame
	sent  int64
}

func (s *stream) Write(p []byte) (int, error) {
	s.frame.Data = p
	if err := s.to.send(s.frame); err != nil {
		return 0, err
	}
	s.sent += int64(len(p))
	return len(p), nil
}

// run runs one command and returns its Exit frame.
func run(c guest.Command, to *channel) guest.Frame {
	ctx, cancel := context.WithCancel(context.Background())
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), c.Timeout)
	}
	defer cancel()

	stdout := &stream{to: to, frame: guest.Frame{Stream: guest.Stdout, Name: c.Name}}
	stderr := &stream{to: to, frame: guest.Frame{Stream: guest.Stderr, Name: c.Name}}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = stdout, stderr, c.Dir
	cmd.Env = c.Env
	if c.Env == nil {
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "TMPDIR=/tmp"}
	}
	// Its own group, so that the timeout also kills its children, and a limit on waiting for output that a
	// remaining process holds open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()

	f := guest.Frame{Stream: guest.Exit, Name: c.Name, ExitCode: -1, StdoutBytes: stdout.sent, StderrBytes: stderr.sent}
	if cmd.ProcessState != nil {
		f.ExitCode = cmd.ProcessState.ExitCode()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			f.Signal = status.Signal().String()
		}
	}
	switch {
	case ctx.Err() != nil:
		f.Failure = fmt.Sprintf("killed after its timeout of %v", c.Timeout)
	case err != nil && !errors.As(err, new(*exec.ExitError)):
		f.Failure = err.Error()
	}
	return f
}
