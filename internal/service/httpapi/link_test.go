package httpapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"judged/internal/api"
	"judged/internal/jobs"
)

// awayJobs is a store whose database is away.
type awayJobs struct{ Jobs }

func (awayJobs) Get(context.Context, string) (jobs.Record, error) {
	return jobs.Record{}, errors.Join(errors.New("connection refused"), api.ErrUnavailable)
}

// TestLinkWithoutDatabase checks that a link is not called invalid because its job cannot be read.
func TestLinkWithoutDatabase(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Jobs = awayJobs{o.Jobs} })
	r := httptest.NewRequest("GET", "/link/a?until=1&signature=x", nil)
	r.SetPathValue("id", "a")
	_, err := (&Desk{f.Server}).Linked(t.Context(), r)
	if p := problemOf(err); p.Status != 503 {
		t.Errorf("%d %s", p.Status, p.Detail)
	}
}
