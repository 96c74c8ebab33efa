package front

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"judged/internal/api"
)

// leastTime is the shortest time that is compared. The overhead of a run, such as its start, varies by a few tenths of
// a millisecond.
const leastTime = 50 * time.Millisecond

// chosen reports whether the job with an ID is in a share of all jobs. The result is unpredictable without the salt.
func chosen(salt, id string, share float64) bool {
	sum := sha256.Sum256([]byte(salt + "\x00" + id))
	return float64(binary.BigEndian.Uint64(sum[:]))/math.Exp2(64) < share
}

// cleanTime returns the median CPU time of the undisturbed runs of a test. It returns false for a test that a limit
// ended, because its time only shows when it was ended.
func cleanTime(t api.TestReport) (time.Duration, bool) {
	switch t.Verdict {
	case api.Accepted, api.Partial, api.WrongAnswer, api.PresentationError:
	default:
		return 0, false
	}
	var times []time.Duration
	for _, r := range t.Runs {
		if r.Kept && len(r.Disturbed) == 0 {
			times = append(times, r.CPUTime)
		}
	}
	if len(times) == 0 {
		return 0, false
	}
	return median(times), true
}

// median returns the median of at least one time or ratio. It sorts all.
func median[T time.Duration | float64](all []T) T {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// comparable reports whether times in an audit of a report can be compared.
func comparable(r api.Report) bool {
	return r.Host != nil && r.Host.Node != "" && slices.ContainsFunc(r.Tests, func(t api.TestReport) bool {
		clean, ok := cleanTime(t)
		return ok && clean >= leastTime
	})
}

// logRatio returns the logarithm of the ratio by which a job took longer in its second report: the median over the
// tests. The mean of both times decides which tests count, so that the choice favours no host.
func logRatio(original, again api.Report) (float64, bool) {
	if len(original.Tests) != len(again.Tests) {
		return 0, false
	}
	var ratios []float64
	for i, t := range original.Tests {
		a, okA := cleanTime(t)
		b, okB := cleanTime(again.Tests[i])
		// A time of 0 means a broken counter.
		if okA && okB && a > 0 && b > 0 && t.Verdict == again.Tests[i].Verdict && (a+b)/2 >= leastTime {
			ratios = append(ratios, math.Log(float64(b)/float64(a)))
		}
	}
	if len(ratios) == 0 {
		return 0, false
	}
	return median(ratios), true
}
