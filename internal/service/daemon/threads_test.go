package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/base/cpuset"
)

// threads checks that no thread of the daemon or of judged-init runs on the CPUs of the slots.
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
	inits := 0
	for _, path := range paths {
		list, _ := os.ReadFile(path + "/children") // the thread may have ended
		for _, pid := range strings.Fields(string(list)) {
			theirs, err := filepath.Glob("/proc/" + pid + "/task/*")
			if err != nil {
				t.Fatal(err)
			}
			if len(theirs) > 1 { // judged-init; a child that it forked has one thread
				paths = append(paths, theirs...)
				inits++
			}
		}
	}
	seen := 0
	for _, path := range paths {
		status, err := os.ReadFile(path + "/status")
		if err != nil {
			continue // the thread has ended
		}
		seen++
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
	if seen == 0 || inits == 0 {
		t.Error("saw no thread of the daemon, or no judged-init")
	}
}
