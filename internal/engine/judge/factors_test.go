package judge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine/judge"
	"judged/internal/jobs/intake"
)

// TestFactorsOfATask checks that the limits of a job and of its tests are multiplied by the factors once, and that the
// report has the factors.
func TestFactorsOfATask(t *testing.T) {
	c := config.Default()
	operator := map[string]api.Factors{"c": {Time: 2, Memory: 0.5}}
	j, err := intake.Complete(c, api.Job{Program: api.File{Part: "x"}, Language: "c", Limits: api.Limits{CPUTimeMS: 1000},
		Tests: []api.Test{{Name: "1"}, {Name: "2", Limits: api.Limits{CPUTimeMS: 50000}}}})
	if err != nil {
		t.Fatal(err)
	}
	j = intake.Scale(c, operator, intake.Scale(c, operator, j))
	task, err := judge.NewTask(j, "", func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	limits := api.Limits{CPUTimeMS: 2000, WallTimeMS: 6000, Memory: 128 << 20, Output: 64 << 20, Stack: 128 << 20,
		Processes: 64}
	own := limits
	own.CPUTimeMS, own.WallTimeMS = 60000, 180000 // the maximum values
	type result struct {
		Job, First, Second api.Limits
		Use                *api.LanguageReport
	}
	want := result{limits, api.Limits{}, own, &api.LanguageReport{ID: "c", Time: 2, TimeFrom: api.FactorOfOperator,
		Memory: 0.5, MemoryFrom: api.FactorOfOperator, Limits: limits}}
	if diff := cmp.Diff(want, result{task.Limits, task.Tests[0].Limits, task.Tests[1].Limits, task.Use}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
