package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

func turboHost(t testing.TB, files map[string]string) hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, "sys/devices/system/cpu", name)
		if strings.HasPrefix(name, "/") {
			path = filepath.Join(root, name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if content == "DIR" {
			// Reading a directory fails, even for root.
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return hostfs.New(root)
}

func TestTurbo(t *testing.T) {
	const cpu = "/sys/devices/system/cpu/"
	for name, tc := range map[string]struct {
		files  map[string]string
		cpus   cpuset.Set
		value  TurboState
		source string
		reason string
	}{
		"intel off": {map[string]string{"intel_pstate/no_turbo": "1\n"}, cpuset.New(2), TurboOff,
			cpu + "intel_pstate/no_turbo", "forbids"},
		"intel on": {map[string]string{"intel_pstate/no_turbo": "0\n"}, cpuset.New(2), TurboOn,
			cpu + "intel_pstate/no_turbo", "allows"},
		"global off": {map[string]string{"cpufreq/boost": "0\n"}, cpuset.New(2), TurboOff, cpu + "cpufreq/boost", "forbids"},
		"global on":  {map[string]string{"cpufreq/boost": "1\n"}, cpuset.New(2), TurboOn, cpu + "cpufreq/boost", "allows"},
		"global off, own policy on": {map[string]string{"cpufreq/boost": "0\n", "cpufreq/policy2/boost": "1\n",
			"cpufreq/policy2/related_cpus": "2 3 \n"},
			cpuset.New(3), TurboOn, cpu + "cpufreq/policy2/boost", "allows"},
		"global off, foreign policy on": {map[string]string{"cpufreq/boost": "0\n", "cpufreq/policy2/boost": "1\n",
			"cpufreq/policy2/related_cpus": "2 3\n"},
			cpuset.New(1), TurboOff, cpu + "cpufreq/boost", "forbids"},
		"global off, a policy on that hides its CPUs": {map[string]string{"cpufreq/boost": "0\n",
			"cpufreq/policy2/boost": "1\n"},
			cpuset.New(1), TurboOn, cpu + "cpufreq/policy2/boost", "allows"},
		"all CPUs, one policy on": {map[string]string{"cpufreq/policy0/boost": "0\n",
			"cpufreq/policy0/related_cpus": "0\n",
			"cpufreq/policy1/boost":        "1\n", "cpufreq/policy1/related_cpus": "1\n"}, nil, TurboOn, cpu +
			"cpufreq/policy1/boost", "allows"},
		"policies off": {map[string]string{"cpufreq/policy0/boost": "0\n", "cpufreq/policy0/related_cpus": "0\n",
			"cpufreq/policy1/boost": "0\n", "cpufreq/policy1/related_cpus": "1\n"}, cpuset.New(0, 1), TurboOff, cpu +
			"cpufreq/policy0/boost", "forbids"},
		"policies off, one CPU not covered": {map[string]string{"cpufreq/policy0/boost": "0\n",
			"cpufreq/policy0/related_cpus": "0\n"},
			cpuset.New(0, 1), TurboUnknown, cpu + "cpufreq/policy0/boost", "no switch covers CPU 1"},
		"unreadable": {map[string]string{"cpufreq/boost": "DIR"}, cpuset.New(0), TurboUnknown, cpu + "cpufreq/boost",
			"cannot read"},
		"unreadable, the other on": {map[string]string{"cpufreq/boost": "DIR", "intel_pstate/no_turbo": "0\n"},
			cpuset.New(0), TurboOn, cpu + "intel_pstate/no_turbo", "allows"},
		"unreadable, the other off": {map[string]string{"cpufreq/boost": "DIR", "intel_pstate/no_turbo": "1\n"},
			cpuset.New(0), TurboUnknown, cpu + "cpufreq/boost", "cannot read"},
		"nonsense": {map[string]string{"cpufreq/boost": "yes\n"}, cpuset.New(0), TurboUnknown,
			cpu + "cpufreq/boost", `"yes" is neither 0 nor 1`},
		"amd_pstate no switch": {map[string]string{"amd_pstate/status": "active\n"}, cpuset.New(0), TurboUnknown, "",
			"6.11"},
		"virtual machine": {map[string]string{"/proc/cpuinfo": "flags\t\t: fpu hypervisor\n"}, cpuset.New(0),
			TurboUnknown, "", "controlled by the hypervisor"},
		"xen": {map[string]string{"/sys/hypervisor/type": "xen\n"}, cpuset.New(0), TurboUnknown, "",
			"controlled by the hypervisor"},
		"nothing": {map[string]string{"/proc/cpuinfo": "flags\t\t: fpu\n"}, cpuset.New(0), TurboUnknown, "",
			"no switch found"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ReadTurbo(turboHost(t, tc.files), tc.cpus)
			if got.Value != tc.value || got.Source != tc.source || !strings.Contains(got.Reason, tc.reason) {
				t.Errorf("Read = %+v, want %s from %q because of %q", got, tc.value, tc.source, tc.reason)
			}
		})
	}
}

// BenchmarkReadLive: ReadTurbo is called before each lease and must take only microseconds.
func BenchmarkReadLive(b *testing.B) {
	h := hostfs.New("/")
	for b.Loop() {
		ReadTurbo(h, cpuset.New(0))
	}
}

func BenchmarkReadIntel(b *testing.B) {
	h := turboHost(b, map[string]string{"intel_pstate/no_turbo": "1\n"})
	for b.Loop() {
		ReadTurbo(h, cpuset.New(0))
	}
}
