package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// emulation is a guest that can be started several times, each time from the beginning.
type emulation struct {
	qemu             string
	args             []string      // arguments of qemu
	console, channel string        // the files for its serial ports
	timeout          time.Duration // for one start
	silence          time.Duration // time without data on the channel after which it is stuck
}

const (
	// starts is how often a guest that gets stuck is started.
	starts = 3

	// silence is longer than booting takes under load, because there is no data before the end of the boot.
	silence = 45 * time.Second
)

// errStuck means that the guest's kernel no longer runs its processes, or that its clock is wrong: a failure of the
// emulator, not of a test. A test that hangs is ended by its own timeout, which is shorter, and is not repeated.
var errStuck = errors.New("the guest is stuck")

// clockSlack is how much later than a beat the host may read it.
const clockSlack = 15 * time.Second

// run starts the guest, and again if it gets stuck. It returns the last results received, even with an error.
func (e emulation) run(t testing.TB) (map[string]Result, error) {
	t.Helper()
	for n := 1; ; n++ {
		begin := time.Now()
		results, err := e.start(t.Context())
		took := time.Since(begin).Round(10 * time.Millisecond)
		if err == nil {
			t.Logf("the guest ran for %v", took)
			return results, nil
		}
		err = fmt.Errorf("run the guest for %v (start %d of at most %d): %w\nconsole:\n%s", took, n, starts, err,
			tail(e.console))
		if n == starts || !errors.Is(err, errStuck) {
			return results, err
		}
		t.Logf("the guest is started again: %v", err)
	}
}

// start runs the guest once and reads its results.
func (e emulation) start(ctx context.Context) (map[string]Result, error) {
	for _, left := range []string{e.console, e.channel} {
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	ran := e.runQEMU(ctx)
	results, err := readResults(e.channel)
	return results, errors.Join(ran, err)
}

// runQEMU returns when the guest has powered off, is stuck or has timed out, or when ctx is done. QEMU has
// always exited by then.
func (e emulation) runQEMU(ctx context.Context) error {
	ctx, timedOut := context.WithTimeoutCause(ctx, e.timeout,
		errors.New("the guest did not power off in time and was killed"))
	defer timedOut()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if err := e.watch(ctx); err != nil {
			stop(err)
		}
	}()

	// The parent-death signal is sent when the thread that started the child ends, so the thread is locked. It
	// covers a test binary that is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, e.qemu, e.args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("run QEMU: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// watch returns errStuck if the guest sends no more data or its clock is fast, or nil when ctx is done. A guest whose
// kernel has measured the frequency of the TSC while the emulator had to wait for a CPU has a clock that is several
// times as fast as it should be, and every deadline in it is too short.
func (e emulation) watch(ctx context.Context) error {
	looks := time.NewTicker(e.silence / 20)
	defer looks.Stop()
	var first time.Duration // the clock of the guest when the first beat was read, at firstRead
	var firstRead time.Time
	for size, since := int64(0), time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
		}
		if line := stall(e.console); line != "" {
			return fmt.Errorf("%w: its kernel says %q", errStuck, line)
		}
		if info, err := os.Stat(e.channel); err == nil && info.Size() != size {
			size, since = info.Size(), time.Now()
		}
		if time.Since(since) > e.silence {
			return fmt.Errorf("%w: it was silent for %v", errStuck, e.silence)
		}
		now := clock(e.channel)
		if first == 0 {
			first, firstRead = now, time.Now()
		}
		if here := time.Since(firstRead); now-first > here+here/2+clockSlack {
			return fmt.Errorf("%w: %v passed by its clock in %v", errStuck, (now - first).Round(time.Second),
				here.Round(time.Second))
		}
	}
}

// clock returns the guest's clock at its last beat, or 0 before the first.
func clock(channel string) time.Duration {
	f, err := os.Open(channel)
	if err != nil {
		return 0
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return 0
	} else if _, err := f.Seek(max(0, size-64<<10), io.SeekStart); err != nil {
		return 0
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return 0
	}
	lines := bytes.Split(text, []byte("\n"))
	for _, line := range slices.Backward(lines[:len(lines)-1]) {
		var f Frame
		if json.Unmarshal(line, &f) == nil && f.Stream == Beat {
			return f.Clock
		}
	}
	return 0
}

// stallLine matches the message of kernel/rcu/tree_stall.h about a CPU that was stalled for
// CONFIG_RCU_CPU_STALL_TIMEOUT, which is 21 s.
var stallLine = regexp.MustCompile(`rcu: INFO: \w+ (self-)?detected (expedited )?stall.*`)

func stall(console string) string {
	text, err := os.ReadFile(console)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(stallLine.Find(text)))
}

// tail returns the end of the console, for the error message.
func tail(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return text[max(0, len(text)-16<<10):]
}
