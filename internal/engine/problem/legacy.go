package problem

import (
	"math"
	"path"
	"slices"
	"strconv"

	"judged/internal/api"
)

// legacyFile contains the settings of a group in legacy packages.
const legacyFile = "testdata.yaml"

// legacyGrading is how a group is graded by the keys of legacy packages.
type legacyGrading struct {
	legacy         bool // false: by the keys of the other versions
	onReject       string
	accept, reject float64
	most           *float64
	graderFlags    []string
	custom         bool // graded by the package's grader, which gets the flags
}

// legacyKeys are the keys that grade a group in legacy packages.
var legacyKeys = []string{"on_reject", "grading", "grader_flags", "accept_score", "reject_score", "range"}

// legacyGroup reads how a group is graded. Like in problemtools, a group inherits what it does not set.
func (r *dataReader) legacyGroup(g *api.Group, s *settings, l *legacyGrading) {
	l.legacy = true
	r.legacyReject(s, l)
	r.legacyScores(s, l)
	r.legacyFlags(s, l)
	l.apply(g)
}

func (r *dataReader) legacyReject(s *settings, l *legacyGrading) {
	s.decode("on_reject", &l.onReject)
	if l.onReject != "break" && l.onReject != "continue" {
		s.fail("on_reject", "%q is unknown; use break or continue", l.onReject)
	}
}

func (r *dataReader) legacyScores(s *settings, l *legacyGrading) {
	for key, score := range map[string]*float64{"accept_score": &l.accept, "reject_score": &l.reject} {
		if s.decode(key, score); !api.ValidPoints(*score) {
			s.fail(key, "%v is not a number from %g to %g", *score, -api.MaxPoints, api.MaxPoints)
			*score = 0
		}
	}
	if _, ok := s.keys["range"]; !ok {
		return
	}
	words := s.words("range")
	var ends [2]float64
	valid := len(words) == len(ends)
	for i := range min(len(words), len(ends)) {
		var err error
		ends[i], err = strconv.ParseFloat(words[i], 64)
		valid = valid && err == nil
	}
	// NaN is neither less nor greater.
	if !valid || !(ends[0] <= ends[1]) || math.IsInf(ends[1], -1) {
		s.fail("range", "%q is not a range; use the smallest and the largest score, such as 0 100", words)
		return
	}
	if l.most = &ends[1]; math.IsInf(ends[1], 1) {
		l.most = nil
	}
}

func (r *dataReader) legacyFlags(s *settings, l *legacyGrading) {
	grading := "default"
	if l.custom {
		grading = "custom"
	}
	switch s.decode("grading", &grading); {
	case grading == "custom" && (r.p.Scheme.Grader == nil || !r.kind.scoring):
		s.fail("grading", "%q needs one program in graders/, and type: scoring in problem.yaml", grading)
	case grading != "default" && grading != "custom":
		s.fail("grading", "%q is unknown; use default or custom", grading)
	}
	l.custom = grading == "custom"
	if flags := s.words("grader_flags"); flags != nil {
		l.graderFlags = flags
		if !l.custom && path.Dir(s.file) != "data" && slices.Contains(flags, "ignore_sample") {
			r.p.find("%s: ignore_sample has an effect only in data/%s", s.file, legacyFile)
		}
		for _, flag := range flags {
			if _, known := graderFlags[flag]; !known && !l.custom {
				r.p.unsupported("grader_flags: %s", flag)
			}
		}
	}
}

// graderFlags maps the flags of the default grader to what they set.
var graderFlags = map[string]func(g *api.Group){
	"worst_error":            func(g *api.Group) { g.Verdict = api.WorstError },
	"no_errors":              func(g *api.Group) { g.Verdict = api.WorstError }, // former name
	"first_error":            func(g *api.Group) { g.Verdict = api.FirstError },
	"always_accept":          func(g *api.Group) { g.Verdict = api.AlwaysAccept },
	"sum":                    func(g *api.Group) { g.Aggregation = api.Sum },
	"min":                    func(g *api.Group) { g.Aggregation = api.Min },
	"max":                    func(g *api.Group) { g.Aggregation = api.Max },
	"avg":                    func(g *api.Group) { g.Aggregation = api.Average },
	"accept_if_any_accepted": func(g *api.Group) { g.AcceptIfAny = true },
	"ignore_sample":          func(g *api.Group) { g.IgnoreFirst = true },
}

// domjudgePoints sets the points of a group as DOMjudge counts them (SubmissionService in its source). A group without
// subgroups gives its points if all of its tests are correct. If it has none, the output validator gives those of its
// tests. Other groups get points from their subgroups, even if a test has failed. A folder without settings is not a group
// and gives none.
func (r *dataReader) domjudgePoints(g *api.Group, accept float64, leaf bool) {
	g.Verdict = api.ByScore
	isGroup := r.t.has("data/"+g.Name+"/"+legacyFile) || r.t.has("data/"+g.Name+"/"+groupFile)
	if !leaf || isGroup && accept == 0 && r.p.judging().Program != nil {
		return
	}
	if !isGroup {
		accept = 0
	}
	g.Aggregation, g.MaxScore, g.Continue = api.PassFail, &accept, false
	for i := range g.Members {
		g.Members[i].Accept, g.Members[i].Reject = 0, 0
	}
}

func (l legacyGrading) apply(g *api.Group) {
	g.Continue, g.MaxScore = l.onReject == "continue", l.most
	g.Verdict, g.Aggregation, g.GraderArgs = api.WorstError, api.Sum, nil
	if l.custom {
		g.Aggregation, g.GraderArgs = api.Custom, l.graderFlags
		return
	}
	for _, flag := range l.graderFlags {
		if set, known := graderFlags[flag]; known {
			set(g)
		}
	}
}
