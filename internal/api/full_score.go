package api

import (
	"math"
)

// Full returns the full score of the problem, and whether it is known. It is the maximum that the setters declare, or
// what comes from the points of the tests. It is unknown where a checker gives points without a maximum.
func (s Scheme) Full(checkerScores bool) (float64, bool) {
	full := maxScore(s.Root, func(g *Group, sum float64) float64 {
		if g.MaxScore != nil {
			return *g.MaxScore
		}
		return sum
	}, checkerScores)
	return full, s.Scoring && !math.IsInf(full, 1)
}

// GivesPoints reports whether some submission can get points, or lose some.
func (s Scheme) GivesPoints(checkerScores bool) bool {
	loses := false
	s.walk(func(_ []*Group, m Member) { loses = loses || m.Reject != 0 })
	return loses || s.Root.Largest(checkerScores) != 0
}

// Largest returns the largest score that comes from the members of the group, up to the maxima of all groups in it, or +Inf
// where a checker gives points without a maximum.
func (g *Group) Largest(checkerScores bool) float64 {
	return maxScore(g, func(g *Group, sum float64) float64 {
		if g.MaxScore != nil {
			return min(sum, *g.MaxScore)
		}
		return sum
	}, checkerScores)
}

// maxScore returns the largest score of a group, +Inf where none is known. bound is called with what comes from the members.
func maxScore(g *Group, bound func(g *Group, sum float64) float64, checkerScores bool) float64 {
	members := make([]memberResult, len(g.Members))
	for i, m := range g.Members {
		n := &members[i]
		switch {
		case m.Group != nil:
			n.score = maxScore(m.Group, bound, checkerScores)
		case m.MaxScore != nil:
			n.score = *m.MaxScore
		case checkerScores:
			n.score = math.Inf(1)
		default:
			n.score = m.Accept
		}
	}
	if g.IgnoreFirst && len(members) == 2 {
		members = members[1:]
	}
	if g.Aggregation == Custom {
		return bound(g, math.Inf(1))
	}
	return bound(g, groupScore(g, members, true))
}
