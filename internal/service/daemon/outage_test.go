package daemon

import (
	"net/http"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestDatabaseAway stops the database server under a daemon that judges. It checks that the daemon reports this
// everywhere, and that once the server is back, running and waiting jobs are judged once, without a restart.
func TestDatabaseAway(t *testing.T) {
	t.Parallel() // measures nothing
	server := testkit.StartPostgres(t, "fsync=off")
	c := settings(t)
	c.Database.URL = server.Database(t)
	d := serving(t, c)
	d.wantState(1, http.StatusOK, "")
	d.submit("runs", d.busy(5000))
	waiting := d.sum(1, false)
	d.submit("waits", waiting)
	d.reach("runs", api.Running)

	server.Kill(t)
	testkit.WaitFor(t, patience, "the daemon to notice that no connection is possible", func() bool {
		err := d.Ready(d.ctx) // an open connection may fail first, with another reason
		return err != nil && strings.Contains(err.Error(), "check that PostgreSQL at")
	})
	d.wantState(0, http.StatusServiceUnavailable, "check that PostgreSQL at")
	refused(t, "PUT /v1/jobs", put(d, "/v1/jobs/late", d.encode(waiting)))
	refused(t, "GET /v1/jobs/runs", problemOf(d.ask("GET", "/v1/jobs/runs", nil)))
	refused(t, "DELETE /v1/jobs/waits", problemOf(d.ask("DELETE", "/v1/jobs/waits", nil)))
	testkit.WaitFor(t, patience, "the report to be kept", func() bool {
		return strings.Contains(d.said(), "cannot store a report; retrying") &&
			strings.Contains(d.said(), "cannot take jobs; retrying")
	})
	failed := values(d.scrape()["judged_store_errors_total"])
	for _, operation := range []string{"set", "read", "cancel", "take", "finish"} {
		if failed["operation="+operation] == 0 {
			t.Errorf("no failed %s is counted: %v", operation, failed)
		}
	}

	server.Restart(t)
	testkit.WaitFor(t, patience, "the daemon to be ready again", func() bool { return d.Ready(d.ctx) == nil })
	d.submit("late", waiting)
	for _, id := range []string{"runs", "waits", "late"} {
		d.accepted(id)
	}
	d.drain()
}
