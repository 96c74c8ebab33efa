package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if database := os.Getenv(childEnv); database != "" {
		os.Exit(child(database))
	}
	if arguments := os.Getenv(restoreEnv); arguments != "" {
		os.Exit(restoreChild(arguments))
	}
	os.Exit(testkit.Run(m))
}

// backend returns the options of an empty database.
type backend struct {
	name  string
	fresh func(t testing.TB) Options
}

func sqliteBackend() backend {
	return backend{"sqlite", func(t testing.TB) Options {
		return Options{File: filepath.Join(t.TempDir(), "judged.db")}
	}}
}

func postgresBackend(server *testkit.PostgresServer) backend {
	return backend{"postgres", func(t testing.TB) Options { return Options{URL: server.Database(t)} }}
}

// bench is a store under test and its clock.
type bench struct {
	*Store
	t     *testing.T
	clock *clock
	o     Options
}

// clock is the real time plus what a test has added.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(by time.Duration) { c.ahead.Add(int64(by)) }

func (b backend) open(t *testing.T, with func(*Options)) *bench {
	t.Helper()
	o := b.fresh(t)
	c := &clock{}
	o.Now = c.now
	if with != nil {
		with(&o)
	}
	if o.File != "" {
		if err := os.WriteFile(o.File, migrated(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return reopen(t, o, c)
}

// migrated returns a file of SQLite with the schema and no jobs, because migrating an empty one takes most of the time of
// a short test.
func migrated(t *testing.T) []byte {
	t.Helper()
	empty.once.Do(func() {
		o := Options{File: filepath.Join(t.TempDir(), "judged.db")}
		s, err := Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			empty.file, err = os.ReadFile(o.File)
		}
		empty.err = err
	})
	if empty.err != nil {
		t.Fatal(empty.err)
	}
	return empty.file
}

var empty struct {
	once sync.Once
	file []byte
	err  error
}

func reopen(t *testing.T, o Options, c *clock) *bench {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{Store: s, t: t, clock: c, o: o}
}

// again opens the same database a second time, like another process.
func (b *bench) again() *bench { return reopen(b.t, b.o, b.clock) }

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Minute)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bench) put(id string, edit func(*api.Job)) Record {
	b.t.Helper()
	j := sampleJob()
	if edit != nil {
		edit(&j)
	}
	rec, created, err := b.Put(b.ctx(), Submission{ID: id, BodyDigest: "digest", Job: j})
	if err != nil || !created {
		b.t.Fatalf("put %s: %v, created %v", id, err, created)
	}
	return rec
}

