package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// FuzzReadTurbo reads switches with arbitrary content. The result is TurboOff only if all switches are off, and
// never if one is on.
func FuzzReadTurbo(f *testing.F) {
	f.Add("1", "0", "0", "0 1", "flags\t: hypervisor")
	f.Add("0\n", "", "1", "", "")
	f.Add("1", "x", "1", "99999999999999999999 -1", "flags:")
	f.Add("", "", "0", "0", "")
	root := f.TempDir()
	for _, dir := range []string{filepath.Dir(noTurbo), cpufreqDir + "/policy0", "/proc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, intel, global, policy, related, cpuinfo string) {
		for path, text := range map[string]string{
			noTurbo: intel, globalBoost: global, cpufreqDir + "/policy0/boost": policy, cpufreqDir +
				"/policy0/related_cpus": related,
			"/proc/cpuinfo": cpuinfo,
		} {
			file := filepath.Join(root, path)
			err := os.WriteFile(file, []byte(text), 0o644)
			if text == "" {
				err = os.Remove(file)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s := ReadTurbo(hostfs.New(root), cpuset.New(0))
		on := says(intel, "0") || says(global, "1")
		odd := !says(intel, "0") && !says(intel, "1") && intel != "" || !says(global, "0") && !says(global, "1") &&
			global != ""
		switch {
		case s.Reason == "" || s.Value == "":
			t.Errorf("%+v", s)
		case on && s.Value != TurboOn, odd && s.Value == TurboOff, intel == "" && global == "" && policy == "" &&
			s.Value != TurboUnknown:
			t.Errorf("intel %q global %q policy %q: %+v", intel, global, policy, s)
		}
	})
}

func says(text, word string) bool { return strings.TrimSpace(text) == word }
