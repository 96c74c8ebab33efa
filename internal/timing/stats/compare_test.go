package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCompare compares the result with the example of Hollander and Wolfe: the permeability of two tissues, here in
// hundredths (table 4.1).
func TestCompare(t *testing.T) {
	a := []time.Duration{80, 83, 189, 104, 145, 138, 191, 164, 73, 146}
	b := []time.Duration{115, 88, 90, 74, 121}
	fives := func(xs ...time.Duration) []time.Duration { return xs }
	tests := []struct {
		name string
		a, b []time.Duration
		want Comparison
		ok   bool
	}{
		// Published as -0.305 and [-0.76, 0.15] with 96 %, and P one-sided 0.127.
		{"published", a, b, Comparison{Shift: -31, ShiftLow: -76, ShiftHigh: 15, Ratio: 0.7627, RatioLow: 0.5103,
			RatioHigh: 1.1635, Confidence: 0.9600, P: 0.2544}, true},
		{"apart", fives(1, 2, 3, 4), fives(11, 12, 13, 14), Comparison{Shift: 10, ShiftLow: 7, ShiftHigh: 13,
			Ratio: 5.0833, RatioLow: 2.75, RatioHigh: 14, Confidence: 0.9714, P: 2.0 / 70}, true},
		{"a time of zero", fives(0, 2, 3, 4), fives(11, 12, 13, 14),
			Comparison{Shift: 10, ShiftLow: 7, ShiftHigh: 14, Confidence: 0.9714, P: 2.0 / 70}, true},
		{"all the same", fives(5, 5, 5, 5), fives(5, 5, 5, 5),
			Comparison{Ratio: 1, RatioLow: 1, RatioHigh: 1, Confidence: 0.9714, P: 1}, true},
		{"too few", fives(1, 2, 3), fives(4, 5, 6), Comparison{}, false},
		{"none", nil, fives(4, 5, 6), Comparison{}, false},
		{"nothing to compare with", fives(4, 5, 6), nil, Comparison{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Compare(tt.a, tt.b)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 0.0001)); diff != "" || ok != tt.ok {
				t.Errorf("ok %v, want %v (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
}

// TestCriticalValues checks the table of Mann and Whitney's test at 5 %, two-sided, as in every book of tables. The
// value itself is significant, the next is not.
func TestCriticalValues(t *testing.T) {
	for _, c := range []struct{ m, n, u int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17}, {10, 10, 23}, {12, 12, 37}, {15, 15, 64},
		{20, 20, 127},
		{5, 20, 20}, {10, 15, 39}, {10, 20, 55}, {20, 10, 55},
	} {
		if p := mannWhitney(withU(c.m, c.n, c.u)); p > 0.05 {
			t.Errorf("m %d, n %d, U %d: P %.4f, want at most 0.05", c.m, c.n, c.u, p)
		}
		if p := mannWhitney(withU(c.m, c.n, c.u+1)); p <= 0.05 {
			t.Errorf("m %d, n %d, U %d: P %.4f, want above 0.05", c.m, c.n, c.u+1, p)
		}
	}
}

// withU returns times without ties for which u pairs have the longer time in a.
func withU(m, n, u int) (a, b []time.Duration) {
	for i := range m { // a[i] is greater than as many times of b as still needed, at most n
		above := min(u, n)
		u -= above
		a = append(a, time.Duration(1000*above-i-1))
	}
	for j := range n {
		b = append(b, time.Duration(1000*j))
	}
	return a, b
}

// TestMannWhitneyByCounting checks all ways to choose b, with many ties.
func TestMannWhitneyByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 47))
	for range 50 {
		m, n := 1+r.IntN(6), 1+r.IntN(6)
		a, b := smallTimes(r, m, 5), smallTimes(r, n, 5)
		all := append(append([]time.Duration{}, a...), b...)
		off := separation(a, b)
		far, ways := 0, 0
		for set := range 1 << (m + n) {
			if bits.OnesCount(uint(set)) != n {
				continue
			}
			var x, y []time.Duration
			for i, v := range all {
				if set>>i&1 == 1 {
					y = append(y, v)
				} else {
					x = append(x, v)
				}
			}
			ways++
			if separation(x, y) >= off {
				far++
			}
		}
		if got, want := mannWhitney(a, b), float64(far)/float64(ways); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v, %v: got %v, want %v", a, b, got, want)
		}
	}
}

// separation returns the distance of twice the number of pairs with the longer time in b from half of all; ties count
// as half a pair.
func separation(a, b []time.Duration) int {
	sum := 0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				sum++
			case y < x:
				sum--
			}
		}
	}
	return max(sum, -sum)
}