func (b *bench) take() api.Work {
	b.t.Helper()
	w, err := b.Take(b.ctx(), api.Want{Host: "host", CPUs: "1"})
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// idle fails if there is a job to take.
func (b *bench) idle(w api.Want) {
	b.t.Helper()
	w.Pool, w.Width = cmpOr(w.Pool, defaultPool), max(w.Width, 1)
	if work, _, found, err := b.Store.take(b.ctx(), w); found || err != nil {
		b.t.Fatalf("took %+v, %v; nothing is to be taken", work, err)
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (b *bench) get(id string) Record {
	b.t.Helper()
	rec, err := b.Get(b.ctx(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return rec
}

func (b *bench) finish(l api.Lease, v api.Verdict) {
	b.t.Helper()
	if err := b.Finish(b.ctx(), l, sampleReport(v)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) want(err, want error) {
	b.t.Helper()
	if !errors.Is(err, want) {
		b.t.Errorf("got error %v, want %v", err, want)
	}
}

func file(n int) *api.File { return &api.File{Blob: fmt.Sprintf("%064x", n)} }

func sampleJob() api.Job {
	return api.Job{
		Program: *file(1), Files: map[string]api.File{"a.txt": *file(2)},
		Tests:    []api.Test{{Name: "1", Input: file(3), Answer: file(4)}, {Name: "2", Input: file(5)}},
		Priority: api.Practice, Labels: map[string]string{"team": "7", "problem": "a"},
	}
}

func sampleReport(v api.Verdict) api.Report {
	cpu := 3 * time.Millisecond
	return api.Report{Verdict: v, CPUTime: &cpu,
		Host: &api.HostReport{Name: "host", Doctor: &api.DoctorHost{Failed: []string{}}}, Tests: []api.TestReport{
			{Name: "1", Verdict: api.Accepted, Runs: []api.Run{{CPUTime: cpu, Disturbed: []api.Cause{}}}},
			{Name: "2", Verdict: v, Runs: []api.Run{{CPUTime: cpu, Disturbed: []api.Cause{}}}},
		}}
}

// keptReport is sampleReport of a job that keeps outputs.
func keptReport(v api.Verdict) api.Report {
	r := sampleReport(v)
	r.Outputs = []api.Output{{Test: "2", Stream: api.StdoutStream, Blob: "output of " + string(v), Bytes: 3},
		{Test: "2", Stream: api.StderrStream, Bytes: 3, Truncated: true}}
	return r
}

// suite is the set of tests that every database must pass.
var suite = map[string]func(*testing.T, backend){
	"audits":            testAudits,
	"rejudging":         testRejudging,
	"rejudgings":        testRejudgings,
	"no new verdict":    testRejudgedWithoutVerdict,
	"interrupted apply": testInterruptedApply,
	"filling":           testFilling,
	"wait reads once":   testWaitReadsOnce,
	"expected":          testExpected,
	"late statement":    testLateStatement,
	"audits in a line":  testAuditLine,
	"forward":           testForward,
	"recheck":           testRecheck,
	"move jobs":         testMoveJobs,
	"ratios":            testRatios,
	"lead":              testLead,
	"life":              testLife,
	"idempotent":        testIdempotent,
	"started":           testStartedBeforePut,
	"refused":           testRefused,
	"put all":           testPutAll,
	"put all refused":   testPutAllRefused,
	"put whole":         testPutWhole,
	"put all, tenants":  testPutAllOfTenants,
	"order":             testOrder,
	"kinds of slots":    testKinds,
	"contests only":     testContestsOnly,
	"leases":            testLeases,
	"fences":            testFences,
	"finish again":      testFinishAgain,
	"return":            testReturn,
	"cancel":            testCancel,
	"lost":              testLost,
	"reclaim and adopt": testReclaim,
	"take repeated":     testTakeRepeated,
	"bound of waiting":  testRoom,
	"many takers":       testManyTakers,
	"cancelled take":    testCancelledTake,
	"frozen clock":      testFrozenClock,
	"strict order":      testStrictOrder,
	"clocks":            testClocks,
	"old queue":         testOldQueue,
	"back in line":      testBackInLine,
	"late extend":       testLateExtend,
	"put during count":  testPutDuringCount,
	"wake-ups":          testWakeUps,
	"polling":           testPolling,
	"events":            testEvents,
	"stale events":      testStaleEvents,
	"list":              testList,
	"list statements":   testListStatements,
	"copies":            testCopies,
	"delete":            testDelete,
	"feed":              testFeed,
	"feed filters":      testFeedFilters,
	"feed of the end":   testFeedOfTheEnd,
	"feed is kept":      testFeedIsKept,
	"feed is swept":     testFeedIsSwept,
	"feed of rejudging": testFeedAfterRejudging,
	"slow follower":     testSlowFollower,
	"retention":         testRetention,
	"many old":          testManyOld,
	"values":            testValues,
	"blobs":             testBlobs,
	"problems":          testProblems,
	"problem race":      testProblemRace,
	"migrations":        testMigrations,
	"renamed values":    testRenamedValues,
	"kill":              testKill,
	"backup":            testBackup,
	"backup under load": testBackupUnderLoad,
	"restore refused":   testRestoreRefused,
	"restore killed":    testRestoreKilled,
	"archived tables":   testArchivedTables,
	"unknown rejudging": testUnknownRejudging,
	"callbacks of ends": testCallbacksOfEnds,
	"unknown callbacks": testUnknownCallbacks,
	"callback claims":   testCallbackClaims,
	"receivers":         testReceivers,
	"sweep callbacks":   testSweepCallbacks,
	"tenants":           testTenants,
	"tenants' copies":   testCopiesOfTenants,
	"tenants' sets":     testSetsOfTenants,
	"tenants' problems": testProblemsOfTenants,
	"turns":             testTurns,
	"forwarded turns":   testForwardedTurns,
	"late turn":         testLateTurn,
	"waiting quota":     testWaitingQuota,
	"rejudging quota":   testRejudgingQuota,
	"daily quotas":      testDailyQuotas,
	"absurd usage":      testAbsurdUsage,
	"turns of batches":  testBatchTurns,
}

func TestSQLite(t *testing.T) {
	for name, test := range suite {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has its own file
			test(t, sqliteBackend())
		})
	}
}

func TestPostgres(t *testing.T) {
	// fsync is not needed, because the tests kill processes, not the machine.
	server := testkit.StartPostgres(t, "fsync=off")
	for name, test := range suite {
		t.Run(name, func(t *testing.T) { test(t, postgresBackend(server)) })
	}
	t.Run("move between databases", func(t *testing.T) { testMove(t, sqliteBackend(), postgresBackend(server)) })
	t.Run("feed order", func(t *testing.T) { testFeedOrder(t, postgresBackend(server)) })
	t.Run("server away", func(t *testing.T) { testServerAway(t, server) })
	t.Run("server read-only", func(t *testing.T) { testServerReadOnly(t, server) })
	t.Run("server killed", func(t *testing.T) { testServerKilled(t, server) })
	t.Run("listen again", func(t *testing.T) { testListenAgain(t, server) })
}
