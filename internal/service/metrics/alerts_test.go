package metrics

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestEveryAlertHasScenarios checks that promtool sees every alert fire, and sees it not fire where there are series of
// its metrics: at another time, or for more of them than those that it fires for.
func TestEveryAlertHasScenarios(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Record, Expr string }
		}
	}
	var scenarios struct {
		Tests []struct {
			Input []struct{ Series string } `yaml:"input_series"`
			Evals []struct {
				Samples []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	for path, into := range map[string]any{rulesFile: &rules, rulesTestFile: &scenarios} {
		if err := yaml.Unmarshal([]byte(readDeploy(t, path)), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	metric := regexp.MustCompile(`\b(?:judged_\w+|up)\b`)
	name := regexp.MustCompile(`alertname="(\w+)"`)
	// What an alert asks for that others do not: the first metric of its expression, or of the recorded one in its place.
	asks, recorded := map[string]string{}, map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				recorded[r.Record] = r.Expr
				continue
			}
			for record, expr := range recorded {
				if regexp.MustCompile(regexp.QuoteMeta(record)).MatchString(r.Expr) {
					r.Expr = expr
				}
			}
			asks[r.Alert] = metric.FindString(r.Expr)
		}
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, s := range scenarios.Tests {
		series := map[string]int{}
		for _, i := range s.Input {
			series[metric.FindString(i.Series)]++
		}
		for _, e := range s.Evals {
			firing := map[string]int{}
			for _, sample := range e.Samples {
				if found := name.FindStringSubmatch(sample.Labels); found != nil {
					firing[found[1]]++
				}
			}
			for alert, of := range asks {
				fires[alert] = fires[alert] || firing[alert] > 0
				silent[alert] = silent[alert] || series[of] > firing[alert]
			}
		}
	}
	var want, got []string
	for _, alert := range slices.Sorted(maps.Keys(asks)) {
		want = append(want, alert+" fires: true, and not: true")
		is := func(b bool) string { return map[bool]string{true: "true", false: "false"}[b] }
		got = append(got, alert+" fires: "+is(fires[alert])+", and not: "+is(silent[alert]))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 30 {
		t.Errorf("%d alerts; scenarios -want +got\n%s", len(want), diff)
	}
}
