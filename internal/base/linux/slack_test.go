package linux

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slackOf reads a thread's slack. A thread that has ended has none.
func slackOf(t *testing.T, tid int) (slack time.Duration, ok bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/timerslack_ns")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, false
	}
	ns, err2 := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
	return time.Duration(ns), true
}

// TestCalmMonitor: a thread has slack afterwards that is seen asleep again and again
// while this goroutine computes.
func TestCalmMonitor(t *testing.T) {
	const slack = 300 * time.Microsecond
	tids, err := ownThreads()
	if err != nil {
		t.Fatal(err)
	}
	if err := CalmMonitor(slack); err != nil {
		t.Fatal(err)
	}
	calm := slices.DeleteFunc(tids, func(tid int) bool {
		got, _ := slackOf(t, tid)
		return got != slack
	})
	if len(calm) != 1 {
		t.Fatalf("threads %v of those before have the slack, want one", calm)
	}
	t.Cleanup(func() {
		tids, _ := ownThreads()
		for _, tid := range tids {
			_ = setThreadSlack(tid, UsualSlack) // it may have ended
		}
	})
	asleep := 0
	for deadline := Monotonic() + 10*time.Second; asleep < 50; {
		if isAsleep(calm[0]) {
			asleep++
		}
		if Monotonic() > deadline {
			t.Fatalf("seen asleep %d times", asleep)
		}
	}
}

// TestSetTimerSlack: it is the calling thread's alone, and of what that starts.
func TestSetTimerSlack(t *testing.T) {
	const slack = 7 * time.Millisecond
	tids, err := ownThreads()
	if err != nil {
		t.Fatal(err)
	}
	before := map[int]time.Duration{}
	for _, tid := range tids {
		before[tid], _ = slackOf(t, tid)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends
		if err := SetTimerSlack(slack); err != nil {
			t.Error(err)
			return
		}
		before[unix.Gettid()] = slack
		out, err := exec.Command("cat", "/proc/self/timerslack_ns").Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != strconv.Itoa(int(slack)) {
			t.Errorf("what it starts has %q, %v", got, err)
		}
		for tid, want := range before {
			if got, ok := slackOf(t, tid); ok && got != want {
				t.Errorf("thread %d has %v, want %v", tid, got, want)
			}
		}
	}()
	<-done
}
