package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// signaller takes values one by one and returns when it signals.
type signaller func(z float64) Shift

func cusum(k, h float64) signaller {
	var c CUSUM
	return func(z float64) Shift {
		c = c.Next(z, k)
		return c.Signal(h)
	}
}

func ewma(lambda, width float64) signaller {
	var e EWMA
	return func(z float64) Shift {
		e = e.Next(z, lambda)
		return e.Signal(lambda, width)
	}
}

// TestRunLengths compares the charts, by simulation, with the published mean numbers of normal values until they
// signal. The tolerance is four standard errors plus half a unit of the last published digit.
func TestRunLengths(t *testing.T) {
	const charts = 4000
	type published struct {
		shift, length, digit float64
	}
	tests := []struct {
		name  string
		start func() signaller
		want  []published
	}{
		// Montgomery, table 9.3.
		{"CUSUM k 0.5, h 4", func() signaller { return cusum(0.5, 4) },
			[]published{{0, 168, 1}, {0.5, 26.6, 0.1}, {1, 8.38, 0.01}, {2, 3.34, 0.01}, {4, 1.71, 0.01}}},
		{"CUSUM k 0.5, h 5", func() signaller { return cusum(0.5, 5) },
			[]published{{0, 465, 1}, {0.5, 38.0, 0.1}, {1, 10.4, 0.1}, {2, 4.01, 0.01}, {4, 2.01, 0.01}}},
		// Hawkins 1993, Cumulative sum control charting: Montgomery, table 9.4.
		{"CUSUM k 0.5, h 4.77", func() signaller { return cusum(0.5, 4.77) }, []published{{0, 370, 1}}},
		{"CUSUM k 0.25, h 8.01", func() signaller { return cusum(0.25, 8.01) }, []published{{0, 370, 1}}},
		{"CUSUM k 1, h 2.52", func() signaller { return cusum(1, 2.52) }, []published{{0, 370, 1}}},
		// Lucas and Saccucci 1990: Montgomery, table 9.11.
		{"EWMA 0.1, 2.814", func() signaller { return ewma(0.1, 2.814) },
			[]published{{0, 500, 1}, {0.5, 31.3, 0.1}, {1, 10.3, 0.1}, {2, 4.4, 0.1}}},
		{"EWMA 0.2, 2.962", func() signaller { return ewma(0.2, 2.962) },
			[]published{{0, 500, 1}, {0.5, 41.8, 0.1}, {1, 10.5, 0.1}, {2, 3.7, 0.1}}},
		// Borror, Montgomery and Runger 1999, Robustness of the EWMA control
		// chart to non-normality.
		{"EWMA 0.1, 2.703", func() signaller { return ewma(0.1, 2.703) }, []published{{0, 370, 1}}},
		// Shewhart's chart is the EWMA without a memory: 1/(2Φ(-3)).
		{"EWMA 1, 3", func() signaller { return ewma(1, 3) }, []published{{0, 370.4, 0.1}, {1, 43.9, 0.1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, w := range tt.want {
				r := rand.New(rand.NewPCG(1954, uint64(i)))
				var sum, squares float64
				for range charts {
					n := runLength(r, tt.start(), w.shift)
					sum += n
					squares += n * n
				}
				mean := sum / charts
				standardError := math.Sqrt((squares/charts - mean*mean) / charts)
				if math.Abs(mean-w.length) > 4*standardError+w.digit/2 {
					t.Errorf("shift %v: %.2f, standard error %.2f; published %v", w.shift, mean, standardError,
						w.length)
				}
			}
		})
	}
}

func runLength(r *rand.Rand, step signaller, shift float64) float64 {
	for n := 1.0; ; n++ {
		if step(r.NormFloat64()+shift) != NoShift {
			return n
		}
	}
}

// TestSignals compares with values computed by hand, and with their mirror images.
func TestSignals(t *testing.T) {
	tests := []struct {
		name   string
		start  func() signaller
		values []float64
		want   []Shift
	}{
		// 2, 4, 4, 4.1
		{"CUSUM", func() signaller { return cusum(0.5, 4) }, []float64{2.5, 2.5, 0.5, 0.6},
			[]Shift{"", "", "", Slower}},
		{"CUSUM recovers", func() signaller { return cusum(0.5, 4) }, []float64{5, -2, 1, 0, -4},
			[]Shift{Slower, "", "", "", ""}},
		// 1, 1, 1.05, 0.525; a width of the square root of 3 is a limit of 1.
		{"EWMA", func() signaller { return ewma(0.5, 1.01*math.Sqrt(3)) }, []float64{2, 1, 1.1, 0},
			[]Shift{"", "", Slower, ""}},
	}
	mirror := map[Shift]Shift{NoShift: NoShift, Slower: Faster}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up, down := tt.start(), tt.start()
			for i, z := range tt.values {
				if got := up(z); got != tt.want[i] {
					t.Errorf("value %d: got %q, want %q", i, got, tt.want[i])
				}
				if got := down(-z); got != mirror[tt.want[i]] {
					t.Errorf("value %d mirrored: got %q, want %q", i, got, mirror[tt.want[i]])
				}
			}
		})
	}
}

func TestSignalTellsTheLarger(t *testing.T) {
	for c, want := range map[CUSUM]Shift{{6, 5}: Slower, {5, 6}: Faster, {4, 4}: NoShift} {
		if got := c.Signal(4); got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}
