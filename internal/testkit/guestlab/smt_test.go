package guestlab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// CPUs 0 to 7 are four cores of two threads, two cores in each of two nodes;
// the second node is isolated.

func TestSMTSlots(t *testing.T) {
	before := look(t)
	d := serve(t, "--data-dir", t.TempDir())
	if diff := cmp.Diff(map[string]int{"4": 1, "6": 1}, d.nodes(t)); diff != "" {
		t.Errorf("slots and their nodes (-want +got):\n%s", diff)
	}
	if got := d.allowed(t); got != "0-3" {
		t.Errorf("the daemon may run on CPUs %s, want 0-3: off the siblings too", got)
	}
	d.stop(t)
	before.compare(t)
}

func TestSMTRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"isolated set", nil, "4"},
		{"second thread of a core", []string{"--cpu-list", "5"}, "5"},
		{"both threads of a core", []string{"--cpu-list", "6-7"}, "6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, api.Accepted, append(tt.args, "--head", "4KiB", programs+"where")...)
			cpus := field(*r.Tests[0].StdoutHead, "Cpus_allowed_list")
			if got := r.Tests[0].Runs[0].CPUs; got != tt.want || cpus != tt.want {
				t.Errorf("the report says CPUs %s, the run could use %s, want %s", got, cpus, tt.want)
			}
		})
	}
	t.Run("no core has two slots", func(t *testing.T) {
		cmd, stderr := command(t, nil, "run", "--cpus", "2", "--cpu-list", "4-5", programs+"tiny")
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("two CPUs of one core: %v, want exit code 2\n%s", err, stderr)
		}
	})
}

func TestSMTDoctor(t *testing.T) {
	want := map[string]api.DoctorStatus{"sched-isolated": api.DoctorPass, "smt-off": api.DoctorWarn,
		"smt-sibling-free": api.DoctorPass}
	r, found := examine(t, nil)
	if diff := cmp.Diff(want, only(found, want)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	t.Logf("CPUs %s; siblings: %v", r.CPUs, found["smt-sibling-free"])
}
