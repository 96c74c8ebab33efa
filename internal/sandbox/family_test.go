package sandbox

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func family(t *testing.T) File { return File{Name: "family", Path: built(t, "family"), Exec: true} }

// TestProcessesBound checks that a run can have exactly as many concurrent processes and threads as its limit,
// including the first one. Processes of judged, such as process 1, do not count.
func TestProcessesBound(t *testing.T) {
	l := newLab(t, nil)
	program := family(t)
	for _, kind := range []string{"fork", "vfork", "thread", "mixed", "zombie"} {
		for _, processes := range []int{1, 2, 5, 64} {
			t.Run(fmt.Sprintf("%s %d", kind, processes), func(t *testing.T) {
				spec := Spec{Args: []string{"./family", "count", kind}, Files: []File{program}, Limits: limits()}
				spec.Limits.Processes = processes
				r, out := l.run(t, spec)
				got := facts{Stop: r.Stop, Signal: r.Signal, Output: out}
				want := facts{Signal: syscall.SIGKILL, Output: fmt.Sprintf("%d EAGAIN\n", processes-1)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

// TestOrphansFreeTheirPlace makes process 1 reap many more orphans than may exist at once.
func TestOrphansFreeTheirPlace(t *testing.T) {
	l := newLab(t, nil)
	spec := Spec{Args: []string{"./family", "orphans"}, Files: []File{family(t)}, Limits: limits()}
	spec.Limits.Processes = 4
	if r, out := l.run(t, spec); r.Stop != StopNone || out != "done\n" {
		t.Errorf("got %q and %+v", out, r)
	}
}

// TestAllAreCounted compares the CPU time that processes and threads report with what their run is billed.
func TestAllAreCounted(t *testing.T) {
	l := newLab(t, nil)
	program := family(t)
	// Long compared with the time to create them, even on slow hosts.
	const n, each = 3, 400 * time.Millisecond
	for _, kind := range []string{"waited", "ignored", "orphan", "killed", "vfork", "thread"} {
		t.Run(kind, func(t *testing.T) {
			r, out := l.run(t, Spec{
				Args:  []string{"./family", "burn", kind, strconv.Itoa(n), strconv.FormatInt(each.Milliseconds(), 10)},
				Files: []File{program}, Limits: limits(),
			})
			ns, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
			if err != nil {
				t.Fatalf("printed %q: %+v", out, r)
			}
			if said := time.Duration(ns); said < n*each || r.CPUTime < said || r.CPUTime > 2*said {
				t.Errorf("billed %v, want more than the %v that they report, and less than twice as much", r.CPUTime,
					said)
			}
		})
	}
}
