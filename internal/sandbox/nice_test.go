package sandbox

import (
	"syscall"
	"testing"
)

// TestNiceDaemon: a run has nice value 0, regardless of the daemon's.
func TestNiceDaemon(t *testing.T) {
	l := newLab(t, nil)
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, l.process.Pid, 5); err != nil {
		t.Fatal(err)
	}
	if _, out := l.run(t, Spec{Args: []string{"nice"}, Limits: limits()}); out != "0\n" {
		t.Errorf("nice value %q, want 0", out)
	}
}
