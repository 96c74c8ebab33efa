package httpapi

import (
	"fmt"
	"testing"

	"judged/internal/api"
)

// TestLeases checks that the cache is limited by the number of jobs and of their tests, and counts each job once.
func TestLeases(t *testing.T) {
	for _, tests := range []int{0, 1, 1000, maxLeasedTests} {
		c := &leases{all: map[api.Lease]leasedJob{}}
		j := leasedJob{job: api.Job{Tests: make([]api.Test, tests)}}
		most := 0
		for n := range 2 * maxLeases {
			l := api.Lease{ID: fmt.Sprint(n), Attempt: 1}
			c.note(l, j)
			c.note(l, j) // as after a lost response
			if _, found := c.find(l); !found {
				t.Fatalf("job %d with %d tests is not there", n, tests)
			}
			most = max(most, len(c.all))
		}
		if want := min(maxLeases, maxLeasedTests/max(tests, 1)); most != want || c.tests != tests*len(c.all) {
			t.Errorf("%d jobs with %d tests, want %d; counted %d tests", most, tests, want, c.tests)
		}
		for l := range c.all {
			c.forget(l)
			c.forget(l)
		}
		if len(c.all) != 0 || c.tests != 0 {
			t.Errorf("%d jobs and %d tests are left", len(c.all), c.tests)
		}
	}
}
