package scoring

import (
	"testing"

	"judged/internal/api"
)

// TestFull: the full score is what setters declare, else what the tests give.
func TestFull(t *testing.T) {
	group := func(a api.Aggregation, most *float64, members ...api.Member) api.Member {
		return api.Member{Group: &api.Group{Aggregation: a, MaxScore: most, Members: members}}
	}
	test := api.Member{Accept: 30, Reject: 0}
	bounded := api.Member{Accept: 20, MaxScore: points(20)}
	none, loses := api.Member{}, api.Member{Reject: -1}
	for _, tt := range []struct {
		name          string
		root          api.Member
		checkerScores bool
		want          float64 // -1 is unknown
		gives         bool
	}{
		{"sum", group(api.Sum, nil, test, bounded), false, 50, true},
		{"smallest", group(api.Min, nil, test, bounded), false, 20, true},
		{"largest", group(api.Max, nil, test, bounded), false, 30, true},
		{"average", group(api.Average, nil, test, bounded), false, 25, true},
		{"declared", group(api.Sum, points(100), test, bounded), false, 100, true},
		{"declared of a part", group(api.Sum, nil, group(api.Min, points(40), test), test), false, 70, true},
		{"all or nothing", group(api.PassFail, points(40), none, none), false, 40, true},
		{"all or nothing, without a maximum", group(api.PassFail, nil, test), false, 0, false},
		{"declared, and no part gives any", group(api.Sum, points(100), group(api.PassFail, nil, none)), false, 100, false},
		{"no points", group(api.Sum, nil, none, none), false, 0, false},
		{"only a loss", group(api.Sum, nil, none, loses), false, 0, true},
		{"points of the checker", group(api.Sum, nil, none, bounded), true, -1, true},
		{"points of the checker, bounded", group(api.Sum, points(7), none, bounded), true, 7, true},
		{"points of the checker, the smallest", group(api.Min, nil, none, bounded), true, 20, true},
	} {
		s := Scheme{Root: tt.root.Group, Scoring: true}
		full, known := s.Full(tt.checkerScores)
		if !known {
			full = -1
		}
		if gives := s.GivesPoints(tt.checkerScores); full != tt.want || gives != tt.gives {
			t.Errorf("%s: full score %v, gives points %v; want %v, %v", tt.name, full, gives, tt.want, tt.gives)
		}
	}
	if _, known := (Scheme{Root: group(api.Sum, points(5), test).Group}).Full(false); known {
		t.Error("a problem without points has a full score")
	}
	samples := group(api.Sum, nil, group(api.Sum, nil, test), group(api.Sum, nil, bounded))
	samples.Group.IgnoreFirst = true
	if full, _ := (Scheme{Root: samples.Group, Scoring: true}).Full(false); full != 20 {
		t.Errorf("with ignored samples: %v, want 20", full)
	}
}
