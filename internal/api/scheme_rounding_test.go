package api

import (
	"fmt"
	"testing"
)

// TestSumsOfPoints: points that add up to the maximum of a group in decimal do so in binary, for every number of tests,
// and neither exceed it nor miss it.
func TestSumsOfPoints(t *testing.T) {
	for _, most := range []float64{0.3, 1, 30, 100, 1e15} {
		for n := 1; n <= 200; n++ {
			share := most / float64(n)
			whole := &Group{Name: "g", Aggregation: Sum, Verdict: ByScore, Continue: true, MaxScore: &most}
			free := &Group{Name: "h", Aggregation: Sum, Verdict: ByScore, Continue: true}
			var reports []TestReport
			for i := range n {
				for _, g := range []*Group{whole, free} {
					name := fmt.Sprint(g.Name, i)
					g.Members = append(g.Members, Member{Test: name, Accept: share, MaxScore: &share})
					reports = append(reports, TestReport{Name: name, Verdict: Accepted})
				}
			}
			s := Scheme{Root: &Group{Aggregation: Sum, Verdict: ByScore, Members: groups(whole, free)}, Scoring: true}
			r, err := s.Result(reports, "", nil)
			if err != nil || r.Verdict != Accepted || *r.Score != 2*most || *r.Groups[0].Score != most ||
				*r.Groups[1].Score != most {
				t.Fatalf("%d tests for %v points: %v, %+v", n, most, err, r.Groups)
			}
			if full, known := s.Full(false); !known || full != 2*most {
				t.Fatalf("%d tests for %v points: the full score is %v", n, most, full)
			}
		}
	}
}

// TestRoundedPoints: points are compared with a maximum as a package's own sums are, and a real excess is an error.
func TestRoundedPoints(t *testing.T) {
	for _, tt := range []struct {
		name    string
		group   Group
		scores  []float64
		verdict string
	}{
		{"0.1 + 0.2 of 0.3", Group{Aggregation: Sum, MaxScore: points(0.3)}, []float64{0.1, 0.2}, "0.3"},
		{"the average of three times 0.1", Group{Aggregation: Average, MaxScore: points(0.1)}, []float64{0.1, 0.1, 0.1},
			"0.1"},
		{"thirds that are rounded up", Group{Aggregation: Sum, MaxScore: points(100)},
			[]float64{33.3333333334, 33.3333333334, 33.3333333334}, "100"},
		{"negative points", Group{Aggregation: Sum, MaxScore: points(1)}, []float64{1e15, -1e15, 0.1, 0.2}, "0.3"},
		{"without a maximum", Group{Aggregation: Sum}, []float64{0.1, 0.2, 0.3}, "0.6"},
		{"the smallest is not rounded", Group{Aggregation: Min}, []float64{100.0 / 6, 20}, "16.666666666666668"},
		{"too many", Group{Aggregation: Sum, MaxScore: points(100)}, []float64{50, 50.001},
			`score 100.001 of group "" is above its maximum 100`},
	} {
		g := tt.group
		var reports []TestReport
		for i, n := range tt.scores {
			name := fmt.Sprint(i)
			g.Members = append(g.Members, Member{Test: name, Accept: n})
			reports = append(reports, TestReport{Name: name, Verdict: Accepted})
		}
		r, err := Scheme{Root: &g, Scoring: true}.Result(reports, "", nil)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(*r.Score)
		}
		if got != tt.verdict {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.verdict)
		}
	}
}

// TestRoundedPointsOfATest: a checker that writes a share of the points in decimal gives all of them.
func TestRoundedPointsOfATest(t *testing.T) {
	third := 100.0 / 3
	for _, tt := range []struct {
		score float64
		want  string
	}{
		{33.3333333333, "AC 33.333333333333336"},
		{33.33333333334, "AC 33.333333333333336"},
		{33.33, "PC 33.33"},
		{33.34, `score 33.34 of test "1" is above its maximum 33.333333333333336`},
	} {
		s := Scheme{Scoring: true, Root: &Group{Aggregation: Min, Verdict: ByScore,
			Members: []Member{{Test: "1", Accept: third, MaxScore: &third}}}}
		r, err := s.Result([]TestReport{{Name: "1", Verdict: Partial, Score: &tt.score}}, "", nil)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%s %v", r.Verdict, *r.Score)
		}
		if got != tt.want {
			t.Errorf("%v: %s, want %s", tt.score, got, tt.want)
		}
	}
}
