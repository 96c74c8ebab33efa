package api

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScaling checks that each factor comes from the source that takes precedence among those that set it.
func TestScaling(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		job, problem, operator Factors
		want                   Scaling
	}{
		{"none", Factors{}, Factors{}, Factors{}, Scaling{Factors{1, 1}, FactorDefault, FactorDefault, Limits{}}},
		{"operator", Factors{}, Factors{}, Factors{Time: 2, Memory: 3},
			Scaling{Factors{2, 3}, FactorOfOperator, FactorOfOperator, Limits{}}},
		{"problem before operator", Factors{}, Factors{Time: 4}, Factors{Time: 2, Memory: 3},
			Scaling{Factors{4, 3}, FactorOfProblem, FactorOfOperator, Limits{}}},
		{"job before problem", Factors{Memory: 1}, Factors{Time: 4, Memory: 5}, Factors{Time: 2, Memory: 3},
			Scaling{Factors{4, 1}, FactorOfProblem, FactorOfJob, Limits{}}},
	} {
		got := NewScaling(Job{Factors: tt.job, ProblemFactors: tt.problem}, tt.operator, Limits{})
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestScaledLimits checks what factors do to limits, and that bounds lower the results with a finding.
func TestScaledLimits(t *testing.T) {
	give := Limits{CPUTimeMS: 1000, WallTimeMS: 3000, Memory: 1000, Output: 5, Stack: 1000, Processes: 7}
	most := Limits{CPUTimeMS: 4000, WallTimeMS: 10000, Memory: 1500}
	for _, tt := range []struct {
		name     string
		scaling  *Scaling
		change   func(*Limits)
		want     Limits
		findings []string
	}{
		{"nil", nil, nil, give, nil},
		{"both", &Scaling{Factors: Factors{1.5, 1.5}, Most: most}, nil,
			Limits{CPUTimeMS: 1500, WallTimeMS: 4500, Memory: 1500, Output: 5, Stack: 1500, Processes: 7}, nil},
		{"own stack", &Scaling{Factors: Factors{1, 1.5}, Most: most}, func(l *Limits) { l.Stack = 10 },
			Limits{CPUTimeMS: 1000, WallTimeMS: 3000, Memory: 1500, Output: 5, Stack: 10, Processes: 7}, nil},
		{"smaller", &Scaling{Factors: Factors{0.1, 0.5}, Most: most}, func(l *Limits) { l.CPUTimeMS = 1 },
			Limits{CPUTimeMS: 1, WallTimeMS: 300, Memory: 500, Output: 5, Stack: 500, Processes: 7}, nil},
		{"bounded", &Scaling{Factors: Factors{5, 2}, Most: most}, nil,
			Limits{CPUTimeMS: 4000, WallTimeMS: 10000, Memory: 1500, Output: 5, Stack: 1500, Processes: 7}, []string{
				"limits.cpu_time_ms is 5000 with the factor 5; 4000 is used instead, the bound of limits.max",
				"limits.wall_time_ms is 15000 with the factor 5; 10000 is used instead, the bound of limits.max",
				"limits.memory_bytes is 2000 with the factor 2; 1500 is used instead, the bound of limits.max",
			}},
		{"of a test without limits", &Scaling{Factors: Factors{5, 2}, Most: most}, func(l *Limits) { *l = Limits{} },
			Limits{}, nil},
	} {
		l := give
		if tt.change != nil {
			tt.change(&l)
		}
		got, findings := tt.scaling.Limits(l)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.findings, findings); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestFactorsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		give Factors
		want []string
	}{
		{Factors{}, nil},
		{Factors{MinFactor, MaxFactor}, nil},
		{Factors{0.09, 101}, []string{"time_ratio", "memory_ratio"}},
		{Factors{-1, math.NaN()}, []string{"time_ratio", "memory_ratio"}},
		{Factors{math.Inf(1), 1}, []string{"time_ratio"}},
	} {
		var got []string
		for _, wrong := range tt.give.Check() {
			got = append(got, wrong.Field)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.give, diff)
		}
	}
}
