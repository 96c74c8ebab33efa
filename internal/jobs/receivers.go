package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"judged/internal/api"
)

// ReceiverID returns the ID of the receiver of a callback of a tenant.
func ReceiverID(tenant string, c api.Callback) string {
	return digestOf(fmt.Sprintf("%q %q", tenant, c.Origin()))
}

// receiverOf returns the ID of the receiver of a job's callback, or "".
func receiverOf(n Submission) string {
	if n.Job.Callback == nil {
		return ""
	}
	return ReceiverID(n.Tenant, *n.Job.Callback)
}

// receiverSeen is how often the time of a receiver without failures is updated, so that it is not deleted.
const receiverSeen = 24 * time.Hour

func (s *Store) receiverWorks(ctx context.Context, tx *sql.Tx, id string, t TriedCallback) error {
	now := s.now()
	_, err := tx.ExecContext(ctx, s.driver.sql(`INSERT INTO receivers (id, tenant, origin, failures, changed)
VALUES (?1, ?2, ?3, 0, ?4) ON CONFLICT (id) DO UPDATE SET failures = 0, paused = 0, disabled = 0, error = '',
	changed = excluded.changed WHERE receivers.failures > 0 OR receivers.changed < ?5`),
		id, t.Tenant, t.Origin, now.UnixNano(), now.Add(-receiverSeen).UnixNano())
	return err
}

func (s *Store) receiverFails(ctx context.Context, tx *sql.Tx, id string, t TriedCallback) (api.Receiver, error) {
	r := api.Receiver{ID: id, Origin: t.Origin, Tenant: t.Tenant, LastError: t.Try.Error}
	found, err := tx.QueryContext(ctx, s.driver.sql(`INSERT INTO receivers (id, tenant, origin, failures, changed, error)
VALUES (?1, ?2, ?3, 1, ?4, ?5) ON CONFLICT (id) DO UPDATE SET failures = receivers.failures + 1,
	changed = excluded.changed, error = excluded.error RETURNING failures`),
		id, t.Tenant, t.Origin, s.now().UnixNano(), t.Try.Error)
	if err == nil {
		err = each(found, func(rows *sql.Rows) error { return rows.Scan(&r.Failures) })
	}
	if err != nil {
		return r, err
	}
	r.Paused, r.Disabled = t.Receiver(r.Failures)
	disabled := 0
	if r.Disabled {
		disabled = 1
	}
	_, err = tx.ExecContext(ctx, s.driver.sql(`UPDATE receivers SET paused = ?1, disabled = ?2 WHERE id = ?3`),
		unixNano(r.Paused), disabled, id)
	return r, err
}

const receiverColumns = `id, tenant, origin, failures, paused, disabled, error`

// scanReceiver reads a row of receiverColumns. The receiver is enabled again after its pause.
func (s *Store) scanReceiver(rows *sql.Rows) (r api.Receiver, err error) {
	var paused int64
	var disabled int
	err = rows.Scan(&r.ID, &r.Tenant, &r.Origin, &r.Failures, &paused, &disabled, &r.LastError)
	if paused > s.now().UnixNano() {
		r.Paused, r.Disabled = timeOf(paused), disabled > 0
	}
	return r, err
}

// receiver returns a receiver that has failed, or ErrNoReceiver.
func (s *Store) receiver(ctx context.Context, id string) (r api.Receiver, err error) {
	err = s.rows(ctx, s.read, query{"read receiver", `SELECT ` + receiverColumns + ` FROM receivers WHERE id = ?1`,
		[]any{id}}, func(rows *sql.Rows) (err error) {
		r, err = s.scanReceiver(rows)
		return err
	})
	if err == nil && r.ID == "" {
		err = fmt.Errorf("receiver %q: %w", id, ErrNoReceiver)
	}
	return r, err
}

// DisabledReceiver returns the receiver of a tenant's callback if it is disabled.
func (s *Store) DisabledReceiver(ctx context.Context, tenant string, c api.Callback) (_ api.Receiver, disabled bool,
	err error) {
	r, err := s.receiver(ctx, ReceiverID(tenant, c))
	if errors.Is(err, ErrNoReceiver) {
		err = nil
	}
	return r, r.Disabled, err
}

// Receivers returns a page of the receivers whose last try failed, and the cursor of the next page.
func (s *Store) Receivers(ctx context.Context, after string, limit int) (page []api.Receiver, next string, err error) {
	page = []api.Receiver{}
	err = s.rows(ctx, s.read, query{"list receivers", `SELECT ` + receiverColumns + ` FROM receivers
WHERE failures > 0 AND id > ?1 AND (?2 = '' OR tenant = ?2) ORDER BY id LIMIT ?3`,
		[]any{after, TenantOf(ctx), limit + 1}}, func(rows *sql.Rows) error {
		r, err := s.scanReceiver(rows)
		if len(page) < limit {
			page = append(page, r)
		} else {
			next = page[limit-1].ID
		}
		return err
	})
	return page, next, err
}

// EnableReceiver ends the pause of a receiver.
func (s *Store) EnableReceiver(ctx context.Context, id string) (r api.Receiver, err error) {
	err = s.rows(ctx, s.write, query{"set receiver", `UPDATE receivers SET paused = 0, disabled = 0, changed = ?1,
	failures = CASE WHEN failures > 1 THEN 1 ELSE failures END WHERE id = ?2 AND (?3 = '' OR tenant = ?3)
RETURNING ` + receiverColumns, []any{s.now().UnixNano(), id, TenantOf(ctx)}}, func(rows *sql.Rows) (err error) {
		r, err = s.scanReceiver(rows)
		return err
	})
	if err == nil && r.ID == "" {
		err = fmt.Errorf("enable receiver %q: %w", id, ErrNoReceiver)
	}
	wakeUp(s.notifier.callbacks)
	return r, err
}

// DisabledReceivers returns the number of receivers that are disabled.
func (s *Store) DisabledReceivers(ctx context.Context) (n int, err error) {
	err = s.rows(ctx, s.read, query{"count receivers", `SELECT COUNT(*) FROM receivers WHERE disabled > 0 AND paused > ?1`,
		[]any{s.now().UnixNano()}}, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}
