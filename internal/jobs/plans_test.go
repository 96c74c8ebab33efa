package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// Sizes of the database for the tests of plans. An index of all finished jobs has three times as many blocks as a
// statement may touch.
const (
	planDone    = 200_000
	planWaiting = 100_000
	planDelayed = 100_000
)

// touched limits the blocks of 8 KiB that one statement reads or writes: enough for a few updates of a row of a table
// with ten indexes of three levels.
const touched = 300

// planExceptions lists statements that may touch more: start of the statement -> reason.
var planExceptions = map[string]string{
	countText:   "counts the queue, in the background",
	waitingText: "counts the queue",
	`SELECT finished FROM jobs WHERE finished`: "counts as many as are kept, once a minute",
	`SELECT seq, id, verdict, labels, host, cpus, state, priority, attempt, excused, created, started, finished, head, tests FROM jobs
WHERE finished`: "reads all that were judged since a time, for judged fairness",
	`SELECT seq, id, verdict, labels, host, cpus, state, priority, attempt, excused, created, started, finished, head, digest, job FROM jobs`: "reads all unfinished jobs, to keep their blobs",
	"UPDATE jobs\nSET pool":              "moves a whole pool",
	"UPDATE jobs SET parked":             "puts a batch back in line",
	"SELECT COALESCE(MAX(CASE":           "checks a batch, once a minute",
	"SELECT MIN(position) FROM feed":     "reads past what was deleted since VACUUM, for readers of all that is kept",
	"DELETE FROM feed":                   "deletes a batch",
	"DELETE FROM labels":                 "deletes a batch",
	"DELETE FROM jobs WHERE":             "deletes a batch",
	"DELETE FROM events WHERE job IN":    "deletes a batch",
	"DELETE FROM key_value":              "reads all values once a minute",
	"DELETE FROM callbacks WHERE job IN": "deletes a batch",
}

// plansElsewhere lists statements that a running daemon does not execute: start of the statement -> reason.
var plansElsewhere = map[string]string{
	"SELECT * FROM ": "backup", "SELECT MAX(version)": "backup",
	"SELECT (SELECT MAX(version)": "restore", "INSERT INTO %s": "restore", "DELETE FROM %s": "restore",
	"SELECT COALESCE(MAX(version)": "migration", "INSERT INTO judged_schema": "migration",
	"UPDATE jobs SET pool":                  "one host that uses its database alone, at its start",
	"SELECT COUNT(*) FROM pg_stat_activity": "restore",
	"SELECT setval":                         "restore",
	"SELECT pg_advisory_xact_lock":          "migration",
	"INSERT INTO feed (":                    "triggers, and the migration",
	"SELECT (EXTRACT":                       "reads no table",
	"SELECT set_config":                     "reads no table",
	"INSERT INTO callbacks":                 "a trigger",
}

