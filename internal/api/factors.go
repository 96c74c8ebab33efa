package api

import (
	"cmp"
	"fmt"
	"math"

	"judged/internal/base/units"
)

// Factors multiply the limits of programs in a language: Time those of CPU and wall time, Memory that of memory. 0 leaves
// a factor open.
type Factors struct {
	Time   float64 `json:"time_ratio,omitempty" toml:"time_ratio"`
	Memory float64 `json:"memory_ratio,omitempty" toml:"memory_ratio"`
}

// The bounds of a factor.
const (
	MinFactor = 0.1
	MaxFactor = 100
)

// Or returns the factors, with those of other for open ones.
func (f Factors) Or(other Factors) Factors {
	return Factors{cmp.Or(f.Time, other.Time), cmp.Or(f.Memory, other.Memory)}
}

// Check returns what is wrong with each factor, by its key.
func (f Factors) Check() (wrong []FieldError) {
	for _, x := range []struct {
		key   string
		value float64
	}{{"time_ratio", f.Time}, {"memory_ratio", f.Memory}} {
		if x.value != 0 && !(MinFactor <= x.value && x.value <= MaxFactor) { // also not a number
			wrong = append(wrong, FieldError{x.key, fmt.Sprintf("%g is out of range; send %g to %d", x.value, MinFactor,
				MaxFactor)})
		}
	}
	return wrong
}

// FactorSource is where a factor comes from.
type FactorSource string

// The sources, the one that takes precedence first.
const (
	FactorOfJob      FactorSource = "job"
	FactorOfProblem  FactorSource = "problem"
	FactorOfOperator FactorSource = "operator" // languages.file of the host that accepted the job
	FactorDefault    FactorSource = "default"  // 1
)

// Scaling holds the factors for the limits of an accepted job, which are those of a program with the factors 1.
type Scaling struct {
	Factors
	TimeFrom   FactorSource `json:"time_from"`
	MemoryFrom FactorSource `json:"memory_from"`
	Most       Limits       `json:"most"` // bounds of the results: CPU time, wall time and memory
}

// NewScaling returns the scaling of a job in a language, for the factors of the operator.
func NewScaling(j Job, operator Factors, most Limits) *Scaling {
	s := Scaling{Factors: Factors{1, 1}, TimeFrom: FactorDefault, MemoryFrom: FactorDefault, Most: most}
	for _, x := range []struct {
		Factors
		from FactorSource
	}{{operator, FactorOfOperator}, {j.ProblemFactors, FactorOfProblem}, {j.Factors, FactorOfJob}} {
		if s.Factors = x.Or(s.Factors); x.Time != 0 {
			s.TimeFrom = x.from
		}
		if x.Memory != 0 {
			s.MemoryFrom = x.from
		}
	}
	return &s
}

// Limits returns the limits of a run, and what the bounds lowered. Nil changes nothing. A stack limit that equals the
// memory limit follows it.
func (s *Scaling) Limits(l Limits) (scaled Limits, findings []string) {
	if s == nil {
		return l, nil
	}
	times := func(name string, value int64, factor float64, most int64) int64 {
		n := int64(math.Round(float64(value) * factor))
		if most > 0 && n > most {
			findings = append(findings, fmt.Sprintf("limits.%s is %d with the factor %g; %d is used instead, the bound of "+
				"limits.max", name, n, factor, most))
			n = most
		}
		return max(n, min(value, 1))
	}
	scaled = l
	scaled.CPUTimeMS = times("cpu_time_ms", l.CPUTimeMS, s.Time, s.Most.CPUTimeMS)
	scaled.WallTimeMS = times("wall_time_ms", l.WallTimeMS, s.Time, s.Most.WallTimeMS)
	scaled.Memory = units.Bytes(times("memory_bytes", int64(l.Memory), s.Memory, int64(s.Most.Memory)))
	if l.Stack == l.Memory {
		scaled.Stack = scaled.Memory
	}
	return scaled, findings
}

// LanguageReport describes, in a report, the limits of a job in a language.
type LanguageReport struct {
	ID         string       `json:"id"`
	Time       float64      `json:"time_ratio"` // factors, and where they come from
	TimeFrom   FactorSource `json:"time_from"`
	Memory     float64      `json:"memory_ratio"`
	MemoryFrom FactorSource `json:"memory_from"`
	Limits     Limits       `json:"limits"` // of a run, after the factors were applied once
	Findings   []string     `json:"findings,omitempty"`
}

// LanguageReport returns the limits of a run of the job, and what a report says about them. It returns nil for a job that
// was accepted without a language, or by an earlier version.
func (j Job) LanguageReport() (Limits, *LanguageReport) {
	limits, findings := j.Scaling.Limits(j.Limits)
	if j.Scaling == nil {
		return limits, nil
	}
	s := *j.Scaling
	return limits, &LanguageReport{j.Language, s.Time, s.TimeFrom, s.Memory, s.MemoryFrom, limits, findings}
}
