package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

const (
	// sweepEvery is how often old jobs are deleted.
	sweepEvery = time.Minute
	// sweepBatch is the number of jobs that one transaction deletes. It bounds the delay of other writers.
	sweepBatch = 500
)

// maintain periodically deletes old jobs and reads the database's clock, until life is done.
func (s *Store) maintain(life context.Context) {
	for range poll.Every(life, sweepEvery) {
		s.unparked.Store(0) // examine all
		if _, err := s.Sweep(life); err != nil && life.Err() == nil {
			s.opts.Log.Warn("cannot delete old jobs; retrying in a minute", "error", err)
		}
		if err := s.readClock(life); err != nil && life.Err() == nil {
			s.opts.Log.Debug("cannot read the database's clock", "error", err)
		}
	}
}

// retention says which finished jobs are kept.
type retention struct {
	age  time.Duration
	jobs int
}

// SetRetention changes Options.Retention and Options.MaxJobs.
func (s *Store) SetRetention(age time.Duration, jobs int) { s.retention.Store(&retention{age, jobs}) }

// Sweep deletes finished jobs beyond Options.Retention and Options.MaxJobs, the first to finish first, and returns
// their number. The store calls it once a minute.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	before, err := s.expiry(ctx)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for {
		n, err := s.sweepBatch(ctx, before)
		deleted += n
		if err != nil {
			return deleted, err
		}
		if n < sweepBatch {
			return deleted, errors.Join(s.sweepValues(ctx), s.sweepFeed(ctx))
		}
	}
}

// expiry returns the finish time up to which jobs are deleted because they are too old or exceed MaxJobs. 0 means none.
func (s *Store) expiry(ctx context.Context) (int64, error) {
	before, keep := int64(0), s.retention.Load()
	if keep.age > 0 {
		before = s.now().Add(-keep.age).UnixNano()
	}
	if keep.jobs > 0 {
		err := s.rows(ctx, s.read, query{"sweep old jobs",
			`SELECT finished FROM jobs WHERE finished > 0 ORDER BY finished DESC, seq DESC LIMIT 1 OFFSET ?1`,
			[]any{keep.jobs}}, func(rows *sql.Rows) error {
			var at int64
			err := rows.Scan(&at)
			before = max(before, at)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return before, nil
}

func (s *Store) sweepBatch(ctx context.Context, before int64) (deleted int, err error) {
	const old = `(SELECT seq FROM jobs WHERE finished > 0 AND finished <= ?1 ORDER BY finished, seq LIMIT ?2)`
	err = s.tx(ctx, "sweep old jobs", func(ctx context.Context, tx *sql.Tx) error {
		for _, text := range []string{
			`DELETE FROM labels WHERE job IN ` + old,
			`DELETE FROM events WHERE job IN ` + old,
			`DELETE FROM callbacks WHERE job IN ` + old,
			`DELETE FROM jobs WHERE seq IN ` + old,
		} {
			result, err := tx.ExecContext(ctx, s.driver.sql(text), before, sweepBatch)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			deleted = int(n) // of the last statement, which deletes from jobs
		}
		return nil
	})
	return deleted, err
}

// sweepValues deletes values older than valueAge.
func (s *Store) sweepValues(ctx context.Context) error {
	before := s.now().Add(-valueAge).UnixNano()
	return s.tx(ctx, "sweep old values", func(ctx context.Context, tx *sql.Tx) error {
		for _, text := range []string{
			`DELETE FROM audits WHERE created < ?1`,
			`DELETE FROM tenant_usage WHERE day < ?1`,
			`DELETE FROM rejudged WHERE rejudging IN (SELECT id FROM rejudgings WHERE created < ?1)`,
			`DELETE FROM rejudgings WHERE created < ?1`,
			`DELETE FROM receivers WHERE changed < ?1`,
		} {
			if _, err := tx.ExecContext(ctx, s.driver.sql(text), before); err != nil {
				return err
			}
		}
		problems, operators := valuePrefix(problemValues), valuePrefix(OperatorValues)
		_, err := tx.ExecContext(ctx, s.driver.sql(`DELETE FROM key_value WHERE stored < ?1
AND substr(name, 1, ?2) <> ?3 AND substr(name, 1, ?4) <> ?5`), before, len(problems), problems, len(operators), operators)
		return err
	})
}

// Unfinished yields all queued and running jobs of one snapshot, in no particular order.
func (s *Store) Unfinished(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		q := query{"read unfinished jobs", `SELECT ` + rowColumns + `, digest, job FROM jobs WHERE state < 2`, nil}
		err := s.adhoc(ctx, 0, q, func(rows *sql.Rows) error {
			var r row
			var digest string
			var body []byte
			if err := rows.Scan(append(r.fields(), &digest, &body)...); err != nil {
				return err
			}
			rec, err := r.record(digest, body, nil, nil)
			if err == nil && !yield(rec, nil) {
				err = errStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Record{}, err)
		}
	}
}

// Blobs returns the digests of all blobs that unfinished jobs, problems and reports name. It fails if one of these
// cannot be read, because then any blob may be in use.
func (s *Store) Blobs(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	for rec, err := range s.Unfinished(ctx) {
		if err == nil {
			_, err = rec.Job.MapFiles(func(_ string, f api.File) (api.File, error) {
				named[f.Blob] = true
				return f, nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("find the blobs of unfinished jobs: %w", err)
		}
	}
	err := s.Values(ctx, func(_ string, value []byte) error {
		return eachProblemBlob(value, func(digest string) { named[digest] = true })
	}, problemValues)
	if err != nil {
		return nil, fmt.Errorf("find the blobs of problems: %w", err)
	}
	q := query{"read outputs", `SELECT outputs FROM jobs WHERE outputs IS NOT NULL`, nil}
	err = s.adhoc(ctx, 0, q, func(rows *sql.Rows) error {
		var packed []byte
		if err := rows.Scan(&packed); err != nil {
			return err
		}
		return eachOutput(packed, func(digest string) { named[digest] = true })
	})
	if err != nil {
		return nil, fmt.Errorf("find the blobs of reports: %w", err)
	}
	return named, nil
}
