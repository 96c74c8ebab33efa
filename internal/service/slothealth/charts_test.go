package slothealth

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/timing/canary"
)

func TestChartsKeepTheLatest(t *testing.T) {
	s := &slotHealth{}
	start := time.Unix(0, 0)
	for i := range chartPoints + 2 {
		s.plot(canary.Reading{Kernel: "alu", CPUTime: time.Duration(i)}, start.Add(time.Duration(i)))
	}
	points := s.points["alu"]
	got := []Point{points[0], points[len(points)-1]}
	want := []Point{{start.Add(2), 2, false}, {start.Add(chartPoints + 1), chartPoints + 1, false}}
	if diff := cmp.Diff(want, got); diff != "" || len(points) != chartPoints {
		t.Errorf("%d points (-want +got):\n%s", len(points), diff)
	}
}
