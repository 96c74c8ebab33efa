package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/problem"
	"judged/internal/service/render"
)

// solution is the result of a jury submission.
type solution struct {
	Name     string      `json:"name"`
	Language string      `json:"language,omitempty"`
	Verdict  api.Verdict `json:"verdict,omitempty"`
	Score    *float64    `json:"score,omitempty"`
	// TimeRatio is the factor of the language, if it has one: all times are divided by it, so that they compare with the
	// time limit of the package.
	TimeRatio   float64       `json:"time_ratio,omitempty"`
	CPUTime     time.Duration `json:"cpu_time_ns"`        // of the slowest test
	Spread      time.Duration `json:"spread_ns,omitzero"` // between the runs of that test, if it ran more than once
	Low         time.Duration `json:"cpu_time_min_ns"`    // of that test
	High        time.Duration `json:"cpu_time_max_ns"`
	Differences []string      `json:"differences,omitempty"` // from what the package expects
	NotJudged   string        `json:"not_judged,omitempty"`  // the reason, if that is not a difference
	// Groups and Tests are the verdicts of the parts, with the time limit of the package.
	Groups []api.GroupReport `json:"groups,omitempty"`
	Tests  []testVerdict     `json:"tests,omitempty"`

	expects      bool // some verdict would be a difference
	lower, upper bool
	judged       bool                     // otherwise it was not run
	slowest      string                   // name of its slowest test: that with the largest part of its limit
	own          map[string]time.Duration // time limits of the tests that have their own
	unverified   string                   // what could not be verified, or ""
}

// limit returns the time limit of the slowest test, where the package has the given one.
func (x *solution) limit(ofPackage time.Duration) time.Duration {
	return cmp.Or(x.own[x.slowest], ofPackage)
}

// part returns the part of its limit that the slowest test took, where the package has the given one.
func (x *solution) part(limit time.Duration) float64 {
	return float64(x.CPUTime) / float64(x.limit(limit))
}

// testVerdict is the verdict of one test.
type testVerdict struct {
	Name    string          `json:"name"`
	Verdict api.Verdict     `json:"verdict"`
	Runs    []time.Duration `json:"runs_cpu_time_ns,omitempty"` // those that count
}

// record takes the verdict and the times of a report that was judged with a limit.
func (x *solution) record(r api.Report, limit time.Duration) {
	x.Verdict, x.Score, x.Groups, x.judged = r.Verdict, r.Score, r.Groups, true
	for _, t := range r.Tests {
		x.Tests = append(x.Tests, testVerdict{t.Name, t.Verdict, x.keptTimes(t)})
		if t.CPUTime == nil {
			continue
		}
		part := float64(x.divided(*t.CPUTime)) / float64(cmp.Or(x.own[t.Name], limit))
		if x.slowest == "" || part >= x.part(limit) {
			x.slowest = t.Name
			x.setTime(t)
		}
	}
}

// measured takes the times of the slowest test from a report of that test alone.
func (x *solution) measured(r api.Report) {
	for _, t := range r.Tests {
		i := slices.IndexFunc(x.Tests, func(v testVerdict) bool { return v.Name == t.Name })
		if t.CPUTime == nil || i < 0 {
			continue
		}
		x.Tests[i].Runs = x.keptTimes(t)
		x.setTime(t)
	}
}

// runs is the number of runs of the slowest test.
func (x *solution) runs() int {
	for _, t := range x.Tests {
		if t.Name == x.slowest {
			return len(t.Runs)
		}
	}
	return 0
}

// setTime sets the times to those of the slowest test.
func (x *solution) setTime(t api.TestReport) {
	x.CPUTime = x.divided(*t.CPUTime)
	x.Spread, x.Low, x.High = 0, x.CPUTime, x.CPUTime
	if t.Timing != nil {
		x.Spread, x.Low, x.High = x.divided(t.Timing.Spread), x.divided(t.Timing.Min), x.divided(t.Timing.Max)
	}
}

// divided returns a time as it compares with the time limit of the package.
func (x *solution) divided(t time.Duration) time.Duration {
	if x.TimeRatio == 0 {
		return t
	}
	return time.Duration(float64(t) / x.TimeRatio)
}

func (x *solution) keptTimes(t api.TestReport) (times []time.Duration) {
	for _, r := range t.AllRuns() {
		if r.Kept {
			times = append(times, x.divided(r.CPUTime))
		}
	}
	return times
}

