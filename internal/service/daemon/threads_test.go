package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// threads holds the daemon's own threads to staying off the slots. The runtime's
// monitor has a millisecond of timer slack, and those that it has started; the thread
// that starts judged-init has what that is to have; all others wait as exactly as any
// program's.
func threads(t *testing.T, d *instance) {
	slots, err := d.Slots(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var reserved cpuset.Set
	for _, s := range slots {
		cpus, err := cpuset.Parse(s.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		reserved = reserved.Union(cpus)
	}
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, path := range paths {
		slack, err := os.ReadFile("/proc/" + filepath.Base(path) + "/timerslack_ns")
		status, err2 := os.ReadFile(path + "/status")
		if err != nil || err2 != nil {
			continue // it has ended
		}
		got[strings.TrimSpace(string(slack))]++
		_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		cpus, err := cpuset.Parse(strings.TrimSpace(list))
		if err != nil {
			t.Fatal(err)
		}
		if cpus.Overlaps(reserved) {
			t.Errorf("%s may run on %s, the slots are %s", path, cpus, reserved)
		}
	}
	want := map[string]int{"1000000": max(1, got["1000000"]), "10000000": 1, "50000": max(1, got["50000"])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads by their slack in nanoseconds (-want +got):\n%s", diff)
	}
}
