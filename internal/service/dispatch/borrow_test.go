package dispatch

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// TestDeviation checks that a short kernel is compared with its baseline once it has one.
func TestDeviation(t *testing.T) {
	watch(t, func(f *watched) {
		look := func(factor float64) float64 {
			f.canary.factors["0"] = factor
			return math.Round(100*f.m.Deviation(f.Context(), first)) / 100
		}
		unknown := slots.Slot{CPUs: second.CPUs.Union(first.CPUs)}
		got := []float64{look(1.1), f.m.Deviation(f.Context(), unknown)}
		if len(f.canary.read) > 0 {
			t.Errorf("read %v without a baseline", f.canary.read)
		}
		newHealth(f.m.slots[0], stats.DefaultChart().Learn, "", 0)
		got = append(got, look(1.1), look(1), look(0.9))
		f.canary.fails = map[string]error{initproc.KernelL3Short: errors.New("no memory")}
		got = append(got, look(1.1))
		if diff := cmp.Diff([]float64{0, 0, 0.1, 0, -0.1, 0}, got); diff != "" {
			t.Errorf("no baseline, no slot, slower, as ever, faster, unreadable (-want +got):\n%s", diff)
		}
		want := `level=WARN msg="cannot read canary next to a run" cpus=0 kernel=l3-short error="no memory"`
		f.logged(want)
		ended, cancel := context.WithCancel(f.Context())
		cancel()
		f.m.Deviation(ended, first)
		f.logged("")
	})
}

// TestDeviationOfEachKernel checks that the first kernel beyond its guard band counts, and that only short kernels are
// read.
func TestDeviationOfEachKernel(t *testing.T) {
	watch(t, func(f *watched) {
		s := f.m.slots[0]
		s.kernels = append(initproc.Kernels(), initproc.ShortKernels()...)
		newHealth(s, stats.DefaultChart().Learn, "", 0)
		f.m.Deviation(f.Context(), first)
		var want []string
		for _, k := range initproc.ShortKernels() {
			want = append(want, "0 "+k)
		}
		if diff := cmp.Diff(want, f.canary.read); diff != "" {
			t.Errorf("read as ever (-want +got):\n%s", diff)
		}
		f.canary.read, f.canary.factors["0"] = nil, 2
		f.m.Deviation(f.Context(), first)
		if diff := cmp.Diff(want[:1], f.canary.read); diff != "" {
			t.Errorf("read when slower (-want +got):\n%s", diff)
		}
	})
}

// TestQuietPatience checks that next to a slot that never becomes idle, a run that confirms another waits for
// quietPatience, and then uses its own slot anyway.
func TestQuietPatience(t *testing.T) {
	watch(t, func(f *watched) {
		lease, begin := f.lease(), time.Now()
		f.lease()
		for i, wish := range []stats.Placement{{Quiet: true}, {OtherCore: true}, {Quiet: true, OtherCore: true}} {
			_, err := f.m.Borrow(f.Context(), lease, wish)
			f.must(err)
			if got, want := time.Since(begin), time.Duration(i+1)*2*time.Second; got != want {
				t.Errorf("%+v came %v after the beginning, want %v", wish, got, want)
			}
		}
	})
}

// TestBorrowOtherCore checks that a run moves to another core if that is fit, and otherwise stays on its own, and that
// an unfit core is released.
func TestBorrowOtherCore(t *testing.T) {
	for name, tt := range map[string]struct {
		unfit []string
		p     stats.Placement
		want  string // states of both slots during the run
	}{
		"fit":               {nil, stats.Placement{OtherCore: true}, "busy busy"},
		"unfit":             {[]string{"1"}, stats.Placement{OtherCore: true}, "busy idle"},
		"unfit, quiet":      {[]string{"1"}, stats.Placement{OtherCore: true, Quiet: true}, "busy idle"},
		"both unfit":        {[]string{"0", "1"}, stats.Placement{OtherCore: true}, "busy idle"},
		"no other is asked": {nil, stats.Placement{Quiet: true}, "busy idle"},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				lease := f.lease()
				for _, cpus := range tt.unfit {
					f.engine.unfit[cpus] = true
				}
				loan, err := f.m.Borrow(f.Context(), lease, tt.p)
				f.must(err)
				if got := f.status(first).State + " " + f.status(second).State; got != tt.want {
					t.Errorf("states %q, want %q", got, tt.want)
				}
				if cpus := map[string]string{"busy busy": "1",
					"busy idle": "0"}[tt.want]; loan.Slot().CPUs.String() != cpus {
					t.Errorf("borrowed CPU %s, want %s", loan.Slot().CPUs, cpus)
				}
				loan.Release()
				f.must(lease.Resume(f.Context()))
				lease.Release()
				f.is(first, slots.Idle, "", "")
				f.is(second, slots.Idle, "", "")
			})
		})
	}
}

// TestBorrowEnds checks that a job that is cancelled while it waits for a slot does not get one.
func TestBorrowEnds(t *testing.T) {
	watch(t, func(f *watched) {
		lease := f.lease()
		f.lease()
		ctx, cancel := context.WithCancelCause(f.Context())
		why := errors.New("cancelled")
		cancel(why)
		if _, err := f.m.Borrow(ctx, lease, stats.Placement{Quiet: true}); !errors.Is(err, why) {
			t.Errorf("borrowed: %v", err)
		}
	})
}