// verification is the output of judged verify --json.
type verification struct {
	Package     string            `json:"package"`
	Format      api.ProblemFormat `json:"format"`
	Version     string            `json:"version"`
	TimeLimit   time.Duration     `json:"time_limit_ns"`
	Inferred    bool              `json:"time_limit_inferred"` // from the submissions; the package has none
	Submissions []solution        `json:"submissions"`
	Judged      int               `json:"judged"`     // submissions
	NotJudged   int               `json:"not_judged"` // including files next to them that are not programs
	Validators  []string          `json:"validator_differences,omitempty"`
	Findings    []string          `json:"findings,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`
	// Reused is the number of results from an earlier verification of the same programs and tests.
	Reused int  `json:"results_reused"`
	OK     bool `json:"ok"`

	rule   problem.TimeRule
	strict bool // findings are failures
}

func (v *verifier) verify(ctx context.Context) (verification, error) {
	r := verification{Package: v.pkg.Name, Format: v.pkg.Format, Version: v.pkg.Version,
		TimeLimit: v.pkg.Limits.Time, rule: v.pkg.TimeRule, strict: v.strict}
	r.Findings = v.findings()
	if r.TimeLimit == 0 {
		r.Inferred = true
		proposal, err := v.propose(ctx)
		if err != nil {
			return r, err
		}
		r.TimeLimit = proposal.TimeLimit
	}
	ahead, stop := context.WithCancel(ctx)
	var compiling sync.WaitGroup
	compiling.Go(func() { v.compileAhead(ahead) })
	defer compiling.Wait()
	defer stop()
	group, unlessJuryFails := errgroup.WithContext(ctx)
	group.Go(func() (err error) { // to its end, so that an error of a submission does not hide what differs
		r.Validators, err = v.juryDifferences(ctx)
		return err
	})
	group.Go(func() (err error) {
		r.Submissions, err = v.solutions(unlessJuryFails, r.TimeLimit, func(problem.Submission) bool { return true })
		return err
	})
	if err := group.Wait(); err != nil {
		return r, err
	}
	r.Reused = v.results.count()
	r.count(len(v.pkg.Submissions) + v.pkg.NotPrograms)
	r.Warnings = r.timing()
	r.OK = r.isOK()
	return r, nil
}

// findings are those of the package that are no differences.
func (v *verifier) findings() []string {
	all := slices.DeleteFunc(slices.Clone(v.pkg.Findings), func(f string) bool {
		return slices.Contains(v.pkg.Unchecked, f)
	})
	required := slices.Contains([]api.ProblemFormat{problem.Legacy, problem.Draft23, problem.Kattis}, v.pkg.Format)
	if required && len(v.pkg.Validators) == 0 {
		all = append(all, "no input validator has read the inputs; add one to input_validators")
	}
	return all
}

// count counts what was judged of all that are next to submissions. What was not is a finding.
func (r *verification) count(all int) {
	for _, s := range r.Submissions {
		if s.judged {
			r.Judged++
		}
		if s.NotJudged != "" {
			r.Findings = append(r.Findings, fmt.Sprintf("%s is not judged: %s", s.Name, s.NotJudged))
		}
	}
	r.NotJudged = all - r.Judged
}

// isOK reports whether all is as expected, and whether findings are allowed if there are any.
func (r *verification) isOK() bool { return r.isAsExpected() && (!r.strict || len(r.Findings) == 0) }

// isAsExpected reports whether something was verified, and nothing differs.
func (r *verification) isAsExpected() bool {
	accepted, expected := false, false
	for _, s := range r.Submissions {
		if len(s.Differences) > 0 {
			return false
		}
		accepted = accepted || s.judged && (s.Verdict == api.Accepted || s.Verdict == api.Partial)
		expected = expected || s.judged && s.expects
	}
	switch {
	case !accepted:
		r.Validators = append(r.Validators, "no submission is accepted, so it is unknown whether the tests and the checker "+
			"are correct; add one to submissions/accepted")
	case !expected:
		r.Validators = append(r.Validators, "no submission that was judged has an expected result, so no verdict was "+
			"checked; add one to submissions/accepted, or sol/solution in a task of CMS")
	}
	return len(r.Validators) == 0
}

