package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"judged/internal/api"
)

// ErrInUse means that a job cannot be deleted yet. The wrapping error says why.
var ErrInUse = errors.New("the job is in use")

// Delete deletes a job that has ended, with its labels, test events, callback and earlier reports. Its blobs are deleted
// after their retention. The feed keeps the positions of its events, so that readers can resume there. Delete returns
// ErrInUse if the job has not ended, belongs to another job, or has an open audit or rejudging.
func (s *Store) Delete(ctx context.Context, id string) error {
	if !ValidStoredID(id) {
		return fmt.Errorf("delete job %q: %w", id, api.ErrNotFound)
	}
	err := s.tx(ctx, "delete job", func(ctx context.Context, tx *sql.Tx) error {
		d := deletion{ctx, tx, s.driver.sql, s.now().UnixNano()}
		r, err := d.job(id)
		if err == nil {
			err = d.unused(r)
		}
		if err != nil {
			return err
		}
		all, err := d.copies(r)
		for _, seq := range all {
			err = errors.Join(err, d.remove(seq))
		}
		return err
	})
	if errors.Is(err, ErrInUse) || errors.Is(err, api.ErrNotFound) {
		return fmt.Errorf("delete job %q: %w", id, err)
	}
	if err == nil {
		s.notifyDeleted()
	}
	return err
}

// deletion is the transaction of Delete.
type deletion struct {
	ctx context.Context
	tx  *sql.Tx
	sql func(string) string
	now int64
}

func (d deletion) rows(text string, scan func(*sql.Rows) error, args ...any) error {
	found, err := d.tx.QueryContext(d.ctx, d.sql(text), args...)
	if err != nil {
		return err
	}
	return each(found, scan)
}

// job reads the job of a caller and locks it.
func (d deletion) job(id string) (r row, err error) {
	err = d.rows(`SELECT `+rowColumns+` FROM jobs WHERE id = ?1 {hold}`,
		func(rows *sql.Rows) error { return rows.Scan(r.fields()...) }, id)
	if err != nil || r.id == "" {
		return r, errors.Join(err, api.ErrNotFound)
	}
	rep, err := r.report()
	if err == nil && hidden(d.ctx, rep.Tenant) {
		err = api.ErrNotFound
	}
	return r, err
}

// unused returns ErrInUse with the reason if a job cannot be deleted.
func (d deletion) unused(r row) error {
	switch {
	case r.priority == auditPriority:
		return fmt.Errorf("it is an earlier report of another job and is deleted with that one: %w", ErrInUse)
	case r.state < done:
		return fmt.Errorf("it is %s, cancel it first: %w", states[r.state], ErrInUse)
	}
	audits, rejudging := 0, ""
	err := d.rows(`SELECT COUNT(*) FROM audits WHERE finished = 0 AND original = ?1`,
		func(rows *sql.Rows) error { return rows.Scan(&audits) }, r.id)
	if err == nil {
		// There are few rejudgings. PostgreSQL would turn EXISTS into a join with all of their jobs.
		err = d.rows(`SELECT g.id FROM rejudgings g WHERE (g.state IN (0, 3) OR g.progress <> '')
AND (SELECT COUNT(*) FROM rejudged r WHERE r.rejudging = g.id AND r.original = ?1) > 0 LIMIT 1`,
			func(rows *sql.Rows) error { return rows.Scan(&rejudging) }, r.id)
	}
	if err == nil && rejudging == "" {
		err = d.rows(`SELECT g.id FROM rejudged r JOIN rejudgings g ON g.id = r.rejudging
WHERE r.id = ?1 AND (g.state IN (0, 3) OR g.progress <> '') LIMIT 1`,
			func(rows *sql.Rows) error { return rows.Scan(&rejudging) }, r.id)
	}
	switch {
	case err != nil:
		return err
	case audits > 0:
		return fmt.Errorf("%d of its audits have not finished, wait for them: %w", audits, ErrInUse)
	case rejudging != "":
		return fmt.Errorf("rejudging %q is open, apply or cancel it first: %w", rejudging, ErrInUse)
	}
	return nil
}

// copies returns the job and the jobs that hold its earlier reports. It relies on IDs and labels that only judged can
// set, see own.
func (d deletion) copies(r row) (all []int64, err error) {
	all = []int64{r.seq}
	for _, label := range CopyLabels() {
		err = errors.Join(err, d.rows(`SELECT job FROM labels WHERE label = ?1`, func(rows *sql.Rows) error {
			var seq int64
			err := rows.Scan(&seq)
			all = append(all, seq)
			return err
		}, labelHash(label, r.id)))
	}
	return all, err
}

func (d deletion) remove(seq int64) error {
	for _, text := range []string{
		`DELETE FROM labels WHERE job = ?1`,
		`DELETE FROM events WHERE job = ?1`,
		`DELETE FROM callbacks WHERE job = ?1`,
		`DELETE FROM jobs WHERE seq = ?1`,
	} {
		if _, err := d.tx.ExecContext(d.ctx, d.sql(text), seq); err != nil {
			return err
		}
	}
	_, err := d.tx.ExecContext(d.ctx, d.sql(`UPDATE feed SET job = 0, number = ?1 WHERE job = ?2`), d.now, seq)
	return err
}
