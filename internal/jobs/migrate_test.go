package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// later is a schema with another version after the ones there are.
func later(steps ...string) []string { return append(slices.Clone(migrations), steps...) }

func testMigrations(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	s.finish(s.take().Lease, api.Accepted)
	before := s.get("a")
	next := later(
		`ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'none'; CREATE INDEX jobs_tenant ON jobs (tenant);`,
		`CREATE TABLE tenants (name TEXT PRIMARY KEY, weight {blob});`)

	// A step that fails leaves nothing of the steps before it.
	_, err := open(t.Context(), s.o, later(next[len(next)-2], `CREATE TABLE broken (`))
	if err == nil {
		t.Fatal("a broken step succeeded")
	}
	if version := s.version(); version != len(migrations) {
		t.Errorf("the schema has version %d after a step that failed", version)
	}

	// Processes that start together migrate once.
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			o, err := open(t.Context(), s.o, next)
			if err != nil {
				t.Error(err)
				return
			}
			rec, err := o.Get(s.ctx(), "a")
			if diff := cmp.Diff(before, rec); diff != "" || err != nil {
				t.Errorf("after the migration: %v\n%s", err, diff)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	var tenant string
	s.must(s.read.QueryRow(`SELECT tenant FROM jobs`).Scan(&tenant))
	if version := s.version(); version != len(next) || tenant != "none" {
		t.Errorf("version %d, tenant %q", version, tenant)
	}

	_, err = Open(t.Context(), s.o)
	newer, known := fmt.Sprint("version ", len(next)), fmt.Sprint("up to ", len(migrations))
	if err == nil || !strings.Contains(err.Error(), newer) || !strings.Contains(err.Error(), known) {
		t.Errorf("a newer schema: got %v, want an error that names %s and %s", err, newer, known)
	}
}

func (b *bench) version() (version int) {
	b.t.Helper()
	b.must(b.read.QueryRow(`SELECT MAX(version) FROM judged_schema`).Scan(&version))
	return version
}
