package sandbox

import (
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// TestRunInGuest runs TestRun and TestTimeIsCurrent with cgroup v2, on an isolated core without a tick, on the second
// of two NUMA nodes.
func TestRunInGuest(t *testing.T) {
	t.Parallel() // an emulator uses only one CPU
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	runInGuest(t, guest.Config{Append: isolation + " tsc=reliable"}, testkit.CompileC(t, "testdata/act.c", true))
}

// TestRunInArm64Guest runs them on arm64, which has different system call numbers, structures and fork.
func TestRunInArm64Guest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMUArm64, testkit.GuestKernelArm64, testkit.GCCArm64)
	runInGuest(t, guest.Config{Arch: "arm64", Append: isolation}, testkit.CompileArm64(t, "testdata/act.c"))
}

const isolation = "isolcpus=3 nohz_full=3"

func runInGuest(t *testing.T, cfg guest.Config, act string) {
	t.Helper()
	cfg.NUMA = true
	cfg.Files = map[string]string{"/repo/internal/sandbox/testdata/act": act, "/bin/echo": act}
	guest.GoTest(t, cfg, "judged/internal/sandbox", "^Test(Run|TimeIsCurrent)$")
}

// TestLeaksInGuest runs the tests of leaks and of counting processes with cgroup v2.
func TestLeaksInGuest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	act, family := testkit.CompileC(t, "testdata/act.c", true), testkit.CompileC(t, "testdata/family.c", true)
	guest.GoTest(t, guest.Config{
		Append: isolation + " tsc=reliable", NUMA: true,
		Files: map[string]string{"/repo/internal/sandbox/testdata/act": act,
			"/repo/internal/sandbox/testdata/family": family, "/bin/echo": act},
	}, "judged/internal/sandbox",
		"^Test(NothingIsLeft|LauncherLeavesNothing|SetUpFails|ProcessesBound|AllAreCounted|Parents|Unprotected)$")
}

// TestLimitsInGuest checks that with cgroup v2 processes are killed that cgroup.kill alone does not reach, and
// that memory is counted without output, and that named files are files.
func TestLimitsInGuest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	files := map[string]string{}
	for _, name := range []string{"leaderless", "memory", "named"} {
		files["/repo/internal/sandbox/testdata/"+name] = testkit.CompileC(t, "testdata/"+name+".c", true)
	}
	guest.GoTest(t, guest.Config{Append: isolation + " tsc=reliable", NUMA: true, Files: files},
		"judged/internal/sandbox", "^Test(Leaderless|LeaderlessWithoutNamespaces|OutputIsNotMemory|NamedFiles|NamedInputs)$")
}

// TestChannelsInGuest runs TestChannels on another kernel, with cgroup v2.
func TestChannelsInGuest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	guest.GoTest(t, guest.Config{
		Append: "tsc=reliable",
		Files: map[string]string{
			"/repo/internal/sandbox/testdata/channel": testkit.CompileC(t, "testdata/channel.c", true),
		},
	}, "judged/internal/sandbox", "^TestChannels$/^input( file)?$")
}

// TestWaitsInGuest: with cgroup v2 the kernel measures the same.
func TestWaitsInGuest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	guest.GoTest(t, guest.Config{
		Append: "tsc=reliable", Sockets: 1, Cores: 2,
		Files: map[string]string{
			"/repo/internal/sandbox/testdata/share": testkit.CompileC(t, "testdata/share.c", true),
		},
	}, "judged/internal/sandbox", "^Test(Waits|SiblingsAreNoOthers|WaitsOfAll)$/.*/^pressure$")
}