// TestCompareOnNoise checks that intervals contain the true shift, and that the test rejects, as often as stated, both
// for the exact and for the normal distribution, within four standard errors.
func TestCompareOnNoise(t *testing.T) {
	rounds := 500.0
	if testing.Short() {
		rounds = 100
	}
	for _, tt := range []struct{ m, n int }{{6, 6}, {10, 20}, {40, 50}} {
		t.Run(fmt.Sprintf("%d and %d", tt.m, tt.n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(tt.m), uint64(tt.n)))
			const shift = 10 * ms
			draw := func(n int, more time.Duration) (xs []time.Duration) {
				for range n {
					xs = append(xs, 100*ms+more+time.Duration(r.ExpFloat64()*float64(20*ms)))
				}
				return xs
			}
			held, accused, found, confidence := 0, 0, 0, 0.0
			for range int(rounds) {
				a, b, same := draw(tt.m, 0), draw(tt.n, shift), draw(tt.n, 0)
				c, _ := Compare(a, b)
				confidence = c.Confidence
				if c.ShiftLow <= shift && shift <= c.ShiftHigh {
					held++
				}
				if c.P <= 0.05 {
					found++
				}
				if c, _ := Compare(a, same); c.P <= 0.05 {
					accused++
				}
			}
			within := func(name string, count int, want float64) {
				got, standardError := float64(count)/rounds, math.Sqrt(want*(1-want)/rounds)
				if math.Abs(got-want) > 4*standardError {
					t.Errorf("%s: %.4f, want %.4f, standard error %.4f", name, got, want, standardError)
				}
			}
			within("interval holds", held, confidence)
			if got := float64(accused) / rounds; got > 0.05+4*math.Sqrt(0.05*0.95/rounds) {
				t.Errorf("accused without a difference: %.4f", got)
			}
			if found <= accused {
				t.Errorf("found %d differences, and accused %d without one", found, accused)
			}
		})
	}
}

// TestCompareIsContinuous checks that at exactUpTo, the normal approximation of the intervals and of the test differs
// by at most 0.003.
func TestCompareIsContinuous(t *testing.T) {
	const m, n = exactUpTo / 2, exactUpTo / 2
	counted, normal := separationsByCount(m, n), separationsByNormal(m, n)
	var byCount, byNormal float64
	for u := range m * n / 2 {
		byCount += 2 * counted(u)
		byNormal += 2 * normal(u)
		if math.Abs(byCount-byNormal) > 0.003 {
			t.Fatalf("U %d: counted %.5f, normal %.5f", u, byCount, byNormal)
		}
	}

	r := rand.New(rand.NewPCG(30, 30))
	for range 20 {
		a, b := smallTimes(r, m, 1e9), smallTimes(r, n, 1e9)
		ranks, sum, ties := midranks(a, b)
		off := abs(sum - n*(m+n+1))
		byCount, byNormal := farByCount(ranks, n, off), farByNormal(m, n, ties, off)
		if math.Abs(byCount-byNormal) > 0.003 {
			t.Errorf("%d off: counted %.5f, normal %.5f", off, byCount, byNormal)
		}
	}
}

// TestRankSumVariance compares with the exact variance, with many ties and few.
func TestRankSumVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 92))
	for range 50 {
		m, n := 2+r.IntN(10), 2+r.IntN(10)
		ranks, _, ties := midranks(smallTimes(r, m, 1+r.IntN(9)), smallTimes(r, n, 1+r.IntN(9)))
		ways, squares := 0.0, 0.0
		for s, w := range rankSums(ranks, n) {
			off := float64(s-n*(m+n+1)) / 2
			ways += w
			squares += w * off * off
		}
		if got, want := rankSumVariance(m, n, ties), squares/ways; math.Abs(got-want) > 1e-9*(1+want) {
			t.Errorf("%d and %d, ties %d: got %v, want %v", m, n, ties, got, want)
		}
	}
}

// smallTimes returns n random times with a limited number of values.
func smallTimes(r *rand.Rand, n, values int) []time.Duration {
	xs := make([]time.Duration, n)
	for i := range xs {
		xs[i] = time.Duration(r.IntN(values))
	}
	return xs
}

func BenchmarkCompare(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]time.Duration, 20), make([]time.Duration, 20)
	for i := range x {
		x[i], y[i] = time.Duration(r.IntN(1e9)), time.Duration(r.IntN(1e9))
	}
	b.ReportAllocs()
	for b.Loop() {
		Compare(x, y)
	}
}
