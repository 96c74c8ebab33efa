// Package guestlab contains the tests that cmd/judged runs in its guests. They start judged as users do, and
// check from the outside what the kernel reports. The name of a test begins with the kind of guest it is for.
// The TestQueue tests have a separate isolated guest, because they take long.
package guestlab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// Paths of the files that the host has added.
const (
	judged   = "/bin/judged"
	programs = "/data/" // of testdata/submissions/measure
	cgroups  = "/sys/fs/cgroup"
)

// patience limits operations that take milliseconds on a real machine.
const patience = 3 * time.Minute

// waitEnv makes this binary a process that does nothing until its stdin ends.
const waitEnv = "JUDGED_TEST_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(waitEnv) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	testkit.UnitMain()
	if !inGuest() {
		fmt.Println("guestlab: skip all tests: they change the machine and run in a guest only; start them with: go " +
			"test ./cmd/judged -run Guest")
		return
	}
	os.Exit(testkit.Run(m))
}

// inGuest reports whether the first process is the init of package guest. The tests unmount control groups and
// enable swap, so they never run on a host, regardless of the environment.
func inGuest() bool {
	first, err := os.Readlink("/proc/1/exe")
	_, noPlan := os.Stat(guest.PlanPath)
	return err == nil && first == "/init" && noPlan == nil
}

// command returns a judged command whose environment does not contain variables of the tests.
func command(t *testing.T, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	stderr := new(bytes.Buffer)
	cmd := exec.CommandContext(t.Context(), judged, args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.Stderr = stderr
	return cmd, stderr
}

// output runs judged and returns its exit code and stdout.
func output(t *testing.T, env []string, args ...string) (int, []byte) {
	t.Helper()
	cmd, stderr := command(t, env, args...)
	out, err := cmd.Output()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	if code > 1 {
		t.Fatalf("judged %q: exit code %d\n%s", args, code, stderr)
	}
	return code, out
}

// run runs judged run, and checks that nothing is left behind.
func run(t *testing.T, want api.Verdict, args ...string) api.Report {
	t.Helper()
	before := look(t)
	if want == api.Accepted { // no limit decides; the emulator charges a CPU for the turns of the others
		args = append([]string{"--time-limit", "20s"}, args...)
	}
	code, out := output(t, nil, append([]string{"run", "--json"}, args...)...)
	var r api.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s, exit code %d", r.Verdict, code)
	if expected := fmt.Sprintf("%s, exit code %d", want, exitCode(want)); got != expected {
		t.Errorf("judged run %q: %s, want %s", args, got, expected)
	}
	if len(r.Tests) == 0 || len(r.Tests[0].Runs) == 0 {
		t.Fatalf("judged run %q: no runs in the report\n%s", args, out)
	}
	before.compare(t)
	return r
}

func exitCode(v api.Verdict) int {
	if v == api.Accepted {
		return 0
	}
	return 1
}

// examine runs judged doctor. It also returns the status of each check.
func examine(t *testing.T, env []string, args ...string) (api.DoctorReport, map[string]api.DoctorStatus) {
	t.Helper()
	code, out := output(t, env, append([]string{"doctor", "--json"}, args...)...)
	var r api.DoctorReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if ready := code == 0; r.Ready != ready {
		t.Errorf("doctor says ready: %t, and ends with exit code %d", r.Ready, code)
	}
	return r, statuses(r)
}

func statuses(r api.DoctorReport) map[string]api.DoctorStatus {
	found := map[string]api.DoctorStatus{}
	for _, c := range r.Checks {
		found[c.ID] = c.Status
	}
	return found
}

// only returns the entries of m whose keys are in want.
func only[V any](m, want map[string]V) map[string]V {
	kept := map[string]V{}
	for k := range want {
		if v, ok := m[k]; ok {
			kept[k] = v
		}
	}
	return kept
}

// surroundings is the state that judged must leave unchanged.
type surroundings struct{ Processes, Groups, Mounts []string }

func look(t *testing.T) surroundings {
	t.Helper()
	mounts, err := os.ReadFile("/proc/1/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	s := surroundings{Mounts: strings.Split(string(mounts), "\n")}
	err = filepath.WalkDir(cgroups, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			s.Groups = append(s.Groups, path)
		}
		return nil // a group may be removed during the scan
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes(t) {
		s.Processes = append(s.Processes, p.pid+" "+p.command)
	}
	return s
}

// compare retries, because the kernel reports a process to its parent before it has removed it.
func (s surroundings) compare(t *testing.T) {
	t.Helper()
	var now surroundings
	same := func() bool { now = look(t); return cmp.Equal(s, now) }
	for end := time.Now().Add(patience); !same() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if diff := cmp.Diff(s, now); diff != "" {
		t.Errorf("judged left something behind (-before +after):\n%s", diff)
	}
}

type process struct{ pid, command string }

// processes returns the user processes, because kernel threads come and go.
func processes(t *testing.T) []process {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var all []process
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && len(text) > 0 {
			all = append(all, process{filepath.Base(filepath.Dir(path)),
				string(bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte(" ")))})
		}
	}
	slices.SortFunc(all, func(a, b process) int { return strings.Compare(a.pid, b.pid) })
	return all
}

// status returns the value of a line of /proc/PID/status.
func status(t *testing.T, pid, key string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	return field(string(text), key)
}

// field returns the value of a line "key:\tvalue".
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
