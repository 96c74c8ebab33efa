package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"judged/internal/api"
)

// AuditStage is the purpose of an audit.
type AuditStage int

// The stages of audits.
const (
	RoutineAudit AuditStage = iota // of a share of all jobs, on any other node
	Confirmation                   // on nodes that are compared with a deviating one
	Learning                       // in a screening pool, to learn the time ratio
	Check                          // in the deciding pool, of jobs that the screening pool accepted
)

// Audit is a job that is judged again on another node, to compare the results.
type Audit struct {
	ID       string // ID of the job that judges again
	Original string // ID of the audited job
	Stage    AuditStage
	Pool     string
	Origin   string    // node that judged the original
	Target   string    // the only node that may judge it; "" means any but Origin
	Node     string    // node that judged it
	LogRatio float64   // logarithm of its time divided by the original's
	Finished time.Time // time of the comparison
	Tenant   string    // tenant of the original; only PutAudit uses it
}

// States of an audit in the database.
const (
	auditCompared   = 1
	auditUnusable   = 2
	auditRefuted    = 3
	billionths      = 1e9
	auditBodyDigest = "audit"
)

// PutAudit queues the job of an audit, unless a job with that ID exists. Audits do not count toward the limits of the
// queue.
func (s *Store) PutAudit(ctx context.Context, a Audit, j api.Job) (created bool, err error) {
	j.Callback = nil // only the original has a callback
	j.Priority, j.Pool, j.Labels = api.Audit, a.Pool, map[string]string{AuditLabel: a.Original}
	n := Submission{ID: a.ID, BodyDigest: auditBodyDigest, Job: j, Tenant: a.Tenant}
	_, args, err := s.newRow(n, 0)
	if err != nil {
		return false, err
	}
	k := slotClassOf(j)
	created, err = s.insertLabelled(ctx, n, args, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.driver.sql(
			`INSERT INTO audits (id, original, stage, pool, origin, target, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`),
			a.ID, a.Original, int(a.Stage), k.pool, a.Origin, a.Target, args[createdArg])
		return err
	})
	if err == nil && created {
		s.notifyWork(k)
	}
	return created && err == nil, err
}

// AuditResult is the result of comparing the two reports of an audit.
type AuditResult struct {
	Usable   bool    // the times can be compared
	Refuted  bool    // the verdict of a Check differs because of its time
	Node     string  // node that judged it
	LogRatio float64 // logarithm of its time divided by the original's; for Learning and Check, see Ratios
	Class    string  // class of programs for comparing LogRatio; for Learning and Check
}

func (r AuditResult) state() int {
	switch {
	case r.Refuted:
		return auditRefuted
	case r.Usable:
		return auditCompared
	}
	return auditUnusable
}

// CompareAudit stores the result of an audit, once.
func (s *Store) CompareAudit(ctx context.Context, id string, r AuditResult) error {
	_, err := s.exec(ctx, "set audit",
		`UPDATE audits SET node = ?1, ratio = ?2, state = ?3, finished = ?4, class = ?5 WHERE id = ?6 AND state = 0`,
		r.Node, int64(math.Round(r.LogRatio*billionths)), r.state(), s.now().UnixNano(), r.Class, id)
	return err
}

// Audits returns the compared audits of a pool and stage since the given time, oldest first.
func (s *Store) Audits(ctx context.Context, pool string, stage AuditStage, since time.Time) ([]Audit, error) {
	var all []Audit
	err := s.rows(ctx, s.read, query{"read audits", `SELECT id, original, origin, target, node, ratio, finished FROM audits
WHERE pool = ?1 AND stage = ?2 AND finished >= ?3 AND state = ?4 ORDER BY finished, id`,
		[]any{pool, int(stage), since.UnixNano(), auditCompared}}, func(rows *sql.Rows) error {
		a := Audit{Stage: stage, Pool: pool}
		var ratio, finished int64
		err := rows.Scan(&a.ID, &a.Original, &a.Origin, &a.Target, &a.Node, &ratio, &finished)
		a.LogRatio, a.Finished = float64(ratio)/billionths, timeOf(finished)
		all = append(all, a)
		return err
	})
	return all, err
}

