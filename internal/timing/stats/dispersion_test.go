package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	tests := []struct {
		name string
		in   []time.Duration
		want Dispersion
	}{
		{"none", nil, Dispersion{}},
		{"one", []time.Duration{7}, Dispersion{N: 1, Min: 7, Median: 7, Max: 7}},
		{"two, median rounded down", []time.Duration{10, 7}, Dispersion{N: 2, Min: 7, Median: 8, Max: 10, Spread: 3}},
		{"three", []time.Duration{9, 1, 2}, Dispersion{N: 3, Min: 1, Median: 2, Max: 9, Spread: 8, MAD: 1,
			HasMAD: true}},
		{"four", []time.Duration{1, 2, 5, 100}, Dispersion{N: 4, Min: 1, Median: 3, Max: 100, Spread: 99, MAD: 2,
			HasMAD: true}},
		{"equal", []time.Duration{4, 4, 4, 4, 4}, Dispersion{N: 5, Min: 4, Median: 4, Max: 4, HasMAD: true}},
		{"huge", []time.Duration{math.MaxInt64, math.MaxInt64 - 1},
			Dispersion{N: 2, Min: math.MaxInt64 - 1, Median: math.MaxInt64 - 1, Max: math.MaxInt64, Spread: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := slices.Clone(tt.in)
			if diff := cmp.Diff(tt.want, Describe(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, tt.in); diff != "" {
				t.Errorf("Describe changed its argument (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpreadRatio(t *testing.T) {
	tests := []struct {
		in    []time.Duration
		ratio float64
		ok    bool
	}{
		{nil, 0, false},
		{[]time.Duration{0, 0, 5}, 0, false},
		{[]time.Duration{8}, 0, true},
		{[]time.Duration{7, 8, 10}, 0.375, true},
	}
	for _, tt := range tests {
		if ratio, ok := Describe(tt.in).SpreadRatio(); ratio != tt.ratio || ok != tt.ok {
			t.Errorf("%v: got %v, %v, want %v, %v", tt.in, ratio, ok, tt.ratio, tt.ok)
		}
	}
}

// TestMedianInterval compares the ranks and confidences with the exact table.
func TestMedianInterval(t *testing.T) {
	type result struct {
		Lo, Hi     time.Duration
		Confidence string
		OK         bool
	}
	tests := []struct {
		n    int
		want result
	}{
		{0, result{0, 0, "0.000", false}},
		{5, result{0, 0, "0.000", false}},
		{6, result{1, 6, "0.969", true}},
		{7, result{1, 7, "0.984", true}},
		{8, result{2, 7, "0.930", true}},
		{9, result{2, 8, "0.961", true}},
		{10, result{2, 9, "0.979", true}},
		{11, result{3, 9, "0.935", true}},
		{12, result{3, 10, "0.961", true}},
		{15, result{4, 12, "0.965", true}},
		{20, result{6, 15, "0.959", true}},
		{2000, result{957, 1044, "0.948", true}}, // 2^-2000 underflows a float64
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			var xs []time.Duration // n..1, so ranks equal values
			for i := range tt.n {
				xs = append(xs, time.Duration(tt.n-i))
			}
			lo, hi, confidence, ok := MedianInterval(xs)
			got := result{lo, hi, fmt.Sprintf("%.3f", confidence), ok}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
