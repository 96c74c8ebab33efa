package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
)

func set(t *testing.T, list string) cpuset.Set {
	t.Helper()
	s, err := cpuset.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// twoNodes has CPUs 0 to 7 on nodes 0-3 and 4-7, where pairs share a last level cache.
func twoNodes(t *testing.T, isolated string) machine.Topology {
	top := machine.Topology{Online: set(t, "0-7"), Isolated: set(t, isolated), BootIsolated: set(t, isolated)}
	for id := range 8 {
		first := id &^ 1
		top.CPUs = append(top.CPUs, machine.CPU{ID: id, Core: id, Node: id / 4, Siblings: cpuset.New(id),
			L3: cpuset.New(first, first+1)})
	}
	top.Nodes = []machine.Node{{ID: 0, CPUs: set(t, "0-3"), MemTotal: 1}, {ID: 1, CPUs: set(t, "4-7"), MemTotal: 1}}
	return top
}

// TestHousekeeping: judged stays off the slots, and off other isolated CPUs while there are others.
func TestHousekeeping(t *testing.T) {
	for name, tt := range map[string]struct{ isolated, slot, want string }{
		"nothing isolated":             {"", "7", "0-6"},
		"a slot of the isolated CPUs":  {"6-7", "7", "0-5"},
		"all others are isolated":      {"0-7", "7", "0-6"},
		"all isolated CPUs are a slot": {"4-7", "4-7", "0-3"},
	} {
		got := housekeeping(twoNodes(t, tt.isolated), []slots.Slot{{CPUs: set(t, tt.slot)}})
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestSharing: evidence of neighbours is taken from the CPUs of the same cache or node that are in no slot.
func TestSharing(t *testing.T) {
	wide := twoNodes(t, "")
	for i := range wide.CPUs {
		wide.CPUs[i].L3 = wide.Online // one cache for both nodes
	}
	for name, tt := range map[string]struct {
		top     machine.Topology
		planned []string
		cpus    string
		want    string
	}{
		"the node":                 {twoNodes(t, ""), []string{"3"}, "3", "0-2"},
		"no CPU of another slot":   {twoNodes(t, ""), []string{"2", "3"}, "3", "0-1"},
		"a cache across the nodes": {wide, []string{"3"}, "3", "0-2,4-7"},
		"a slot outside the plan":  {twoNodes(t, ""), []string{"3"}, "5", "4,6-7"},
		"an unknown CPU":           {twoNodes(t, ""), []string{"3"}, "99", ""},
	} {
		e := &Engine{topology: tt.top}
		for _, list := range tt.planned {
			e.slots = append(e.slots, slots.Slot{CPUs: set(t, list)})
		}
		if got := e.sharing(set(t, tt.cpus)); got.String() != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestFit: a strict engine judges only on isolated CPUs whose turbo is known to be off.
func TestFit(t *testing.T) {
	noTurbo := func(content string) hostfs.FS {
		root := t.TempDir()
		path := filepath.Join(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return hostfs.New(root)
	}
	nothing := hostfs.New(t.TempDir())
	for _, tt := range []struct {
		name     string
		strict   bool
		isolated string
		fs       hostfs.FS
		want     string // part of the error
	}{
		{"not strict", false, "", nothing, ""},
		{"strict and fit", true, "6-7", noTurbo("1\n"), ""},
		{"not isolated", true, "", noTurbo("1\n"), "CPUs 6-7 are not isolated; boot with isolcpus=6-7"},
		{"a part is not isolated", true, "7", noTurbo("1\n"), "CPUs 6-7 are not isolated"},
		{"turbo is on", true, "6-7", noTurbo("0\n"), "turbo is on"},
		{"turbo is unknown", true, "6-7", nothing, "turbo is unknown"},
		{"the switch is unreadable", true, "6-7", noTurbo("?\n"), "turbo is unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cpus := set(t, "6-7")
			e := &Engine{fs: tt.fs, topology: twoNodes(t, tt.isolated), options: Options{Strict: tt.strict},
				turbo: machine.ReadTurbo(tt.fs, cpus)}
			switch err := e.Fit(cpus); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "strict = false")):
				t.Errorf("got %v, want %s and what to do", err, tt.want)
			}
		})
	}
}

// TestTurboIsReadAgain where the host has a switch, because operators and firmware change it.
func TestTurboIsReadAgain(t *testing.T) {
	e := &Engine{fs: hostfs.New(t.TempDir())}
	for _, value := range []machine.TurboState{machine.TurboOff, machine.TurboUnknown} {
		e.turbo = machine.Turbo{Value: value, Source: "/a/switch"}
		if got := e.Turbo(set(t, "1")); got.Value != machine.TurboUnknown || got.Source != "" {
			t.Errorf("turbo was %s and the switch is gone: got %+v", value, got)
		}
	}
	e.turbo = machine.Turbo{Value: machine.TurboUnknown, Reason: "first look"}
	if got := e.Turbo(set(t, "1")); got.Reason != "first look" {
		t.Errorf("read again without a switch: %+v", got)
	}
}

// TestHost compares what a report says about the host.
func TestHost(t *testing.T) {
	top := twoNodes(t, "6-7")
	top.Kernel, top.Model = "6.18", "CPU"
	e := &Engine{topology: top, fingerprint: func() api.Fingerprint { return api.Fingerprint{Sum: "f"} },
		turbo: machine.Turbo{Value: machine.TurboUnknown}, options: Options{Name: "n", Pool: "p"}}
	got := e.Host(set(t, "7"), api.DoctorReport{Ready: true})
	if got.Doctor == nil || !got.Doctor.Ready || got.Doctor.Failed == nil || len(got.Doctor.Failed) != 0 {
		t.Errorf("doctor %+v, want ready and an empty list", got.Doctor)
	}
	got.Doctor = nil
	e.options.Name = ""
	if want, err := os.Hostname(); err == nil && e.Name() != want {
		t.Errorf("name %q, want %q", e.Name(), want)
	}
	want := api.HostReport{Name: "n", Pool: "p", Fingerprint: "f", Kernel: "6.18", CPUModel: "CPU", Isolation: "isolcpus",
		Turbo: "unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestThresholds: the planned frequency is the nominal one only when turbo is off.
func TestThresholds(t *testing.T) {
	ready := map[machine.TurboState]float64{machine.TurboOff: 1, machine.TurboOn: 0, machine.TurboUnknown: 0}
	for value, want := range ready {
		e := &Engine{turbo: machine.Turbo{Value: value}}
		if got := e.Thresholds().Frequency.Plan; got != want {
			t.Errorf("turbo %s: plan %v, want %v", value, got, want)
		}
	}
}