// TestPlans runs every statement on a database with many jobs, with statistics of different ages, and compares the
// number of blocks with a limit that does not depend on the number of jobs.
func TestPlans(t *testing.T) {
	testkit.Need(t, testkit.Time)
	server := testkit.StartPostgres(t, "fsync=off", "synchronous_commit=off", "autovacuum=off", "shared_buffers=256MB",
		"max_wal_size=8GB", "wal_level=minimal", "max_wal_senders=0", "maintenance_work_mem=256MB",
		"session_preload_libraries=auto_explain", "auto_explain.log_analyze=on", "auto_explain.log_buffers=on",
		"auto_explain.log_timing=off", "auto_explain.log_format=json", "log_line_prefix=")
	url := server.Database(t)
	quiet, err := Open(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	explained := url + "&auto_explain.log_min_duration=0"
	statement := func(text string) {
		t.Helper()
		if _, err := quiet.write.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	open := func(parameters string) *bench {
		return reopen(t, Options{URL: explained + parameters, MaxWaiting: 10 * (planWaiting + planDelayed),
			MaxJobs: planDone}, &clock{})
	}
	seen := map[string]bool{}
	check := func(name string, b *bench) {
		t.Helper()
		start := server.LogSize(t)
		b.exercise(name)
		for text, blocks := range planned(t, server.Log(t, start)) {
			seen[text] = true
			limit := touched
			for begin := range planExceptions {
				if strings.HasPrefix(text, begin) {
					limit = 1 << 30
				}
			}
			if blocks.most > limit {
				t.Errorf("%s: %d blocks, want at most %d: %s\n%s", name, blocks.most, limit, text, blocks.plan)
			}
		}
	}

	// Its plans are cached while the database is almost empty. The mode is needed because a connection caches a plan only
	// after five executions, and connections are chosen at random.
	early := open("&plan_cache_mode=force_generic_plan")
	for range 6 {
		early.exercise("early")
	}
	statement(`VACUUM ANALYZE`)
	for range 6 {
		early.exercise("early")
	}
	fillJobs(t, quiet, "done", planDone)
	statement(`INSERT INTO key_value (name, value, stored) SELECT '"other" "' || i || '"', '', 1 FROM generate_series(1, 50000) AS i`)
	statement(`INSERT INTO audits (id, original, stage, pool, origin, target, created, finished)
SELECT 'a' || i, 'o', i % 4, 'default', 'n', '', now, now FROM generate_series(1, 50000) AS i,
	(SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT * 1000 - 3600000000000 AS now) AS clock`)
	statement(`INSERT INTO callbacks (job, receiver, due, created)
SELECT -i, CASE WHEN i < 40000 THEN '0' ELSE 'zz' || i END, CASE WHEN i < 40000 THEN i ELSE 0 END, i
FROM generate_series(1, 80000) AS i`)
	statement(`INSERT INTO receivers (id, tenant, origin, failures, paused, disabled, changed)
SELECT 'zz' || i, '', '', 0, 1, 0, 9000000000000000000 FROM generate_series(1, 50000) AS i`)
	fillJobs(t, quiet, "waiting", planWaiting)
	fillJobs(t, quiet, "delayed", planDelayed)
	check("kept plans", early)
	check("statistics of an empty database", open(""))
	statement(`VACUUM ANALYZE`)
	check("fresh statistics", open(""))
	statement(`DELETE FROM jobs WHERE finished = 0`)
	statement(`VACUUM ANALYZE`)
	fillJobs(t, quiet, "delayed", planDelayed)
	fillJobs(t, quiet, "waiting", planWaiting)
	check("statistics of an empty queue", open(""))

	t.Run("old snapshot", func(t *testing.T) { testOldSnapshot(t, server, quiet, open("")) })
	t.Run("heap-only updates", func(t *testing.T) { testHeapOnly(t, quiet, open("")) })

	for _, begin := range statements(t) {
		_, elsewhere := plansElsewhere[begin]
		for b := range plansElsewhere {
			elsewhere = elsewhere || strings.HasPrefix(begin, b)
		}
		if !elsewhere && !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(text string) bool {
			return strings.Contains(text, begin)
		}) {
			t.Errorf("no plan was seen of the statement with %q; add it to exercise", begin)
		}
	}
}

// testOldSnapshot ends jobs while a snapshot, such as that of judged backup, keeps the server from removing their index
// entries. A search of the whole queue reads all of them, so it must be rare.
func testOldSnapshot(t *testing.T, server *testkit.PostgresServer, quiet *Store, b *bench) {
	old, err := quiet.write.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Rollback()
	if _, err := old.ExecContext(t.Context(), `SELECT 1 FROM jobs LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := quiet.write.ExecContext(t.Context(), `UPDATE jobs SET state = 2, finished = 1, verdict = 'AC' WHERE seq IN
(SELECT seq FROM jobs WHERE parked = 0 AND finished = 0 ORDER BY seq LIMIT 50000)`); err != nil {
		t.Fatal(err)
	}
	b.take() // finds the start of the queue
	const takes = 50
	start := server.LogSize(t)
	for range takes {
		b.finish(b.take().Lease, api.Accepted)
	}
	for text, cost := range planned(t, server.Log(t, start)) {
		if strings.HasPrefix(text, "UPDATE jobs SET state = 1") && cost.over > takes/10 {
			t.Errorf("%d of %d statements touch more than %d blocks: %s\n%s", cost.over, takes, touched, text, cost.plan)
		}
	}
}

// testHeapOnly makes changes that affect no index, and reads from the statistics of the server how many updates were
// heap-only (HOT).
func testHeapOnly(t *testing.T, quiet *Store, b *bench) {
	updates := func() (all, heapOnly int) {
		t.Helper()
		if _, err := quiet.write.ExecContext(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		if err := quiet.write.QueryRowContext(t.Context(), `SELECT pg_stat_get_tuples_updated(oid),
pg_stat_get_tuples_hot_updated(oid) FROM pg_class WHERE relname = 'jobs'`).Scan(&all, &heapOnly); err != nil {
			t.Fatal(err)
		}
		return all, heapOnly
	}
	b.put("held", func(j *api.Job) { j.Priority = api.Contest })
	w := b.take()
	b.awaitFlush()
	all, heapOnly := updates()
	const extends = 100
	for range extends {
		if _, err := b.Extend(b.ctx(), w.Lease); err != nil {
			t.Fatal(err)
		}
	}
	b.awaitFlush()
	allThen, heapOnlyThen := updates()
	// A new version needs another page while the snapshot of another session keeps the server from removing old ones. If
	// the statement changed an indexed column, none would be heap-only.
	if n := heapOnlyThen - heapOnly; allThen-all < extends || n < extends/2 {
		t.Errorf("%d of %d extensions of a lease changed no index", n, allThen-all)
	}
}

// awaitFlush waits until the sessions of a store have reported their statistics.
func (b *bench) awaitFlush() {
	b.t.Helper()
	conns := make([]*sql.Conn, 0, postgresConnections)
	for range b.write.Stats().OpenConnections {
		conn, err := b.write.Conn(b.ctx())
		b.must(err)
		_, err = conn.ExecContext(b.ctx(), `SELECT pg_stat_force_next_flush()`)
		b.must(err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		b.must(conn.Close())
	}
}

// fillJobs adds jobs of one kind with a statement of the database.
func fillJobs(t *testing.T, s *Store, what string, n int) {
	t.Helper()
	body, err := packJSON(sampleJob())
	if err != nil {
		t.Fatal(err)
	}
	head, err := headOf(sampleReport(api.Accepted))
	if err != nil {
		t.Fatal(err)
	}
	state, finished, due, parked, verdict := queued, "0", "0", "0", "''"
	switch what {
	case "done":
		state, finished = done, "created"
		verdict = `CASE i % 5000 WHEN 0 THEN 'SV' ELSE CASE i % 5 WHEN 0 THEN 'TLE' ELSE 'AC' END END`
	case "delayed":
		due = fmt.Sprint(time.Now().Add(time.Hour).UnixNano())
		parked = due
	}
	text := fmt.Sprintf(`WITH new AS (INSERT INTO jobs (id, digest, state, priority, pool, width, due, parked, created, started,
	finished, verdict, labels, head, job, turn, tenant)
SELECT '%[1]s-' || clock || i, '', %[2]d, 1 + i %% 3, 'default', 1, %[3]s, %[4]s, created, 0, %[5]s, %[6]s, '{"team":"7"}', ?1, ?2, i * 720720,
	CASE i %% 3 WHEN 0 THEN '' ELSE 'a' END
FROM (SELECT i, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT AS clock,
	%[8]d + i * 1000000000 AS created FROM generate_series(1::BIGINT, %[7]d) AS i) AS numbers
RETURNING seq, created)
INSERT INTO labels (label, created, job) SELECT ?3, created, seq FROM new`, what, state, due, parked, finished, verdict, n,
		seedTime(0).UnixNano())
	start := time.Now()
	defer func(limit time.Duration) { s.opts.Timeout = limit }(s.opts.Timeout)
	s.opts.Timeout = time.Hour
	err = s.tx(t.Context(), "fill", func(ctx context.Context, tx *sql.Tx) error {
		var indexes []string // recreated at the end, which takes less time
		found, err := tx.QueryContext(ctx, `SELECT indexdef FROM pg_indexes WHERE indexdef ~ '^CREATE INDEX (jobs|labels)_'
AND $1`, n > planWaiting)
		if err == nil {
			err = each(found, func(rows *sql.Rows) error {
				var text string
				err := rows.Scan(&text)
				indexes = append(indexes, text)
				return err
			})
		}
		for _, text := range indexes {
			_, failed := tx.ExecContext(ctx, "DROP INDEX "+strings.Fields(text)[2])
			err = errors.Join(err, failed)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, s.driver.sql(text), head, body, labelHash("team", "7"))
		}
		for _, text := range indexes {
			if err == nil {
				_, err = tx.ExecContext(ctx, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d %s jobs in %v", n, what, time.Since(start).Round(time.Millisecond))
}

// exercise calls every function that executes a statement. prefix distinguishes its jobs from those of other calls.
func (b *bench) exercise(prefix string) {
	b.t.Helper()
	ctx := b.ctx()
	prefix = strings.ReplaceAll(prefix, " ", "-") + strconv.FormatInt(time.Now().UnixNano(), 36)
	contest := func(j *api.Job) { j.Priority = api.Contest }
	id := func(n int) string { return fmt.Sprint(prefix, n) }
	must := func(_ any, err error) { b.t.Helper(); b.must(err) }
	for n := range 12 {
		b.put(id(n), contest)
	}
	if _, created, err := b.Put(ctx, Submission{ID: id(0), BodyDigest: "digest",
		Job: sampleJob()}); created || err != nil {
		b.t.Fatalf("put again: %t, %v", created, err)
	}
	bare := sampleJob()
	bare.Labels = nil
	for _, tenant := range []string{"", "a"} {
		_, _, err := b.Put(WithTenant(ctx, tenant), Submission{ID: prefix + "bare" + tenant, Job: bare})
		b.must(err)
	}
	bare.Priority = api.Contest
	must(b.PutAll(ctx, packAll(b.t, Submission{ID: id(0), Job: bare}, Submission{ID: prefix + "all", Job: bare})))
	take := func(w api.Want) api.Work {
		w.Host = prefix
		work, err := b.Take(ctx, w)
		b.must(err)
		return work
	}
	work := take(api.Want{Contests: true, Key: "1"})
	must(b.Extend(ctx, work.Lease))
	again := take(api.Want{Contests: true, Key: "1", Repeated: true})
	if again.ID != work.ID {
		b.t.Fatalf("took %q again, want %q", again.ID, work.ID)
	}
	b.must(b.Emit(again.Lease, 1, sampleReport(api.Accepted).Tests[0]))
	testkit.WaitFor(b.t, time.Minute, "an event", func() bool {
		rep := b.get(again.ID).Report
		return len(rep.Tests) == 1
	})
	must(b.Holder(ctx, again.Lease))
	must(b.Head(ctx, again.ID))
	b.must(b.Return(ctx, again.Lease, api.Returned{Uncounted: true}))
	b.must(b.Return(ctx, take(api.Want{}).Lease, api.Returned{Delay: time.Hour, Uncounted: true}))
	w := take(api.Want{Width: 4, Node: "n1"})
	b.finish(w.Lease, api.Accepted)
	b.finish(w.Lease, api.Accepted)
	must(b.Wait(ctx, w.ID))
	for _, err := range b.Events(ctx, w.ID, 0) {
		b.must(err)
	}
	b.must(b.PutAuditOf(ctx, prefix, w))
	must(b.Cancel(ctx, id(11)))
	running := take(api.Want{})
	must(b.Cancel(ctx, running.ID))
	for range 2 {
		w := take(api.Want{})
		rec := b.get(w.ID)
		b.must(b.Recheck(ctx, rec, sampleReport(api.Accepted),
			api.CrossCheck{Hosts: []api.CrossCheckedHost{{Node: "n1"}}}, b.Store.now()))
		w = take(api.Want{})
		b.must(b.Forward(ctx, b.get(w.ID), sampleReport(api.Accepted), "metal", api.Screening{}))
		metal := take(api.Want{Pool: "metal"})
		b.finish(metal.Lease, api.TimeLimit)
	}
	must(b.Move(ctx, "metal", defaultPool))
	late := take(api.Want{})
	b.must(b.Emit(late.Lease, 1, sampleReport(api.Accepted).Tests[0]))
	testkit.WaitFor(b.t, time.Minute, "an event", func() bool { return len(b.get(late.ID).Report.Tests) == 1 })
	must(b.Cancel(ctx, late.ID))
	for w := take(api.Want{}); w.Report.Priority == api.Contest; w = take(api.Want{}) { // then others
		b.must(b.Return(ctx, w.Lease, api.Returned{Delay: time.Hour, Uncounted: true}))
	}
	must(b.Held(ctx, prefix))
	must(b.Reclaim(ctx, prefix))
	for name, f := range pages(planDone) {
		if _, _, err := b.List(ctx, f); err != nil {
			b.t.Errorf("page %s: %v", name, err)
		}
	}
	b.exerciseFeed()
	must(b.Depth(ctx))
	must(b.countQueue(ctx))
	must(b.Copies(ctx, id(0), id(1), id(2)))
	must(b.Tenants(ctx))
	b.charge("a", used{cpu: 1})
	b.must(b.storeUsage(ctx))
	must(b.usedToday(ctx, "a"))
	must(b.unpark(ctx))
	b.must(b.Check())
	b.exerciseAudits(prefix)
	b.exerciseRejudging(prefix, w.ID)
	must(nil, b.Delete(ctx, w.ID))
	b.exerciseValues(prefix)
	b.exerciseCallbacks(prefix)
	must(b.Sweep(ctx))
	must(b.Blobs(ctx))
	b.awaitCount()
}

// exerciseFeed reads the feed from its start, and new events. The sweep of another store may delete the start while it
// is read.
func (b *bench) exerciseFeed() {
	b.t.Helper()
	for _, after := range []FeedPosition{FeedOldest, FeedNow} {
		testkit.WaitFor(b.t, time.Minute, "the feed", func() bool { return b.readFeed(after) })
	}
}

// readFeed reads pages of the feed. It returns false if the first events have been deleted since.
func (b *bench) readFeed(after FeedPosition) bool {
	b.t.Helper()
	f, err := b.Follow(b.ctx(), after, FeedFilter{})
	b.must(err)
	defer f.Close()
	newest, err := b.newestInFeed(b.ctx())
	b.must(err)
	for pages := 0; pages < 20 && f.Position().Row < newest; pages++ {
		_, err := f.Next(b.ctx())
		if errors.Is(err, ErrNoPosition) && after == FeedOldest {
			return false
		}
		b.must(err)
	}
	return true
}

// PutAuditOf stores an audit and compares it.
func (b *bench) PutAuditOf(ctx context.Context, prefix string, w api.Work) error {
	a := Audit{ID: prefix + "audit", Original: w.ID, Pool: defaultPool, Origin: "n1", Stage: Learning}
	_, err := b.PutAudit(ctx, a, w.Job)
	return errors.Join(err, b.CompareAudit(ctx, a.ID, AuditResult{Usable: true, Class: "class"}))
}

func (b *bench) exerciseAudits(prefix string) {
	b.t.Helper()
	ctx, since := b.ctx(), b.Store.now().Add(-time.Minute)
	_, err := b.Audits(ctx, defaultPool, Learning, since)
	_, stale := b.StaleAudits(ctx, since)
	_, open := b.OpenAudits(ctx, defaultPool, Learning)
	_, ratios := b.Ratios(ctx, defaultPool, Learning, since)
	_, last := b.LastRatios(ctx, defaultPool, Learning, "class", since, 5)
	_, _, audit := b.AuditOf(ctx, prefix+"audit")
	_, ended := b.EndedSince(ctx, Position{Finished: since.UnixNano()}, 100)
	judged := b.JudgedSince(ctx, since, func(api.Report) error { return nil })
	_, lead := b.Lead(ctx, "task", prefix, time.Minute)
	b.must(errors.Join(err, stale, open, ratios, last, audit, ended, judged, lead))
}

func (b *bench) exerciseRejudging(prefix, original string) {
	b.t.Helper()
	ctx := b.ctx()
	for _, end := range []func(context.Context, string) error{b.ApplyRejudging, b.CancelRejudging} {
		id := fmt.Sprint(prefix, "set", time.Now().UnixNano()%1e9)
		_, err := b.PutRejudging(ctx, api.RejudgingRequest{ID: id}, "digest")
		b.must(err)
		selected := SelectedJob{ID: original, Verdict: api.Accepted}
		b.must(b.SelectRejudged(ctx, b.unfinished(id), []SelectedJob{selected, {ID: "other"}, {ID: "gone",
			Skipped: "gone"}},
			RejudgingProgress{Selected: true}))
		_, err = b.UnqueuedJobs(ctx, id, "", 10)
		b.must(err)
		_, err = b.RejudgingRoom(ctx)
		b.must(errors.Join(err, b.SkipRejudged(ctx, id, api.SkippedJob{Job: "other", Reason: "no such job"})))
		n := again(id, original)
		n.Job.Priority = api.Contest
		b.must(b.QueueRejudged(ctx, id, selected, n))
		b.must(b.EndFilling(ctx, b.unfinished(id), ""))
		again := RejudgeID(id, original)
		for {
			w := b.take()
			b.finish(w.Lease, api.WrongAnswer)
			if w.ID == again {
				break
			}
		}
		_, _, page := b.RejudgedPage(ctx, id, true, "", 10)
		_, _, list := b.Rejudgings(ctx, "", 2)
		_, _, of := b.Rejudgings(WithTenant(ctx, "a"), "", 2)
		b.must(errors.Join(page, list, of, end(ctx, id)))
	}
}

func (b *bench) exerciseCallbacks(prefix string) {
	b.t.Helper()
	ctx, call := b.ctx(), api.Callback{URL: "https://" + prefix + ".example"}
	for n := range 3 {
		id := fmt.Sprint(prefix, "call", n)
		b.put(id, func(j *api.Job) { j.Callback = &call })
		_, err := b.Cancel(ctx, id)
		b.must(err)
		_, err = b.Callbacks(ctx, id)
		b.must(err)
	}
	_, err := b.DueReceivers(ctx, "", 10)
	b.must(err)
	receiver := ReceiverID("", call)
	claimed, err := b.ClaimCallbacks(ctx, receiver, 3, time.Minute)
	b.must(err)
	for n, result := range []api.CallbackResult{api.TryFailed, api.TryDelivered} {
		_, err := b.CallbackJob(ctx, claimed[n], true)
		b.must(err)
		_, err = b.FinishCallback(ctx, claimed[n], TriedCallback{Try: api.CallbackTry{Number: 1, Result: result},
			Next: b.Store.now(), Receiver: never})
		b.must(err)
	}
	_, _, page := b.Receivers(ctx, "", 10)
	_, enabled := b.EnableReceiver(ctx, receiver)
	_, _, disabled := b.DisabledReceiver(ctx, "", call)
	_, count := b.DisabledReceivers(ctx)
	b.must(errors.Join(page, enabled, disabled, count, b.DeleteCallback(ctx, claimed[2])))
}

func (b *bench) exerciseValues(prefix string) {
	b.t.Helper()
	ctx := b.ctx()
	p := api.Problem{ID: prefix, Version: "1"}
	for _, version := range []string{"1", "2"} {
		p.Version = version
		_, _, err := b.PutProblem(ctx, p, Editor{})
		b.must(err)
	}
	_, err := b.Problem(ctx, prefix)
	_, _, list := b.Problems(ctx, "", 10)
	deleted := b.DeleteProblem(ctx, prefix, Editor{})
	values := b.Values(ctx, func(string, []byte) error { return nil }, problemValues)
	changed := b.ChangeValues(ctx, "lock", func(ctx context.Context, tx ValuesTx) error {
		return errors.Join(tx.Set(ctx, 1, "other", prefix), tx.Read(ctx, func(int, []byte) error { return nil },
			[]string{"other", prefix}, []string{"other", "none"}))
	})
	b.must(errors.Join(err, list, deleted, values, changed))
}

// cost is the cost of a statement.
type cost struct {
	most int    // blocks of one execution
	plan string // plan of that execution
	over int    // executions with more blocks than touched
}

// planned returns the costs of the statements in the log of a server, by text.
func planned(t *testing.T, log string) map[string]cost {
	t.Helper()
	all := map[string]cost{}
	for _, entry := range regexp.MustCompile(`(?m)^LOG:  duration: .* plan:\n((?:\t.*\n)+)`).FindAllStringSubmatch(log,
		-1) {
		var e struct {
			Text string   `json:"Query Text"`
			Plan planNode `json:"Plan"`
		}
		text := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(entry[1], "")
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("read a plan: %v\n%s", err, text)
		}
		c, n := all[e.Text], e.Plan.Hit+e.Plan.Read
		if n >= c.most {
			c.most, c.plan = n, e.Plan.outline("")
		}
		if n > touched {
			c.over++
		}
		all[e.Text] = c
	}
	if len(all) == 0 {
		t.Fatal("the server has logged no plan")
	}
	return all
}

// planNode is a node of a plan as auto_explain logs it.
type planNode struct {
	Type  string     `json:"Node Type"`
	Table string     `json:"Relation Name"`
	Index string     `json:"Index Name"`
	Loops float64    `json:"Actual Loops"`
	Rows  float64    `json:"Actual Rows"`
	Hit   int        `json:"Shared Hit Blocks"`
	Read  int        `json:"Shared Read Blocks"`
	Plans []planNode `json:"Plans"`
}

func (n planNode) outline(indent string) string {
	text := fmt.Sprintf("%s%s %s %s: %g times %g rows, %d blocks\n", indent, n.Type, n.Table, n.Index, n.Loops, n.Rows,
		n.Hit+n.Read)
	for _, child := range n.Plans {
		text += child.outline(indent + "  ")
	}
	return text
}

// statements returns the beginnings of the statements in the code of the package.
func statements(t *testing.T) (all []string) {
	t.Helper()
	begin := regexp.MustCompile(`^\s*((?:SELECT|INSERT|UPDATE|DELETE) [^?{%]*)`)
	files, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go") && f.Name() != "schema.go"
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range files {
		ast.Inspect(pkg, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					if m := begin.FindStringSubmatch(text); m != nil {
						all = append(all, m[1])
					}
				}
			}
			return true
		})
	}
	if len(all) < 50 {
		t.Fatalf("found %d statements in the package", len(all))
	}
	return all
}
