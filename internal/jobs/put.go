package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"judged/internal/api"
)

// Submission is a job to be judged.
type Submission struct {
	ID         string
	BodyDigest string  // digest of the request, to recognize repetitions
	Job        api.Job // its files are blobs
	Pool       string  // pool that judges the job; "" means that of Job
	Tenant     string  // tenant of the job; Put sets that of its caller
}

// Put stores a queued job. When it returns, the job is durable. created is false if the same submission was stored
// before; then Put changes nothing and returns the stored record. Put returns ErrConflict if the ID is used with
// another body or by another tenant, and ErrFull if too many jobs are queued.
func (s *Store) Put(ctx context.Context, n Submission) (rec Record, created bool, err error) {
	if !ValidStoredID(n.ID) {
		return Record{}, false, fmt.Errorf("store job %q: %w", n.ID, ErrBadID)
	}
	n.Tenant = TenantOf(ctx)
	refused, err := s.place(ctx, n.Tenant)
	if err != nil {
		return Record{}, false, err
	}
	if refused == nil {
		defer func() { s.capacity.release(n.Tenant, created) }()
		var taken bool
		rec, created, taken, err = s.insert(ctx, n)
		if err != nil {
			return Record{}, false, err
		}
		if created {
			if !taken {
				s.notifyWork(n.slotClass())
			}
			return rec, true, nil
		}
	}
	rec, err = s.Get(WithTenant(ctx, ""), n.ID)
	switch {
	case errors.Is(err, api.ErrNotFound) && refused != nil:
		return Record{}, false, fmt.Errorf("store job %q: %w", n.ID, refused)
	case err == nil && hidden(ctx, rec.Report.Tenant):
		return Record{}, false, fmt.Errorf("store job %q: %w", n.ID, ErrConflict)
	case err == nil && rec.BodyDigest != n.BodyDigest:
		err = fmt.Errorf("store job %q: %w", n.ID, ErrConflict)
	}
	return rec, false, err
}

// slotClassOf returns the slot class that a job requests.
func slotClassOf(j api.Job) slotClass {
	k := slotClass{pool: j.Pool, width: j.CPUs}
	if k.pool == "" {
		k.pool = defaultPool
	}
	return k
}

const defaultPool = "default"

// The statement that inserts jobs.
const (
	insertInto = `INSERT INTO jobs (id, digest, state, priority, pool, width, due, created, labels, job, tenant, turn,
	callback) VALUES `
	insertRow  = `(?1, ?2, 0, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?11)`
	insertOnce = ` ON CONFLICT (id) DO NOTHING RETURNING seq`
	insertJob  = insertInto + insertRow + insertOnce
)

// createdArg is the index of the creation time among the arguments of insertJob.
const createdArg = 5

// insert stores the row and its labels. created is false if the ID exists. taken means that a taker has the job.
func (s *Store) insert(ctx context.Context, n Submission) (rec Record, created, taken bool, err error) {
	turn := s.turns.assign(n.flow())
	defer func() { s.settle(n.flow(), turn, created) }()
	rec, args, err := s.newRow(n, turn)
	if err != nil {
		return Record{}, false, false, err
	}
	w, h := insertion(n, args, &created), s.notifier.accept(n.slotClass(), n.Job.Priority)
	if h == nil {
		err = s.share(ctx, w)
		return rec, created && err == nil, false, err
	}
	id, err := s.putAndTake(ctx, w, &created, h)
	return rec, created && err == nil, id == n.ID, err
}

// insertion returns the write of a job and its labels, which sets created.
func insertion(n Submission, args []any, created *bool) *write {
	w := &write{operation: "put job", texts: []string{insertJob}}
	labels := listedLabels(n)
	if len(labels) > 0 {
		w.texts = append(w.texts, insertLabels(len(labels)))
	}
	w.run = func(do statementRunner) error {
		var seq int64
		err := do(insertJob, args, func(rows *sql.Rows) error { return rows.Scan(&seq) })
		if *created = seq != 0; err != nil || !*created || len(labels) == 0 {
			return err
		}
		return do(w.texts[1], labelArgs(labels, args[createdArg], seq), nil)
	}
	return w
}

// newRow returns the record of a new job and the arguments of insertJob.
func (s *Store) newRow(n Submission, turn int64) (rec Record, args []any, err error) {
	p, err := pack(n)
	if err != nil {
		return Record{}, nil, err
	}
	r := row{id: n.ID, state: queued, priority: p.priority, created: s.now().UnixNano(), labels: p.encoded}
	if rec.Report, err = r.report(); err != nil {
		return Record{}, nil, err
	}
	rec.ID, rec.BodyDigest, rec.Job, rec.Lease.ID = n.ID, n.BodyDigest, n.Job, n.ID
	rec.Pool = p.class.pool
	return rec, p.args(r.created, turn), nil
}

// insertLabelled inserts a job and its labels, and calls more, in one transaction.
func (s *Store) insertLabelled(ctx context.Context, n Submission, args []any,
	more func(context.Context, *sql.Tx) error) (created bool, err error) {
	err = s.writesTx(ctx, []*write{insertion(n, args, &created)}, func(ctx context.Context, tx *sql.Tx) error {
		if !created || more == nil {
			return nil
		}
		return more(ctx, tx)
	})
	return created, err
}

const insertLabelsInto = `INSERT INTO labels (created, job, label) VALUES `

// insertLabels inserts n labels of one job.
func insertLabels(n int) string {
	var text strings.Builder
	text.WriteString(insertLabelsInto)
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("(?1, ?2, ?" + strconv.Itoa(i+3) + ")")
	}
	return text.String()
}

// labelArgs returns the arguments of insertLabels.
func labelArgs(labels map[string]string, created, seq any) []any {
	args := []any{created, seq}
	for key, value := range labels {
		args = append(args, labelHash(key, value))
	}
	return args
}

// labelHash returns the hash that the index stores for a label. It has a fixed length, and labels may contain bytes
// that a text column of PostgreSQL rejects.
func labelHash(key, value string) []byte {
	sum := sha256.Sum256([]byte(key + "\x00" + value))
	return sum[:16]
}
