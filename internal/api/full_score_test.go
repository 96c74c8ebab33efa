package api

import (
	"testing"
)

// TestFull: the full score is what setters declare, else what the tests give.
func TestFull(t *testing.T) {
	group := func(a Aggregation, most *float64, members ...Member) Member {
		return Member{Group: &Group{Aggregation: a, MaxScore: most, Members: members}}
	}
	test := Member{Accept: 30, Reject: 0}
	bounded := Member{Accept: 20, MaxScore: points(20)}
	none, loses := Member{}, Member{Reject: -1}
	for _, tt := range []struct {
		name          string
		root          Member
		checkerScores bool
		want          float64 // -1 is unknown
		gives         bool
	}{
		{"sum", group(Sum, nil, test, bounded), false, 50, true},
		{"smallest", group(Min, nil, test, bounded), false, 20, true},
		{"largest", group(Max, nil, test, bounded), false, 30, true},
		{"average", group(Average, nil, test, bounded), false, 25, true},
		{"declared", group(Sum, points(100), test, bounded), false, 100, true},
		{"declared of a part", group(Sum, nil, group(Min, points(40), test), test), false, 70, true},
		{"all or nothing", group(PassFail, points(40), none, none), false, 40, true},
		{"all or nothing, without a maximum", group(PassFail, nil, test), false, 0, false},
		{"declared, and no part gives any", group(Sum, points(100), group(PassFail, nil, none)), false, 100, false},
		{"no points", group(Sum, nil, none, none), false, 0, false},
		{"only a loss", group(Sum, nil, none, loses), false, 0, true},
		{"points of the checker", group(Sum, nil, none, bounded), true, -1, true},
		{"points of the checker, bounded", group(Sum, points(7), none, bounded), true, 7, true},
		{"points of the checker, the smallest", group(Min, nil, none, bounded), true, 20, true},
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
	if _, known := (Scheme{Root: group(Sum, points(5), test).Group}).Full(false); known {
		t.Error("a problem without points has a full score")
	}
	samples := group(Sum, nil, group(Sum, nil, test), group(Sum, nil, bounded))
	samples.Group.IgnoreFirst = true
	if full, _ := (Scheme{Root: samples.Group, Scoring: true}).Full(false); full != 20 {
		t.Errorf("with ignored samples: %v, want 20", full)
	}
}
