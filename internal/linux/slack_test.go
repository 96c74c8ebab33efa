package linux

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slackOf reads a thread's slack.
func slackOf(t *testing.T, tid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/timerslack_ns")
	if err != nil {
		t.Error(err)
		return -1
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return time.Duration(ns)
}

// TestCalmMonitor: one thread has slack afterwards, and that one is seen asleep
// again and again while this goroutine computes. No other thread of Go does that.
func TestCalmMonitor(t *testing.T) {
	const slack = 300 * time.Microsecond
	if err := CalmMonitor(slack); err != nil {
		t.Fatal(err)
	}
	tids, err := ownThreads()
	if err != nil {
		t.Fatal(err)
	}
	var calm []int
	for _, tid := range tids {
		if slackOf(t, tid) == slack {
			calm = append(calm, tid)
		}
	}
	if len(calm) != 1 {
		t.Fatalf("threads %v of %v have the slack, want one", calm, tids)
	}
	t.Cleanup(func() {
		if err := setThreadSlack(calm[0], UsualSlack); err != nil {
			t.Error(err)
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
		before[tid] = slackOf(t, tid)
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
			if got := slackOf(t, tid); got != want {
				t.Errorf("thread %d has %v, want %v", tid, got, want)
			}
		}
	}()
	<-done
}
