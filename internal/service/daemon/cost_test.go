package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"judged/internal/base/job"
)

// allocations is how many objects the daemon has allocated so far.
func (i *instance) allocations() float64 {
	i.t.Helper()
	return values(i.scrape()["go_memstats_mallocs_total"])[""]
}

// TestAllocations bounds what the daemon allocates for a job with one test, from
// PUT to report, and for each further test. Unlike times the numbers hardly depend
// on the machine.
func TestAllocations(t *testing.T) {
	d := serving(t, settings(t))
	defer d.drain()
	const more, mostForJob, mostForTest = 20, 3000, 800
	measure := func(tests int) float64 {
		const jobs = 25
		j := d.sum(1, false)
		j.Tests = slices.Repeat(j.Tests, tests)
		for n := range j.Tests {
			j.Tests[n].Name = strconv.Itoa(n)
		}
		before := d.allocations()
		scraping := d.allocations() - before
		for n := range jobs {
			r, err := d.Judge(d.ctx, fmt.Sprintf("job-%d-%d", tests, n), j)
			if err != nil || r.Verdict != job.Accepted {
				t.Fatalf("verdict %q: %v", r.Verdict, err)
			}
		}
		return (d.allocations() - before - 2*scraping) / jobs
	}
	measure(2) // what is made once
	one := measure(1)
	further := (measure(1+more) - one) / more
	t.Logf("%.0f allocations for a job with one test, %.0f for each further test", one, further)
	if one > mostForJob {
		t.Errorf("%.0f allocations for a job with one test, want at most %d", one, mostForJob)
	}
	if further > mostForTest {
		t.Errorf("%.0f allocations for a further test, want at most %d", further, mostForTest)
	}
}
