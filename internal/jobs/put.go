package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"judged/internal/api"
)

// Submission is a job to be judged.
type Submission struct {
	ID         string
	BodyDigest string  // digest of the request, to recognize a repeated one
	Job        api.Job // its files are blobs
	Pool       string  // pool that judges it; "" means that of the job
}

// Put stores a queued job. When it returns, the job is durable. created is false if the same submission was stored
// before; then Put changes nothing and returns the stored record. Put returns ErrConflict if the ID has another body,
// and ErrFull if too many jobs are queued.
func (s *Store) Put(ctx context.Context, n Submission) (rec Record, created bool, err error) {
	if !ValidStoredID(n.ID) {
		return Record{}, false, fmt.Errorf("store job %q: %w", n.ID, ErrBadID)
	}
	reserved, err := s.reserve(ctx)
	if err != nil {
		return Record{}, false, err
	}
	if reserved {
		defer func() { s.capacity.release(created) }()
		rec, created, err = s.insert(ctx, n)
		if err != nil {
			return Record{}, false, err
		}
		if created {
			s.notifyWork(n.slotClass())
			return rec, true, nil
		}
	}
	rec, err = s.Get(ctx, n.ID)
	switch {
	case errors.Is(err, api.ErrNotFound) && !reserved:
		return Record{}, false, fmt.Errorf("store job %q: %d jobs wait: %w", n.ID, s.maxWaiting.Load(), ErrFull)
	case err == nil && rec.BodyDigest != n.BodyDigest:
		err = fmt.Errorf("store job %q: %w", n.ID, ErrConflict)
	}
	return rec, false, err
}

// slotClassOf returns the slot class that a job asks for.
func slotClassOf(j api.Job) slotClass {
	k := slotClass{pool: j.Pool, width: j.CPUs}
	if k.pool == "" {
		k.pool = defaultPool
	}
	return k
}

const defaultPool = "default"

const insertJob = `INSERT INTO jobs (id, digest, state, priority, pool, width, due, created, labels, job)
VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING RETURNING seq`

// createdArg is the index of the creation time among the arguments of insertJob.
const createdArg = 5

// insert stores the row and its labels. created is false if the ID exists.
func (s *Store) insert(ctx context.Context, n Submission) (rec Record, created bool, err error) {
	rec, args, err := s.newRow(n)
	if err != nil {
		return Record{}, false, err
	}
	if len(n.Job.Labels) == 0 {
		err = s.rows(ctx, s.write, query{"put job", insertJob, args},
			func(*sql.Rows) error { created = true; return nil })
	} else {
		created, err = s.insertLabelled(ctx, n.Job.Labels, args, nil)
	}
	return rec, created && err == nil, err
}

// newRow returns the record of a new job and the arguments of insertJob.
func (s *Store) newRow(n Submission) (rec Record, args []any, err error) {
	body, err := packJSON(n.Job)
	if err != nil {
		return Record{}, nil, fmt.Errorf("encode job %q: %w", n.ID, err)
	}
	r := row{id: n.ID, state: queued, priority: priorityNumber(n.Job.Priority), created: s.now().UnixNano()}
	if len(n.Job.Labels) > 0 {
		labels, err := json.Marshal(n.Job.Labels)
		if err != nil {
			return Record{}, nil, fmt.Errorf("encode job %q: %w", n.ID, err)
		}
		r.labels = string(labels)
	}
	if rec.Report, err = r.report(); err != nil {
		return Record{}, nil, err
	}
	rec.ID, rec.BodyDigest, rec.Job, rec.Lease.ID = n.ID, n.BodyDigest, n.Job, n.ID
	k := n.slotClass()
	rec.Pool = k.pool
	return rec, []any{n.ID, n.BodyDigest, r.priority, k.pool, k.width, r.created, r.labels, body}, nil
}

// insertLabelled inserts a job, its labels and what more inserts in one transaction.
func (s *Store) insertLabelled(
	ctx context.Context, labels map[string]string, args []any, more func(context.Context, *sql.Tx) error,
) (created bool, err error) {
	// Prepared before the transaction, which holds SQLite's only connection that writes.
	main, err := s.statement(ctx, s.write, insertJob)
	if err != nil {
		return false, s.explain(ctx, "put job", err)
	}
	side, err := s.statement(ctx, s.write, insertLabels(len(labels)))
	if err != nil {
		return false, s.explain(ctx, "put job", err)
	}
	err = s.tx(ctx, "put job", func(ctx context.Context, tx *sql.Tx) error {
		var seq int64
		found, err := tx.StmtContext(ctx, main).QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		if err := each(found, func(rows *sql.Rows) error { created = true; return rows.Scan(&seq) }); err != nil ||
			!created {
			return err
		}
		values := []any{args[createdArg], seq}
		for key, value := range labels {
			values = append(values, labelHash(key, value))
		}
		if _, err = tx.StmtContext(ctx, side).ExecContext(ctx, values...); err != nil || more == nil {
			return err
		}
		return more(ctx, tx)
	})
	return created, err
}

// insertLabels inserts n labels of one job.
func insertLabels(n int) string {
	var text strings.Builder
	text.WriteString(`INSERT INTO labels (created, job, label) VALUES `)
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("(?1, ?2, ?" + strconv.Itoa(i+3) + ")")
	}
	return text.String()
}

// labelHash returns what the index stores for a label: a fixed length without the bytes that a text column of
// PostgreSQL refuses.
func labelHash(key, value string) []byte {
	sum := sha256.Sum256([]byte(key + "\x00" + value))
	return sum[:16]
}
