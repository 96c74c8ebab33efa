package stats

import (
	"math"
	"testing"
	"time"
)

func TestSigma(t *testing.T) {
	type sigma struct {
		D  time.Duration
		OK bool
	}
	tests := []struct {
		name            string
		in              []time.Duration
		bySpread, byMAD sigma
	}{
		{"one", millis(5), sigma{}, sigma{}},
		{"two", millis(5, 6), sigma{886_524, true}, sigma{}}, // 1 ms / 1.128
		{"wild one", millis(10, 11, 12, 13, 500), sigma{210_662_080, true}, sigma{1_482_600, true}},
		{"too many for the spread", make([]time.Duration, 26), sigma{}, sigma{0, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Describe(tt.in)
			var got sigma
			if got.D, got.OK = d.SpreadSigma(); got != tt.bySpread {
				t.Errorf("by spread: got %v, want %v", got, tt.bySpread)
			}
			if got.D, got.OK = d.Sigma(); got != tt.byMAD {
				t.Errorf("by MAD: got %v, want %v", got, tt.byMAD)
			}
		})
	}
}

// TestSpreadInSigma computes the table by its definition: the mean range of n
// normal values is the integral of 1 - Φ(x)^n - (1-Φ(x))^n.
func TestSpreadInSigma(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for i, want := range spreadInSigma {
		n := float64(i + 2)
		const step = 1.0 / 256
		sum := 0.0
		for x := -8.0; x < 8; x += step {
			sum += step * (1 - math.Pow(phi(x), n) - math.Pow(1-phi(x), n))
		}
		if math.Abs(sum-want) > 0.0006 {
			t.Errorf("n = %v: table %.3f, integral %.4f", n, want, sum)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i // 100..1
	}
	tests := []struct {
		name string
		in   []int
		p    float64
		want int
	}{
		{"none", nil, 0.5, 0},
		{"one", []int{7}, 0.99, 7},
		{"99 of 100", hundred, 0.99, 99},
		{"just above", hundred, 0.991, 100},
		{"lower half", []int{4, 3, 2, 1}, 0.5, 2},
		{"smallest", hundred, 0, 1},
		{"largest", hundred, 1, 100},
	}
	for _, tt := range tests {
		if got := Quantile(tt.in, tt.p); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("Quantile sorted its argument")
	}
}
