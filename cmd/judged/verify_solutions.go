package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/problem"
	"judged/internal/host/slots"
)

// solutions judges the submissions that the filter selects, with the given time limit, and then measures the times that
// bound the limit.
func (v *verifier) solutions(ctx context.Context, limit time.Duration,
	only func(problem.Submission) bool) ([]solution, error) {
	var selected []problem.Submission
	for _, s := range v.pkg.Submissions {
		if !s.Skip && only(s) {
			selected = append(selected, s)
		}
	}
	v.progress.begin(len(selected))
	defer v.progress.clear()
	judged := make([]solution, len(selected))
	err := v.each(len(selected), func(i int, slot slots.Slot) (err error) {
		if x, known := v.accepted[selected[i].Name]; known && x.CPUTime <= limit {
			judged[i] = x
			v.progress.judged(x)
			return nil
		}
		v.progress.submission(selected[i].Name, len(v.pkg.Tests))
		if judged[i], err = v.solution(ctx, slot, selected[i], limit); err == nil {
			v.progress.judged(judged[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return judged, v.measureSlowest(ctx, selected, judged, limit)
}

// solution judges one submission until its verdict is known. One that must be too slow is judged with the longer limit
// that the format requires: its times say what it does at the shorter limit as well.
func (v *verifier) solution(ctx context.Context, slot slots.Slot, s problem.Submission,
	limit time.Duration) (solution, error) {
	x := solution{Name: s.Name, Language: s.Language, expects: s.Expects(), lower: s.Lower, upper: s.Upper,
		own: map[string]time.Duration{}}
	for _, t := range v.pkg.Tests {
		if own := t.Limits.CPUTime(); own > 0 {
			x.own[t.Name] = own
		}
	}
	x.TimeRatio = v.pkg.Factors[s.Language].Or(v.factors[s.Language]).Time
	longest := limit
	if s.Upper {
		longest, x.unverified = v.longerLimit(s, x, limit)
	}
	run := func(stop api.Stop) (api.Report, error) {
		l, err := v.submission(s.Program, func(j *api.Job) { j.Limits.CPUTimeMS, j.Stop = longest.Milliseconds(), stop })
		if err != nil {
			return api.Report{}, err
		}
		return v.judge(ctx, v.on(slot), l, v.progress.test)
	}
	isSlow := false
	within := func(stop api.Stop) (api.Report, error) {
		report, err := run(stop)
		isSlow = anyTimeLimit(report)
		if err != nil || longest == limit {
			return report, err
		}
		if report, err = withLimit(v.pkg.Scheme, report, x.multiplied(limit), stop); err != nil {
			err = fmt.Errorf("judge %s with %s: %w", s.Name, units.Duration(limit), err)
		}
		return report, err
	}
	report, err := within(v.stop)
	if err == nil && s.NeedsMore(report) {
		report, err = within(api.StopNever)
	}
	switch missing := new(api.LanguageUnavailableError); {
	case errors.As(err, new(*problem.NotAllowedError)),
		errors.As(err, &missing) && missing.Language == s.Language:
		x.NotJudged = err.Error()
		return x, nil
	case notHere(err):
		x.Differences = []string{"not judged: " + err.Error()}
		return x, nil
	case err != nil:
		return x, err
	}
	x.record(report, limit)
	x.Differences = s.Difference(report)
	if report.Verdict == api.InternalError {
		x.Differences = append(x.Differences, "internal error: "+report.Message)
	}
	if longest > limit && !isSlow && len(x.Differences) == 0 {
		x.Differences = append(x.Differences, fmt.Sprintf("within %g times the time limit; the format requires more",
			v.pkg.TimeRule.Rejected))
	}
	return x, nil
}

// multiplied returns the time limit of the solution for one of the package.
func (x *solution) multiplied(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * cmp.Or(x.TimeRatio, 1))
}

// longerLimit is the time limit that a submission must exceed that must be too slow, or else why that is not judged.
func (v *verifier) longerLimit(s problem.Submission, x solution, limit time.Duration) (longest time.Duration,
	unverified string) {
	if v.pkg.Scheme.Grader != nil {
		return limit, fmt.Sprintf("%s was not judged with a longer time limit, because the problem has a grader", s.Name)
	}
	longest = max(limit, time.Duration(float64(limit)*v.pkg.TimeRule.Rejected))
	if longest > x.divided(v.c.Limits.Max.CPUTime) {
		return limit, fmt.Sprintf("%s was not judged with %g times the time limit, %s: limits.max.cpu_time is %s", s.Name,
			v.pkg.TimeRule.Rejected, units.Duration(longest), units.Duration(v.c.Limits.Max.CPUTime))
	}
	return longest, ""
}

// withLimit returns a report with a shorter time limit: a test that took longer is TLE, and tests that the rule then
// leaves out count as not run.
func withLimit(scheme api.Scheme, r api.Report, limit time.Duration, stop api.Stop) (api.Report, error) {
	over := func(t api.TestReport) bool {
		return t.CPUTime != nil && *t.CPUTime > limit && t.Verdict.JudgementType() != "TLE" &&
			t.Verdict != api.InternalError
	}
	if r.Verdict == api.InternalError || !slices.ContainsFunc(r.Tests, over) {
		return r, nil
	}
	r.Tests = slices.Clone(r.Tests)
	progress := scheme.NewProgress(stop)
	for i, t := range r.Tests {
		switch {
		case t.Verdict == api.Skipped:
			continue
		case !progress.Needs(t.Name):
			r.Tests[i] = api.TestReport{Name: t.Name, Verdict: api.Skipped, Agree: true}
			continue
		case over(t):
			r.Tests[i].Verdict, r.Tests[i].Score = api.TimeLimit, nil
		}
		progress.Record(r.Tests[i])
	}
	result, err := scheme.Result(r.Tests, stop, nil) // longerLimit leaves out schemes with a grader
	if err != nil {
		return r, err
	}
	r.Verdict, r.Groups = result.Verdict, result.Groups
	r.JudgementType = r.Verdict.JudgementType()
	if r.Score != nil {
		r.Score = result.Score
	}
	return r, nil
}

// nearSlowest is the part of the longest time in a language from which a submission is measured again: it may be the
// slowest one, and noise has changed the order.
const nearSlowest = 0.8

// doubt is how much longer than measured a submission may take on this host. It is far more than times vary.
const doubt = 2

// settled reports whether a submission bounds the time limit in the same way if it takes longer than measured.
func (v *verifier) settled(slowest, limit time.Duration) bool {
	rule := v.pkg.TimeRule
	switch {
	case v.repeatAlways:
		return false
	case v.pkg.Limits.Time > 0:
		return float64(doubt*slowest)*rule.Accepted <= float64(limit)
	}
	return rule.Limit(doubt*slowest) == rule.Limit(slowest)
}

// measureSlowest repeats the slowest test of the slowest accepted submissions of each language: their times bound the
// time limit, unless they are far from it. All other tests run as often as their verdicts need.
func (v *verifier) measureSlowest(ctx context.Context, submissions []problem.Submission, judged []solution,
	limit time.Duration) error {
	if v.repeats.Min < 2 {
		return nil
	}
	longest := map[string]float64{}
	for _, x := range judged {
		if x.judged && isLower(x) {
			longest[x.Language] = max(longest[x.Language], x.part(limit))
		}
	}
	var again []int
	for i, x := range judged {
		near := x.part(limit) >= nearSlowest*longest[x.Language]
		if x.judged && isLower(x) && near && x.runs() < v.repeats.Min && !v.settled(x.CPUTime, x.limit(limit)) {
			again = append(again, i)
		}
	}
	return v.each(len(again), func(n int, slot slots.Slot) error {
		i := again[n]
		l, err := v.submission(submissions[i].Program, func(j *api.Job) {
			j.Limits.CPUTimeMS, j.Repeats, j.Scheme = limit.Milliseconds(), v.repeats, nil
			j.Tests = slices.DeleteFunc(j.Tests, func(t api.Test) bool { return t.Name != judged[i].slowest })
		})
		if err != nil {
			return err
		}
		report, err := v.judge(ctx, v.on(slot), l, v.progress.test)
		if err == nil && report.Verdict != api.InternalError { // noise leaves the first time
			judged[i].measured(report)
		}
		return err
	})
}

// notHere reports whether the error means that judged, or this host, cannot run a program.
func notHere(err error) bool {
	return errors.As(err, new(*problem.ProgramError)) || errors.As(err, new(*api.LanguageUnavailableError))
}

func anyTimeLimit(r api.Report) bool {
	for _, t := range r.Tests {
		if t.Verdict.JudgementType() == "TLE" {
			return true
		}
	}
	return false
}
