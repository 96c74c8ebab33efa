package dispatch

import (
	"os"
	"runtime"
	"testing"

	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	// A launcher must not get the first thread of this process: /proc/self shows that thread's mounts, and a later
	// engine would look for its cgroups in the sandbox of an earlier one.
	runtime.LockOSThread()
	os.Exit(testkit.Run(m))
}
