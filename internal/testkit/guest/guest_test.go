package guest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

const isolation = "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3"

// noise returns data with all byte values, including those that a terminal would change. It is longer than any
// buffer in between.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func read(name, path string) Command {
	return Command{Name: name, Args: []string{"/init", "cat", path}}
}

func stdout(results map[string]Result, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		out[name] = results[name].Stdout
	}
	return out
}

func TestGuestBoots(t *testing.T) {
	t.Parallel() // an emulator uses only one CPU
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel)
	data := noise(50_001)
	host := t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "noise"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	got := Boot(t, Config{
		Append: isolation,
		NUMA:   true,
		Files:  map[string]string{"/bin/echo": Build(t, "./testdata/echo")},
		Dirs:   map[string]string{"/data": host},
		Commands: []Command{
			read("isolated", "/sys/devices/system/cpu/isolated"),
			read("nohz_full", "/sys/devices/system/cpu/nohz_full"),
			read("node1", "/sys/devices/system/node/node1/cpulist"),
			read("package of cpu 2", "/sys/devices/system/cpu/cpu2/topology/physical_package_id"),
			read("controllers", "/sys/fs/cgroup/cgroup.controllers"),
			read("uptime", "/proc/uptime"),
			{Name: "both streams", Args: []string{"/bin/echo", "/data/noise", "37"}},
			read("no such file", "/no/such/file"),
		},
	})

	want := map[string]string{"isolated": "2-3\n", "nohz_full": "2-3\n", "node1": "2-3\n", "package of cpu 2": "1\n"}
	if diff := cmp.Diff(want, stdout(got, "isolated", "nohz_full", "node1", "package of cpu 2")); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	controllers := strings.Fields(got["controllers"].Stdout)
	for _, c := range []string{"cpuset", "cpu", "memory", "pids"} {
		if !slices.Contains(controllers, c) {
			t.Errorf("controller %s is not among %q", c, controllers)
		}
	}
	backwards := slices.Clone(data)
	slices.Reverse(backwards)
	streams := Result{Stdout: string(data), Stderr: string(backwards), ExitCode: 37, Over: true}
	if got := got["both streams"]; got != streams {
		t.Errorf("both streams: %d and %d bytes and exit code %d are not what was sent", len(got.Stdout),
			len(got.Stderr), got.ExitCode)
	}
	missing := Result{Stderr: "init: open /no/such/file: no such file or directory\n", ExitCode: 1, Over: true}
	if diff := cmp.Diff(missing, got["no such file"]); diff != "" {
		t.Errorf("missing file (-want +got):\n%s", diff)
	}
	t.Logf("seconds since the kernel started, when asked: %s", got["uptime"].Stdout)
}

// TestArm64GuestBoots is the same test for arm64.
func TestArm64GuestBoots(t *testing.T) {
	t.Parallel()
	got := Boot(t, Config{
		Arch: "arm64", Append: isolation, NUMA: true,
		Files: map[string]string{"/bin/echo": BuildFor(t, "arm64", "./testdata/echo")},
		Dirs:  map[string]string{"/data": "testdata/echo"},
		Commands: []Command{
			read("isolated", "/sys/devices/system/cpu/isolated"),
			read("nohz_full", "/sys/devices/system/cpu/nohz_full"),
			read("node1", "/sys/devices/system/node/node1/cpulist"),
			{Name: "echo", Args: []string{"/bin/echo", "/data/main.go", "37"}},
		},
	})
	want := map[string]string{"isolated": "2-3\n", "nohz_full": "2-3\n", "node1": "2-3\n"}
	if diff := cmp.Diff(want, stdout(got, "isolated", "nohz_full", "node1")); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	if code := got["echo"].ExitCode; code != 37 {
		t.Errorf("exit code %d, want 37", code)
	}
}

// TestGuestSMT also tests commands that cannot be started or do not end, and that the guest sends beats
// meanwhile.
func TestGuestSMT(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel)
	cfg := Config{
		Sockets: 2, Cores: 1, Threads: 2,
		Commands: []Command{
			read("siblings of cpu 3", "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list"),
			read("smt", "/sys/devices/system/cpu/smt/control"),
			{Name: "no such program", Args: []string{"/no/such/program"}},
			// Nothing is sent to this port, so reading it never ends.
			{Name: "endless", Args: []string{"/init", "cat", "/dev/ttyS1"}, Timeout: 3 * BeatPeriod},
			read("afterwards", "/proc/sys/kernel/ostype"),
		},
	}
	e, err := prepare(t, cfg.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if n := beats(t, e); n < 2 {
		t.Errorf("%d signs of life while a command said nothing for 3 s, want more", n)
	}
	want := map[string]Result{
		"siblings of cpu 3": {Stdout: "2-3\n", Over: true},
		"smt":               {Stdout: "on\n", Over: true},
		"no such program": {ExitCode: -1, Over: true,
			Failure: "fork/exec /no/such/program: no such file or directory"},
		"endless":    {ExitCode: -1, Over: true, Signal: "killed", Failure: "killed after its timeout of 3s"},
		"afterwards": {Stdout: "Linux\n", Over: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	text := fmt.Sprint(failures(cfg, got))
	if !strings.Contains(text, `"no such program"`) || !strings.Contains(text, `"endless"`) {
		t.Errorf("failures do not name both commands: %s", text)
	}
}

// TestBrokenGuest starts a guest without a first process and one that does not power off in time.
func TestBrokenGuest(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel)
	for _, tc := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"panic", Config{Append: "rdinit=/none"}, "Kernel panic"},
		{"timeout", Config{Timeout: time.Millisecond}, "did not power off in time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.cfg.Commands = []Command{read("never", "/proc/uptime")}
			results, err := boot(t, tc.cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if len(results) != 0 {
				t.Errorf("results %v, want none", results)
			}
		})
	}
}

const inner = "judged/internal/testkit/guest/testdata/inner"

func TestGoTestInGuest(t *testing.T) {
	t.Parallel()
	GoTest(t, Config{Append: isolation}, inner, "Test[^F]|TestFiles")
}

// verdict records a test's failure without failing this test.
type verdict struct {
	testing.TB
	failed bool
	log    strings.Builder
}

func (v *verdict) Helper()                           {}
func (v *verdict) Failed() bool                      { return v.failed }
func (v *verdict) Logf(format string, args ...any)   { fmt.Fprintf(&v.log, format+"\n", args...) }
func (v *verdict) Errorf(format string, args ...any) { v.failed = true; v.Logf(format, args...) }

func TestGoTestFailsInGuest(t *testing.T) {
	for _, tc := range []struct{ name, run, want string }{
		{"a test fails", "^TestFails$", "this is meant to fail"},
		{"no test matches", "^TestNothingOfThatName$", "no test of " + inner + " passed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := &verdict{TB: t}
			GoTest(v, Config{}, inner, tc.run)
			if !v.failed || !strings.Contains(v.log.String(), tc.want) {
				t.Errorf("failed: %t, want true with %q in the log:\n%s", v.failed, tc.want, v.log.String())
			}
		})
	}
}
