package judge_test

import (
	"maps"
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
	"judged/internal/testkit/guest"
)

// TestGuestAttacks runs TestAttacks with cgroup v2, on isolated CPUs without a tick, on the second of two NUMA nodes.
func TestGuestAttacks(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.GCC, testkit.StaticGCC)
	attackGuest(t, guest.Config{Arch: "amd64", Append: isolation + " tsc=reliable"}, "gcc")
}

// TestGuestStreams runs TestConversations and TestNamedFiles in the same kind of guest, with the interactor on a
// housekeeping CPU.
func TestGuestStreams(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.GCC, testkit.StaticGCC)
	t.Parallel()
	cfg := guest.Config{Arch: "amd64", Append: isolation + " tsc=reliable", NUMA: true,
		Files: attacks.ShipJury(t, "gcc")}
	maps.Copy(cfg.Files, guest.HostPrograms(t, "sh", "cat", "head", "ln", "mkdir", "mkfifo", "mv", "rm", "tee", "yes"))
	guest.GoTest(t, cfg, "judged/internal/engine/judge",
		"^(TestConversations|TestProgramSeesNoJury|TestNamedFiles|TestNamedOutputIsNoMemory)$")
}

// TestArm64GuestAttacks runs the attacks on arm64, without those that are for amd64 only.
func TestArm64GuestAttacks(t *testing.T) {
	testkit.Need(t, testkit.QEMUArm64, testkit.GuestKernelArm64, testkit.GCCArm64)
	attackGuest(t, guest.Config{Arch: "arm64", Append: isolation}, testkit.GCCForArm64)
}

const isolation = "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3"

func attackGuest(t *testing.T, cfg guest.Config, gcc string) {
	t.Helper()
	t.Parallel() // one emulator keeps one CPU busy
	cfg.NUMA = true
	cfg.Files = attacks.Ship(t, cfg.Arch, gcc, programsDir)
	guest.GoTest(t, cfg, "judged/internal/engine/judge", "^TestAttacks$"+attacks.Chosen())
}
