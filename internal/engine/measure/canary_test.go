package measure_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// TestKernelWithoutCPU runs a kernel with hardly any wall time, as if many other programs used the CPU.
func TestKernelWithoutCPU(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	e, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<20 + os.Getpid()%4096*1000, UIDCount: 1000,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	kernels, err := measure.NewCanary(e.Topology())
	if err != nil {
		t.Fatal(err)
	}
	defer kernels.Close()
	worker := e.Worker(e.Slots()[0])
	if r, err := kernels.Read(t.Context(), worker, initproc.KernelALU); err != nil || r.CPUTime <= 0 {
		t.Errorf("as it is: %+v, error %v", r, err)
	}
	kernels.SetWallTime(time.Millisecond)
	_, err = kernels.Read(t.Context(), worker, initproc.KernelALU)
	if !errors.Is(err, measure.ErrNoise) || !strings.Contains(err.Error(), "stopped after") ||
		!strings.Contains(err.Error(), "for the CPU") {
		t.Errorf("within a millisecond: error %v, want noise with figures", err)
	}
}
