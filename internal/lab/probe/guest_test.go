package probe

import (
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// TestGuest tests two slots, which this machine may not have.
func TestGuest(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel)
	t.Parallel() // one emulator keeps one CPU busy
	guest.GoTest(t, guest.Config{Append: "isolcpus=2,3 nohz_full=2,3 tsc=reliable", NUMA: true},
		"judged/internal/lab/probe", "^TestHere$")
}
