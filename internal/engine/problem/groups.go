package problem

import (
	"slices"

	"judged/internal/api"
)

// groupFile has the settings of a group, but in legacy packages.
const groupFile = "test_group.yaml"

// kattisGroup reads test_group.yaml.
func (r *dataReader) kattisGroup(g *api.Group, from *inherited) error {
	s, err := r.t.settings("data/" + g.Name + "/" + groupFile)
	if err != nil {
		return err
	}
	r.testSettings(s, from)
	for _, key := range []string{"static_validation_score", "static_validation", "static_validator_args"} {
		if _, ok := s.keys[key]; ok {
			r.p.unsupported("%s", key)
			s.drop(key)
		}
	}
	if r.kind.scoring && g.Name != "sample" {
		r.points(g, s)
	}
	return s.close(r.p)
}

func (r *dataReader) points(g *api.Group, s *settings) {
	from, scoreKey, aggregationKey := s, "max_score", "score_aggregation"
	if r.p.Format == Draft23 {
		from, scoreKey, aggregationKey = s.mapping("scoring"), "score", "aggregation"
	}
	g.Verdict = api.ByScore
	aggregation := string(api.PassFail)
	if g.Name == "secret" {
		aggregation = string(api.Sum)
		most := 100.0
		g.MaxScore = &most
	}
	from.take(aggregationKey, &aggregation)
	g.Aggregation = api.Aggregation(aggregation)
	if !slices.Contains([]api.Aggregation{api.PassFail, api.Sum, api.Min}, g.Aggregation) {
		from.fail(aggregationKey, "%q is unknown; use pass-fail, sum or min", aggregation)
	}
	g.Continue = g.Aggregation == api.Sum // no other group can get points after a failure
	if n, ok := from.keys[scoreKey]; ok && n.Value == "unbounded" {
		from.drop(scoreKey)
		g.MaxScore = nil
	}
	var most float64
	if from.take(scoreKey, &most) {
		if !(most >= 0 && most < maxLimit) {
			from.fail(scoreKey, "%v is out of range; use a number of at least 0", most)
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
