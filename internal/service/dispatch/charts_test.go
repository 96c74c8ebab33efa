package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
)

func TestChartsKeepTheLatest(t *testing.T) {
	s := &slotHealth{points: map[string][]ChartPoint{}, unsaved: map[string]int{}}
	start := time.Unix(0, 0)
	for i := range chartPoints + 2 {
		s.plot(measure.Reading{Kernel: "alu", CPUTime: time.Duration(i)}, start.Add(time.Duration(i)))
	}
	points := s.points["alu"]
	got := []ChartPoint{points[0], points[len(points)-1]}
	want := []ChartPoint{{start.Add(2), 2, false}, {start.Add(chartPoints + 1), chartPoints + 1, false}}
	if diff := cmp.Diff(want, got); diff != "" || len(points) != chartPoints {
		t.Errorf("%d points (-want +got):\n%s", len(points), diff)
	}
}

// TestChartsSurviveARestart checks that all readings but the last few are there after a restart.
func TestChartsSurviveARestart(t *testing.T) {
	watch(t, func(f *watched) {
		f.canary.vary = 0.01
		f.settled()()
		f.m.slots[0].plot(measure.Reading{Kernel: initproc.KernelALU, CPUTime: time.Second,
			Run: api.Run{Disturbed: []api.Cause{api.CauseWait}}}, time.Now())
		f.m.slots[0].unsaved[initproc.KernelALU] = saveChartsEvery
		f.m.saveChart(f.m.slots[0], initproc.KernelALU)
		f.m.flush(f.Context())
		before := f.m.Charts("0")
		f.restart()
		for i, chart := range f.m.Charts("0") {
			want := before[i].Points
			if chart.Kernel != initproc.KernelALU {
				want = want[:len(want)/saveChartsEvery*saveChartsEvery]
			}
			if diff := cmp.Diff(want, chart.Points, cmp.Comparer(func(a, b time.Time) bool {
				return a.Truncate(time.Millisecond).Equal(b.Truncate(time.Millisecond))
			})); diff != "" || len(want) == 0 {
				t.Errorf("%s, %d readings (-before +after):\n%s", chart.Kernel, len(want), diff)
			}
		}
	})
}
