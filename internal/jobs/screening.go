package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"judged/internal/api"
)

func (n Submission) slotClass() slotClass {
	k := slotClassOf(n.Job)
	k.pool = cmp.Or(n.Pool, k.pool)
	return k
}

// ScreeningID returns the ID under which Forward stores the report of an attempt.
func ScreeningID(l api.Lease) string {
	return OwnID("screening", fmt.Sprintf("%q %d", l.ID, l.Attempt))
}

// Forward queues a job for another pool instead of ending it with the report of an attempt. The report is stored as
// another job, which lists omit. The other pool has the full number of attempts. The attempt is checked as in Finish.
func (s *Store) Forward(ctx context.Context, rec Record, rep api.Report, pool string, link api.Screening) error {
	link.Job = ScreeningID(rec.Lease)
	return s.requeue(ctx, rec, rep, requeued{id: link.Job, label: ScreeningLabel, pool: pool,
		head: api.Report{Screening: &link}})
}

// requeued describes how a job is queued again and its report is stored.
type requeued struct {
	id, label string // of the job that stores the report
	pool      string
	head      api.Report // new state of the job
	// nodes that may not take the job before due, each between two slashes
	avoid      string
	avoidUntil int64
}

func (s *Store) requeue(ctx context.Context, rec Record, rep api.Report, q requeued) error {
	head, err := headOf(q.head)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", rec.ID, err)
	}
	kept, labels, err := s.keptReport(rec, rep, q)
	if err != nil {
		return err
	}
	found := false
	moved := Submission{Job: rec.Job, Pool: q.pool, Tenant: rec.Report.Tenant}
	turn := s.turns.assign(moved.flow()) // used in another pool; otherwise the job keeps its turn
	defer func() { s.settle(moved.flow(), turn, found && q.pool != rec.Pool) }()
	err = s.tx(ctx, "finish job", func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, s.driver.sql(`UPDATE jobs
SET state = 0, pool = ?1, due = ?2, parked = 0, excused = attempt, started = 0, host = '', cpus = '', head = ?3, avoid = ?6,
	avoid_until = ?7, turn = CASE WHEN pool = ?1 THEN turn ELSE ?8 END
WHERE id = ?4 AND attempt = ?5 AND +state = 1 RETURNING seq`), q.pool, atOnce, head, rec.ID, rec.Lease.Attempt,
			q.avoid, q.avoidUntil, turn)
		if err == nil {
			err = each(rows, func(rows *sql.Rows) error { var seq int64; found = true; return rows.Scan(&seq) })
		}
		if err != nil || !found {
			return err
		}
		return s.insertKept(ctx, tx, kept, labels)
	})
	if err != nil {
		return err
	}
	if !found {
		return s.fenced(ctx, "finish", rec.Lease)
	}
	s.charge(rec.Report.Tenant, cpuOf(rep.Tests))
	s.notifier.moved.Add(1)
	s.notifyJob(rec.ID)
	s.notifyWork(moved.slotClass())
	return nil
}

const insertKept = `INSERT INTO jobs (id, digest, state, priority, pool, width, attempt, due, host, cpus, created, started,
	finished, verdict, labels, head, job, tests, tenant, outputs)
VALUES (?1, ?2, 2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10, ?6, ?11, ?12, ?13, ?14, ?15, ?16, ?17) RETURNING seq`

// keptCreatedArg is the index of the creation time among the arguments of insertKept.
const keptCreatedArg = 8

