package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"judged/internal/api"
)

// allocations returns how many objects and bytes the daemon has allocated so far.
func (i *instance) allocations() (objects, bytes float64) {
	i.t.Helper()
	families := i.scrape()
	return values(families["go_memstats_mallocs_total"])[""], values(families["go_memstats_alloc_bytes_total"])[""]
}

// TestAllocations limits what the daemon allocates for a job with one test, from PUT to report, and for each further
// test. Unlike times, these numbers hardly depend on the machine.
func TestAllocations(t *testing.T) {
	d := serving(t, settings(t))
	defer d.drain()
	const more = 20
	measure := func(tests int) (objects, bytes float64) {
		const jobs = 25
		j := d.sum(1, false)
		j.Tests = slices.Repeat(j.Tests, tests)
		for n := range j.Tests {
			j.Tests[n].Name = strconv.Itoa(n)
		}
		objects, bytes = d.allocations()
		for n := range jobs {
			r, err := d.Judge(d.ctx, fmt.Sprintf("job-%d-%d", tests, n), j)
			if err != nil || r.Verdict != api.Accepted {
				t.Fatalf("verdict %q: %v", r.Verdict, err)
			}
		}
		allObjects, allBytes := d.allocations()
		return (allObjects - objects) / jobs, (allBytes - bytes) / jobs
	}
	measure(2) // allocates what is created once
	objects, bytes := measure(1)
	objectsOfMore, bytesOfMore := measure(1 + more)
	for _, tt := range []struct {
		what      string
		got, most float64
	}{
		{"objects for a job with one test", objects, 3000},
		{"bytes for a job with one test", bytes, 300_000},
		{"objects for another test", (objectsOfMore - objects) / more, 800},
		{"bytes for another test", (bytesOfMore - bytes) / more, 120_000},
	} {
		t.Logf("%.0f %s", tt.got, tt.what)
		if tt.got > tt.most {
			t.Errorf("%.0f %s, want at most %.0f", tt.got, tt.what, tt.most)
		}
	}
}
