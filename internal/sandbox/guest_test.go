package sandbox

import (
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// TestRunInGuest is TestRun with cgroup v2, on an isolated core without a tick,
// on the second of two NUMA nodes.
func TestRunInGuest(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	program := testkit.CompileC(t, "testdata/act.c", true)
	guest.GoTest(t, guest.Config{
		Append: "isolcpus=3 nohz_full=3 tsc=reliable", NUMA: true,
		Files: map[string]string{"/repo/internal/sandbox/testdata/act": program, "/bin/echo": program},
	}, "judged/internal/sandbox", "^TestRun$")
}