// keptReport returns the arguments of insertKept, and the labels.
func (s *Store) keptReport(rec Record, rep api.Report, q requeued) (args []any, labels map[string]string, err error) {
	head, err := headOf(rep)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the report of job %q: %w", rec.ID, err)
	}
	tests, err := packJSON(rep.Tests)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the report of job %q: %w", rec.ID, err)
	}
	outputs, err := packOutputs(rep)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the report of job %q: %w", rec.ID, err)
	}
	body, err := packJSON(rec.Job)
	if err != nil {
		return nil, nil, fmt.Errorf("encode job %q: %w", rec.ID, err)
	}
	labels = storedLabels(map[string]string{q.label: rec.ID}, rec.Report.Tenant)
	encoded, err := json.Marshal(labels)
	if err != nil {
		return nil, nil, fmt.Errorf("encode job %q: %w", rec.ID, err)
	}
	now := s.now().UnixNano()
	return []any{q.id, auditBodyDigest, auditPriority, rec.Pool, slotClassOf(rec.Job).width, now, rec.Host, rec.CPUs, now,
			rec.Report.StartedAt.UnixNano(), string(rep.Verdict), string(encoded), head, body, tests,
			rec.Report.Tenant, outputs},
		labels, nil
}

func (s *Store) insertKept(ctx context.Context, tx *sql.Tx, args []any, labels map[string]string) error {
	rows, err := tx.QueryContext(ctx, s.driver.sql(insertKept), args...)
	if err != nil {
		return err
	}
	var seq int64
	if err := each(rows, func(rows *sql.Rows) error { return rows.Scan(&seq) }); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, s.driver.sql(insertLabels(len(labels))), labelArgs(labels, args[keptCreatedArg], seq)...)
	return err
}

// Move moves the queued jobs of a pool to another pool, except for audits, and returns their number. They are first in
// that queue, in the order of submission.
func (s *Store) Move(ctx context.Context, from, to string) (int, error) {
	for more := true; more; {
		back, err := s.unpark(ctx)
		if err != nil {
			return 0, err
		}
		more = back == unparkBatch
	}
	n, err := s.exec(ctx, "adopt jobs of a screening pool", `UPDATE jobs
SET pool = ?1, state = 0, due = 0, excused = attempt, started = 0, host = '', cpus = '', turn = 0
WHERE parked = 0 AND finished = 0 AND pool = ?3 AND priority < ?4 AND due <= ?2`, to, s.now().UnixNano(), from, auditPriority)
	if n > 0 {
		s.notifier.everything()
	}
	return int(n), err
}

// Ratios summarizes the audits of one class of programs.
type Ratios struct {
	Class       string
	Pairs       int
	SmallestLog float64 // smallest LogRatio
}

// Ratios returns the compared audits of a pool and stage since the given time, summarized by class.
func (s *Store) Ratios(ctx context.Context, pool string, stage AuditStage, since time.Time) (all []Ratios, err error) {
	err = s.rows(ctx, s.read, query{"read audits", `SELECT class, COUNT(*), MIN(ratio) FROM audits
WHERE pool = ?1 AND stage = ?2 AND finished >= ?3 AND state = 1 GROUP BY class ORDER BY class`,
		[]any{pool, int(stage), unixNano(since)}}, func(rows *sql.Rows) error {
		var r Ratios
		var smallest int64
		err := rows.Scan(&r.Class, &r.Pairs, &smallest)
		r.SmallestLog = float64(smallest) / billionths
		all = append(all, r)
		return err
	})
	return all, err
}

// LastRatios returns the LogRatio of the last audits of a class since the given time, newest first.
func (s *Store) LastRatios(ctx context.Context, pool string, stage AuditStage, class string, since time.Time,
	limit int) (all []float64, err error) {
	err = s.rows(ctx, s.read, query{"read audits", `SELECT ratio FROM audits
WHERE pool = ?1 AND stage = ?2 AND finished >= ?3 AND state = 1 AND class = ?4 ORDER BY finished DESC, id LIMIT ?5`,
		[]any{pool, int(stage), unixNano(since), class, limit}}, func(rows *sql.Rows) error {
		var ratio int64
		err := rows.Scan(&ratio)
		all = append(all, float64(ratio)/billionths)
		return err
	})
	return all, err
}

// unixNano returns t in nanoseconds since 1970, or 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
