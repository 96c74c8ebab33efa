package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
)

// nothing is printed for an absent value.
const nothing = "-"

// Time formats a duration that may be absent.
func Time(d *time.Duration) string {
	if d == nil {
		return nothing
	}
	return units.Duration(*d)
}

// Bytes formats a size that may be absent.
func Bytes(b *units.Bytes) string {
	if b == nil {
		return nothing
	}
	return units.Round(*b)
}

// Runs formats the number of runs that count: "3", or "2 of 3" if some were set aside.
func Runs(runs []api.Run) string {
	kept := 0
	for _, r := range runs {
		if r.Kept {
			kept++
		}
	}
	switch {
	case len(runs) == 0:
		return nothing
	case kept < len(runs):
		return fmt.Sprintf("%d of %d", kept, len(runs))
	}
	return fmt.Sprint(kept)
}

// Kept explains why runs were set aside: "1 of 3 kept: 2 had other tasks on the
// CPU". It is empty if all runs count.
func Kept(runs []api.Run) string {
	kept, count := 0, map[api.Cause]int{}
	for _, r := range runs {
		if r.Kept {
			kept++
			continue
		}
		for _, c := range explaining(r.Disturbed) {
			count[c]++
		}
	}
	if kept == len(runs) {
		return ""
	}
	var reasons []string
	for _, e := range api.Catalogue() {
		if n := count[e.Cause]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, e.Short))
		}
	}
	text := fmt.Sprintf("%d of %d kept", kept, len(runs))
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text
}

// explaining selects the causes for which a run can have been set aside. If there are none, it returns all causes,
// because a daemon of another version may have other rules.
func explaining(causes []api.Cause) []api.Cause {
	some := slices.DeleteFunc(slices.Clone(causes), func(c api.Cause) bool {
		e, ok := api.Explain(c)
		return ok && !e.Explains()
	})
	if len(some) == 0 {
		return causes
	}
	return some
}

// Limit formats the CPU time limit of a test.
func Limit(t *api.Timing) string {
	if t == nil {
		return nothing
	}
	return units.Duration(t.Limit)
}

// Margin formats the distance between the deciding time and the limit, in percent of the limit. It is negative over the
// limit.
func Margin(t *api.Timing) string {
	if t == nil {
		return nothing
	}
	return Percent(t.MarginRatio)
}

// Percent formats a ratio.
func Percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }

// Spread formats the difference between the slowest and the fastest repeat of a test and, with six repeats or more, the
// confidence interval of their median.
func Spread(t *api.Timing) string {
	switch {
	case t == nil || t.N < 2:
		return nothing
	case t.SpreadRatio == nil:
		return units.Duration(t.Spread)
	}
	text := fmt.Sprintf("%s (%.1f %%)", units.Duration(t.Spread), *t.SpreadRatio*100)
	if t.Interval != nil {
		text += fmt.Sprintf(", median %s to %s", units.Duration(t.Interval[0]), units.Duration(t.Interval[1]))
	}
	return text
}

// Causes formats the number of runs in which each cause occurred.
func Causes(runs []api.Run) string {
	count := map[api.Cause]int{}
	for _, r := range runs {
		for _, c := range r.Disturbed {
			count[c]++
		}
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(count)) {
		text := string(c)
		if len(runs) > 1 {
			text = fmt.Sprintf("%s %dx", c, count[c])
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, ", "), nothing)
}

// Note returns the most useful remark about a test that did not pass.
func Note(x api.TestReport) string {
	switch {
	case x.Message != "":
		return x.Message
	case x.Checker != nil && x.Checker.Message != "":
		return x.Checker.Message
	case x.Checker != nil && x.Checker.FirstExit == api.ExitInteractor && x.Checker.Verdict.Failed():
		return "rejected by the interactor before its end" // its exit says nothing
	case x.Exit != nil && x.Exit.Signal != "":
		return x.Exit.Signal
	case x.Exit != nil && x.Exit.Code != nil && *x.Exit.Code != 0:
		return fmt.Sprintf("exit %d", *x.Exit.Code)
	case x.Timing != nil && x.Timing.Confidence != api.OneRun && x.Timing.Confidence != api.Stable:
		return "time is " + string(x.Timing.Confidence)
	}
	return ""
}
