package main

import (
	"strings"
	"testing"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/lab/bench"
)

func TestNodeChart(t *testing.T) {
	slow := &api.Deviation{Ratio: 0.031, Low: 0.028, High: 0.034, Threshold: 0.01, Deviates: true,
		History: []api.DeviationEstimate{{Ratio: 0.002}, {Ratio: 0.031}}}
	got := nodeChart([]api.Node{{Name: "new", Pool: "metal"}, {Name: "slow", Pool: "metal", Deviation: slow}})
	want := []bench.Lane{{Name: "slow", Note: "+3.1 % (2.8 to 3.4) !, metal",
		Dots:     []bench.Dot{{Value: 100 * slow.History[0].Ratio}, {Value: 100 * slow.Ratio, Hollow: true}},
		Interval: &bench.Interval{Low: 100 * slow.Low, Center: 100 * slow.Ratio, High: 100 * slow.High}}}
	if diff := cmp.Diff(want, got.Lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	var svg strings.Builder
	if err := got.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "+3.1 % (2.8 to 3.4) !, metal") {
		t.Errorf("picture: %v\n%s", err, svg.String())
	}
}
