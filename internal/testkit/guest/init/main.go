// Command init is the first process of a test guest. It mounts the usual file systems, runs the commands of the
// plan in order, sends their results over the second serial port, and powers the machine off.
//
// If it is started again inside the guest, which has no other programs, it is a small tool: "/init cat FILE…"
// copies files to standard output.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"judged/internal/testkit/guest"
)

func main() {
	if os.Getpid() != 1 {
		os.Exit(tool(os.Args[1:]))
	}
	if err := first(); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
	}
	// The kernel panics if its first process exits, so it must power off.
	syscall.Sync()
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

// first is process 1: it mounts file systems and reaps orphans, while its child, supervise, runs the commands.
// In a single process, reaping orphans would collect the exit statuses of commands.
func first() error {
	if err := mountAll(); err != nil {
		return report(err)
	}
	if err := linkUp("lo"); err != nil {
		return report(err)
	}
	p, err := os.StartProcess("/init", []string{"/init", "supervise"}, &os.ProcAttr{
		Env:   os.Environ(),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return report(err)
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return report(fmt.Errorf("wait for processes: %w", err))
		case pid == p.Pid && status.ExitStatus() != 0:
			return fmt.Errorf("supervise ended with %#x", int(status))
		case pid == p.Pid:
			return nil
		}
	}
}

// report sends the host an error that prevents commands from running.
func report(err error) error {
	port, openErr := openChannel()
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	broken := guest.Frame{Stream: guest.Broken, Failure: err.Error()}
	return errors.Join(err, json.NewEncoder(port).Encode(broken), drain(port))
}

func openChannel() (*os.File, error) {
	port, err := os.OpenFile(guest.Channel(), os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the result channel: %w", err)
	}
	return port, nil
}

func supervise() error {
	plan, err := readPlan()
	if err != nil {
		return report(err)
	}
	port, err := openChannel()
	if err != nil {
		return err
	}
	out := &channel{enc: json.NewEncoder(port)}
	go beat(out)
	for _, c := range plan.Commands {
		if err := out.send(run(c, out)); err != nil {
			return fmt.Errorf("send results: %w", err)
		}
	}
	if err := out.send(guest.Frame{Stream: guest.Done}); err != nil {
		return fmt.Errorf("send results: %w", err)
	}
	return drain(port)
}

// beat shows the host that processes and timers still run while a command has no output, and how fast the clock is.
func beat(out *channel) {
	start := time.Now()
	for range time.Tick(guest.BeatPeriod) {
		if out.send(guest.Frame{Stream: guest.Beat, Clock: time.Since(start)}) != nil {
			return
		}
	}
}

func readPlan() (plan guest.Plan, err error) {
	text, err := os.ReadFile(guest.PlanPath)
	if err != nil {
		return plan, fmt.Errorf("read plan: %w", err)
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		return plan, fmt.Errorf("parse plan: %w", err)
	}
	return plan, nil
}

func tool(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "supervise":
		if err := supervise(); err != nil {
			fmt.Fprintln(os.Stderr, "init:", err)
			return 1
		}
		return 0
	case len(args) > 1 && args[0] == "cat":
		return catAll(args[1:])
	}
	fmt.Fprintln(os.Stderr, "usage: /init cat FILE…")
	return 2
}

func catAll(paths []string) (code int) {
	for _, path := range paths {
		if err := cat(path); err != nil {
			fmt.Fprintln(os.Stderr, "init:", err)
			code = 1
		}
	}
	return code
}

func cat(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	return err
}
