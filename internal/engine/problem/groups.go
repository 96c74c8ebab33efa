package problem

import (
	"path"
	"slices"
	"strings"

	"judged/internal/api"
)

// groupFile contains the settings of a group, except in legacy packages.
const groupFile = "test_group.yaml"

// pointKeys are the keys for the points of a group in all versions except legacy.
var pointKeys = []string{"scoring", "max_score", "score_aggregation", "require_pass"}

// otherGroupKeys are the keys of groups that only other versions of the format have.
var otherGroupKeys = map[api.ProblemFormat][]string{
	Legacy: slices.Concat(pointKeys, []string{"args", "input_validator_args", "output_validator_args", "full_feedback",
		"description", "static_validation", "static_validation_score", "static_validator_args"}),
	Draft23: slices.Concat(legacyKeys, []string{"input_validator_flags", "output_validator_flags", "max_score",
		"score_aggregation"}),
	Kattis: slices.Concat(legacyKeys, []string{"input_validator_flags", "output_validator_flags", "scoring"}),
}

// groupSettings opens the settings of a folder below data, and reads those that are not about points. If its own file
// is missing, the file of another version is used: setters who leave it in a package expect it to have an effect, and
// ignoring it could let a wrong submission pass.
func (r *dataReader) groupSettings(folder string, from *inherited) (*settings, error) {
	file, other := path.Join("data", folder, groupFile), path.Join("data", folder, legacyFile)
	if r.p.Format == Legacy {
		file, other = other, file
	}
	if !r.t.has(file) && r.t.has(other) {
		r.p.find("%s is not a file of the format %s; judged uses it, but rename it to %s", path.Base(other), r.p.Format,
			path.Base(file))
		file = other
	}
	s, err := r.t.settings(file)
	if err != nil {
		return nil, err
	}
	s.ofOthers(r.p.Format, otherGroupKeys[r.p.Format]...)
	r.testSettings(s, from)
	r.arguments(s, "output_validator_flags", (*settings).words, &from.checkerArgs)
	r.arguments(s, "input_validator_flags", (*settings).words, &from.validatorArgs)
	for _, key := range []string{"static_validation_score", "static_validation", "static_validator_args"} {
		if s.has(key) {
			r.p.unsupported("%s", key)
			s.ignore(key)
		}
	}
	return s, nil
}

// grade reads how a group is graded. It accepts the keys of all versions in packages of any version.
func (r *dataReader) grade(g *api.Group, from *inherited) error {
	s, err := r.groupSettings(g.Name, from)
	if err != nil {
		return err
	}
	if !r.kind.scoring {
		r.findPoints(s)
	}
	switch {
	case s.has(pointKeys...) && r.kind.scoring:
		from.legacy = false
	case s.has(legacyKeys...):
		from.legacy = true
	}
	switch {
	case from.legacy:
		r.legacyPoints = true
		r.legacyGroup(g, s, &from.legacyGrading)
		g.IgnoreFirst = false // a setting of the root only
	case r.kind.scoring && g.Name != "sample":
		r.points(g, s)
	}
	return s.close(r.p)
}

// withoutEffect are the values of keys that give no points, by the key. Other tools write them into all packages.
var withoutEffect = map[string][]string{"accept_score": {"0", "1", "0.0", "1.0"}, "reject_score": {"0", "0.0"},
	"range": {"-inf +inf", "-inf inf", "0 1"}}

// findPoints adds findings for keys that give points in a problem without points.
func (r *dataReader) findPoints(s *settings) {
	for _, key := range slices.Concat(pointKeys, []string{"accept_score", "reject_score", "range"}) {
		n, given := s.keys[key]
		if given && !slices.Contains(withoutEffect[key], strings.ToLower(n.Value)) {
			r.p.find("%s: %s has no effect, because problem.yaml does not set type: scoring", s.file, key)
		}
		if slices.Contains(pointKeys, key) {
			s.ignore(key)
		}
	}
}

func (r *dataReader) points(g *api.Group, s *settings) {
	from, scoreKey, aggregationKey := s, "max_score", "score_aggregation"
	if s.has("scoring") {
		from, scoreKey, aggregationKey = s.mapping("scoring"), "score", "aggregation"
	}
	g.Verdict = api.ByScore
	aggregation := string(api.PassFail)
	if g.Name == "secret" {
		aggregation = string(api.Sum)
		g.MaxScore = new(100.0)
		if !from.has(scoreKey) {
			r.implied = g
		}
	}
	from.decode(aggregationKey, &aggregation)
	g.Aggregation = api.Aggregation(aggregation)
	if !slices.Contains([]api.Aggregation{api.PassFail, api.Sum, api.Min}, g.Aggregation) {
		from.fail(aggregationKey, "%q is unknown; use pass-fail, sum or min", aggregation)
		g.Aggregation = api.PassFail
	}
	g.Continue = g.Aggregation == api.Sum // others get no points after a failure, unless they have such groups
	if n, ok := from.keys[scoreKey]; ok && n.Value == "unbounded" {
		from.ignore(scoreKey)
		g.MaxScore = nil
	} else if ok && n.Tag == "!!null" {
		from.fail(scoreKey, "has no value; use a number >= 0, or unbounded")
	}
	var most float64
	if from.decode(scoreKey, &most) {
		if !(most >= 0 && most < maxLimit) {
			from.fail(scoreKey, "%v is out of range; use a number >= 0", most)
			most = 0
		}
		g.MaxScore = &most
	}
	g.RequirePass = from.list("require_pass")
	if from != s {
		if err := from.close(r.p); err != nil && s.err == nil {
			s.err = err
		}
	}
}
