package jobs

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// operation is a call of the store.
type operation struct {
	name string
	do   func(*bench) error
}

// changes returns all calls that write, in an order in which each has something to change.
func changes(returned, finished api.Lease) []operation {
	return []operation{
		{"put", func(s *bench) error {
			_, _, err := s.Put(s.ctx(), Submission{ID: "new", Job: sampleJob()})
			return err
		}},
		{"put without labels", func(s *bench) error {
			_, _, err := s.Put(s.ctx(), Submission{ID: "plain",
				Job: api.Job{Program: *file(1), Priority: api.Practice}})
			return err
		}},
		{"take", func(s *bench) error { _, err := s.Take(s.ctx(), api.Want{}); return err }},
		{"extend", func(s *bench) error { _, err := s.Extend(s.ctx(), returned); return err }},
		{"return", func(s *bench) error { return s.Return(s.ctx(), returned, api.Returned{Uncounted: true}) }},
		{"finish", func(s *bench) error { return s.Finish(s.ctx(), finished, sampleReport(api.Accepted)) }},
		{"cancel", func(s *bench) error { _, err := s.Cancel(s.ctx(), "cancelled"); return err }},
		{"set value", func(s *bench) error { return s.SetValue(s.ctx(), 2, "value") }},
		{"sweep", func(s *bench) error { _, err := s.Sweep(s.ctx()); return err }},
		{"reclaim", func(s *bench) error { _, err := s.Reclaim(s.ctx(), "host"); return err }},
		{"adopt", func(s *bench) error { _, err := s.Adopt(s.ctx(), "default", nil); return err }},
	}
}

// reads returns all calls that do not write.
func reads() []operation {
	return []operation{
		{"get", func(s *bench) error { _, err := s.Get(s.ctx(), "old"); return err }},
		{"list", func(s *bench) error { _, _, err := s.List(s.ctx(), Filter{}); return err }},
		{"list by label", func(s *bench) error {
			_, _, err := s.List(s.ctx(), Filter{Label: sampleJob().Labels})
			return err
		}},
		{"depth", func(s *bench) error { _, err := s.Depth(s.ctx()); return err }},
		{"held", func(s *bench) error { _, err := s.Held(s.ctx(), "host"); return err }},
		{"wait", func(s *bench) error { _, err := s.Wait(s.ctx(), "old"); return err }},
		{"value", func(s *bench) error { var n int; _, err := s.Value(s.ctx(), &n, "value"); return err }},
		{"blobs", func(s *bench) error { _, err := s.Blobs(s.ctx()); return err }},
		{"events", func(s *bench) error {
			for _, err := range s.Events(s.ctx(), "old", 0) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// testOutage makes the database fail in one way and recover without being opened again. It checks that every change
// meanwhile fails with ErrUnavailable and changes nothing, that reads work if they can, and that everything works
// afterwards.
func testOutage(t *testing.T, b backend, readable bool, fail func(s *bench) (works func())) {
	var mu sync.Mutex // guards counted
	counted := 0
	s := b.open(t, func(o *Options) {
		o.Lease, o.MaxJobs = time.Hour, 1
		o.OnUnavailable = func(operation string) {
			mu.Lock()
			defer mu.Unlock()
			counted++
			if !slices.Contains(Operations(), operation) {
				t.Errorf("operation %q is not among Operations", operation)
			}
		}
	})
	for _, id := range []string{"older", "old"} { // one more than MaxJobs
		s.put(id, nil)
		s.finish(s.take().Lease, api.Accepted)
	}
	s.put("returned", nil)
	s.put("finished", nil)
	returned, finished := s.take().Lease, s.take().Lease
	s.put("cancelled", nil)
	s.put("waiting", nil)
	s.put("elsewhere", func(j *api.Job) { j.Pool = "other" })
	s.must(s.SetValue(s.ctx(), 1, "value"))
	before := dump(s)

	works := fail(s)
	for _, c := range changes(returned, finished) {
		if err := c.do(s); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("%s: got error %v, want %v", c.name, err, api.ErrUnavailable)
		}
	}
	for _, r := range reads() {
		if err := r.do(s); readable && err != nil || !readable && !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("%s: got error %v", r.name, err)
		}
	}
	s.want(s.Check(), api.ErrUnavailable)
	s.must(s.Emit(finished, 1, api.TestReport{Name: "1"})) // the report repeats it
	mu.Lock()
	if want := len(changes(returned, finished)); counted < want {
		t.Errorf("%d failures were reported, want at least %d", counted, want)
	}
	mu.Unlock()

	works()
	testkit.WaitFor(t, time.Minute, "the check to pass", func() bool { return s.Check() == nil })
	after := dump(s)
	for i := range after { // the event may have been stored by now
		if after[i].Report.State == api.Running {
			after[i].Report.Tests = nil
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("refused changes changed jobs (-before +after):\n%s", diff)
	}
	for _, o := range append(reads(), changes(returned, finished)...) {
		if err := o.do(s); err != nil {
			t.Errorf("%s after the outage: %v", o.name, err)
		}
	}
}

// TestFailingWrites checks a file system that fails every write under an open database, like one that the kernel has
// made read-only.
func TestFailingWrites(t *testing.T) {
	testOutage(t, sqliteBackend(), true, func(s *bench) func() { return failWrites(s.t) })
}

func testServerAway(t *testing.T, server *testkit.PostgresServer) {
	testOutage(t, postgresBackend(server), false, func(s *bench) func() {
		server.Kill(t)
		// The other processes of the server respond until they notice.
		testkit.WaitFor(t, time.Minute, "the server to be gone",
			func() bool { return s.SetValue(s.ctx(), 1, "value") != nil })
		return func() { server.Restart(t) }
	})
}

// testServerReadOnly checks a read-only server: a standby, or one that an operator made read-only.
func testServerReadOnly(t *testing.T, server *testkit.PostgresServer) {
	testOutage(t, postgresBackend(server), true, func(s *bench) func() {
		set := func(statement string) {
			t.Helper()
			if _, err := s.write.Exec(statement); err != nil {
				t.Fatal(err)
			}
			if _, err := s.write.Exec(`SELECT pg_reload_conf()`); err != nil {
				t.Fatal(err)
			}
		}
		set(`ALTER SYSTEM SET default_transaction_read_only = on`)
		testkit.WaitFor(t, time.Minute, "the server to be read-only",
			func() bool { return s.SetValue(s.ctx(), 1, "value") != nil })
		return func() { set(`ALTER SYSTEM RESET default_transaction_read_only`) }
	})
}