// StaleAudits returns the IDs of audits that were queued before the given time and are not compared yet.
func (s *Store) StaleAudits(ctx context.Context, before time.Time) (ids []string, err error) {
	err = s.rows(ctx, s.read, query{"read audits", `SELECT id FROM audits WHERE finished = 0 AND created < ?1`,
		[]any{before.UnixNano()}}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// OpenAudits returns the number of audits of a pool and stage that are not compared yet.
func (s *Store) OpenAudits(ctx context.Context, pool string, stage AuditStage) (n int, err error) {
	err = s.rows(ctx, s.read, query{"count audits",
		`SELECT COUNT(*) FROM audits WHERE pool = ?1 AND stage = ?2 AND finished = 0`, []any{pool, int(stage)}},
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Position is a position in the order in which jobs ended.
type Position struct {
	Finished int64 `json:"finished_ns"`
	Seq      int64 `json:"seq"`
}

// Ended is a job that has ended.
type Ended struct {
	ID string
	Position
	Audit bool
	Pool  string
}

// endedLag is how long ago, in addition to Options.Timeout, a job must have ended for EndedSince to return it. Of two
// jobs, the one with the earlier time may be stored later, by as much as its statement takes. The rest allows for clock
// differences, and for a statement that the server commits after this process has abandoned it.
const endedLag = 2 * time.Second

// EndedSince returns up to limit jobs that were judged after a position, in the order in which they ended.
func (s *Store) EndedSince(ctx context.Context, after Position, limit int) ([]Ended, error) {
	var all []Ended
	err := s.rows(ctx, s.read, query{"read ended jobs", `SELECT id, finished, seq, priority, pool FROM jobs
WHERE finished > 0 AND (finished, seq) > (?1, ?2) AND finished <= ?3 AND +state = 2 ORDER BY finished, seq LIMIT ?4`,
		[]any{after.Finished, after.Seq, s.now().Add(-s.opts.Timeout - endedLag).UnixNano(), limit}},
		func(rows *sql.Rows) error {
			var e Ended
			var priority int
			err := rows.Scan(&e.ID, &e.Finished, &e.Seq, &priority, &e.Pool)
			e.Audit = priority == auditPriority
			all = append(all, e)
			return err
		})
	return all, err
}

// JudgedSince calls f with the report of each job judged since the given time, oldest first, except for audits.
func (s *Store) JudgedSince(ctx context.Context, since time.Time, f func(api.Report) error) error {
	q := query{"read judged jobs", `SELECT ` + rowColumns + `, tests FROM jobs
WHERE finished > 0 AND finished >= ?1 AND +state = 2 AND +priority < ?2 ORDER BY finished, seq`,
		[]any{since.UnixNano(), auditPriority}}
	return s.adhoc(ctx, 0, q, func(rows *sql.Rows) error {
		var r row
		var tests []byte
		if err := rows.Scan(append(r.fields(), &tests)...); err != nil {
			return err
		}
		rep, err := r.report()
		if err == nil && tests != nil {
			err = unpackJSON(tests, &rep.Tests)
		}
		if err != nil {
			return err
		}
		return f(rep)
	})
}

// LastPosition returns the position after all jobs that have ended so far.
func (s *Store) LastPosition() Position { return Position{Finished: s.now().UnixNano()} }

// AuditOf returns the audit whose job has the ID.
func (s *Store) AuditOf(ctx context.Context, id string) (a Audit, found bool, err error) {
	err = s.rows(ctx, s.read, query{"read audit",
		`SELECT original, stage, pool, origin, target FROM audits WHERE id = ?1`,
		[]any{id}}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&a.Original, &a.Stage, &a.Pool, &a.Origin, &a.Target)
	})
	a.ID = id
	return a, found, err
}

const setLeader = `INSERT INTO key_value (name, value, stored) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, stored = excluded.stored
WHERE key_value.value = excluded.value OR key_value.stored < ?4`

// Lead makes holder the leader of a task for the duration of lease, unless another process that uses the database leads
// it. It reports whether holder is the leader. Call it again before the lease expires.
func (s *Store) Lead(ctx context.Context, task, holder string, lease time.Duration) (bool, error) {
	value, err := json.Marshal(holder)
	if err != nil {
		return false, fmt.Errorf("encode the leader of %s: %w", task, err)
	}
	now := s.now()
	n, err := s.exec(ctx, "set leader", setLeader,
		valueName([]string{"leader", task}), append([]byte{packedPlain}, value...),
		now.UnixNano(), now.Add(-lease).UnixNano())
	return n == 1, err
}