// timing warns where the time limit does not have the margins of the format, or has them only because of noise.
func (r *verification) timing() []string {
	var warnings []string
	for _, s := range r.Submissions {
		limit := s.limit(r.TimeLimit)
		room := time.Duration(float64(limit) / r.rule.Accepted)
		if s.unverified != "" {
			warnings = append(warnings, s.unverified)
		}
		switch {
		case !s.lower || !s.judged || s.Verdict.JudgementType() == "TLE":
		case s.CPUTime > room:
			warnings = append(warnings,
				fmt.Sprintf("%s needs %s; the format allows at most %s, the limit divided by %g", s.Name,
					units.Duration(s.CPUTime), units.Duration(room), r.rule.Accepted))
		case s.CPUTime+s.Spread > room:
			warnings = append(warnings,
				fmt.Sprintf("%s is within the margin of the format by less than the spread of its runs "+
					"here, %s", s.Name, units.Duration(s.Spread)))
		}
	}
	return warnings
}

// slowest is the submission that the filter names with the largest part of its limit for each language, and of all; nil
// if no submission is.
func slowest(all []solution, limit time.Duration, of func(solution) bool) (byLanguage []solution, worst *solution) {
	best := map[string]solution{}
	for _, s := range all {
		if !of(s) || !s.judged {
			continue
		}
		if b, ok := best[s.Language]; !ok || s.part(limit) > b.part(limit) {
			best[s.Language] = s
		}
		if worst == nil || s.part(limit) > worst.part(limit) {
			worst = &s
		}
	}
	for _, s := range best {
		byLanguage = append(byLanguage, s)
	}
	slices.SortFunc(byLanguage, func(a, b solution) int { return strings.Compare(a.Language, b.Language) })
	return byLanguage, worst
}

func fastest(all []solution, limit time.Duration, of func(solution) bool) *solution {
	var best *solution
	for _, s := range all {
		if of(s) && s.judged && (best == nil || s.part(limit) < best.part(limit)) {
			best = &s
		}
	}
	return best
}

func isLower(s solution) bool { return s.lower && s.Verdict == api.Accepted }

// isUpper leaves out what was idle or stopped by the wall clock: its CPU time says nothing about the limit.
func isUpper(s solution) bool {
	return s.upper && s.Verdict != api.IdlenessLimit && s.Verdict != api.WallTimeLimit
}

func (r *verification) print(w io.Writer) error {
	var b strings.Builder
	t := text.Table{Columns: []text.Column{{Head: "SUBMISSION"}, {Head: "LANGUAGE", Rank: 4}, {Head: "VERDICT"},
		{Head: "SCORE", Rank: 2}, {Head: "CPU TIME"}, {Head: "OF LIMIT", Rank: 1}, {Head: "SPREAD", Rank: 3}}}
	for _, s := range r.Submissions {
		if s.NotJudged != "" {
			continue // a finding
		}
		spread := "-"
		if s.runs() > 1 {
			spread = units.Duration(s.Spread)
		}
		t.Rows = append(t.Rows, text.Row{Notes: s.Differences, Cells: []string{s.Name, s.Language, string(s.Verdict),
			render.Score(s.Score), units.Duration(s.CPUTime), fmt.Sprintf("%.2f", s.part(r.TimeLimit)), spread}})
	}
	fmt.Fprintf(&b, "%s\ntime limit %s", t.Format(text.ScreenOf(w)), units.Duration(r.TimeLimit))
	if r.Inferred {
		b.WriteString(", from the times of the submissions: the package has none")
	}
	b.WriteByte('\n')
	languages, _ := slowest(r.Submissions, r.TimeLimit, isLower)
	for _, s := range languages {
		in := "without a language" // a script that is executed as it is
		if s.Language != "" {
			in = "in " + s.Language
		}
		fmt.Fprintf(&b, "slowest accepted %s: %s, the limit is %.2f times that, required %g\n", in,
			units.Duration(s.CPUTime), 1/s.part(r.TimeLimit), r.rule.Accepted)
	}
	if s := fastest(r.Submissions, r.TimeLimit, isUpper); s != nil {
		fmt.Fprintf(&b, "fastest that must be too slow: at least %s, %.2f times the limit, required %g\n",
			units.Duration(s.CPUTime), s.part(r.TimeLimit), r.rule.Rejected)
	}
	for _, lines := range [][]string{r.Validators, r.Findings, r.Warnings} {
		for _, line := range lines {
			fmt.Fprintln(&b, render.Printable(line))
		}
	}
	if r.Reused > 0 {
		fmt.Fprintf(&b, "%d results are from an earlier verification of the same programs and tests; --fresh judges again\n",
			r.Reused)
	}
	fmt.Fprintf(&b, "submissions: %d judged, %d not judged\n%s\n", r.Judged, r.NotJudged, r.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *verification) summary() string {
	switch {
	case r.OK:
		return "all is as expected"
	case r.isAsExpected():
		return "there are findings, which --strict does not allow"
	}
	return "differs from what the package expects"
}
