package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestSlim: memory that judged-init's runtime maps over time is soon excluded from forks.
func TestSlim(t *testing.T) {
	l := newLab(t, nil)
	for range 4 * slimEvery {
		s, err := l.Prepare(l.slot)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	smaps := read(fmt.Sprintf("/proc/%d/smaps", l.process.Pid))
	if kept, copied := copiedKiB(t, smaps); copied > 64 || kept < 256 {
		t.Errorf("%d KiB are copied for every run, %d kept:\n%s", copied, kept, smaps)
	}
}

// copiedKiB returns how much of a process's private memory a fork copies, and how much it does not (dc, do not
// copy on fork).
func copiedKiB(t *testing.T, smaps string) (kept, copied int) {
	t.Helper()
	anonymous := 0
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "Anonymous:":
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			anonymous = n
		case "VmFlags:":
			if strings.Contains(line, " dc ") {
				kept += anonymous
			} else {
				copied += anonymous
			}
		}
	}
	return kept, copied
}

// TestUnprotected: judged's protection from the OOM killer does not apply to runs. Only in a guest is the test
// certain to be allowed to protect judged.
func TestUnprotected(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before := read(own)
	t.Cleanup(func() {
		if err := os.WriteFile(own, []byte(before), 0); err != nil {
			t.Error(err)
		}
	})
	for adj, want := range map[string]string{"-500": "0", "321": "321"} {
		if err := os.WriteFile(own, []byte(adj), 0); errors.Is(err, os.ErrPermission) && adj[0] == '-' {
			t.Log(err)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		l := newLab(t, nil)
		if got := strings.TrimSpace(read(fmt.Sprintf("/proc/%d/oom_score_adj", l.process.Pid))); got != want {
			t.Errorf("judged has %s, judged-init %q, want %s", adj, got, want)
		}
	}
}
