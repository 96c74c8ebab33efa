package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
)

// The trigger that inserts the callback of a job when it ends. OLD.finished excludes a job that has ended before and
// receives the report of a rejudging.
const (
	onEnd = `CREATE TRIGGER add_callback AFTER UPDATE OF finished ON jobs
FOR EACH ROW WHEN (NEW.finished > 0 AND OLD.finished = 0 AND NEW.callback <> '')`
	addCallback = `INSERT INTO callbacks (job, receiver, due, created)
VALUES (NEW.seq, NEW.callback, NEW.finished, NEW.finished);`
)

// States of a callback in the database.
const (
	callbackPending = iota
	callbackDelivered
	callbackGivenUp
)

var callbackStates = [...]api.CallbackState{callbackPending: api.CallbackPending,
	callbackDelivered: api.CallbackDelivered, callbackGivenUp: api.CallbackGivenUp}

// ClaimedCallback is a callback that this process is trying to deliver.
type ClaimedCallback struct {
	Receiver string
	Number   int // number of this try, from 1
	job      int64
	created  int64
	log      []api.CallbackTry
}

// CallbackReceiver is a receiver with pending callbacks.
type CallbackReceiver struct {
	ID     string
	Due    time.Time // time of its next try
	Proven bool      // its last try did not fail
}

// CallbackDue receives a value when there may be new callbacks. Callers must also poll, because changes by other
// processes can be missed.
func (s *Store) CallbackDue() <-chan struct{} { return s.notifier.callbacks }

// dueReceivers steps from one receiver to the next, so that it reads one index entry per receiver, not per callback.
const dueReceivers = `WITH RECURSIVE waiting (receiver, n) AS (
	SELECT MIN(receiver), CAST(1 AS BIGINT) FROM callbacks WHERE due > 0 AND receiver > ?1
	UNION ALL
	SELECT (SELECT MIN(c.receiver) FROM callbacks c WHERE c.due > 0 AND c.receiver > waiting.receiver), n + 1
	FROM waiting WHERE receiver IS NOT NULL AND n < ?2)
SELECT waiting.receiver, (SELECT MIN(c.due) FROM callbacks c WHERE c.due > 0 AND c.receiver = waiting.receiver),
	COALESCE(r.failures, -1), COALESCE(r.paused, 0)
FROM waiting LEFT JOIN receivers r ON r.id = waiting.receiver WHERE waiting.receiver IS NOT NULL`

// DueReceivers returns up to limit receivers that have callbacks and come after the given one, in the order of their
// IDs.
func (s *Store) DueReceivers(ctx context.Context, after string, limit int) (all []CallbackReceiver, err error) {
	err = s.rows(ctx, s.read, query{"read callbacks", dueReceivers, []any{after, limit}},
		func(rows *sql.Rows) error {
			var r CallbackReceiver
			var due, failures, paused sql.NullInt64
			if err := rows.Scan(&r.ID, &due, &failures, &paused); err != nil {
				return err
			}
			r.Due, r.Proven = timeOf(max(due.Int64, paused.Int64)), failures.Int64 == 0
			if due.Valid { // otherwise delivered meanwhile
				all = append(all, r)
			}
			return nil
		})
	return all, err
}

// ClaimCallbacks claims up to n callbacks of a receiver, those of the jobs that ended first. FinishCallback ends a
// claim. After the lease, another process may claim the callback.
func (s *Store) ClaimCallbacks(ctx context.Context, receiver string, n int, lease time.Duration) (
	all []ClaimedCallback, err error) {
	now := s.now()
	err = s.rows(ctx, s.write, query{"set callback", `UPDATE callbacks SET due = ?1, tries = tries + 1 WHERE job IN
(SELECT job FROM callbacks WHERE due > 0 AND receiver = ?2 AND due <= ?3 ORDER BY due LIMIT ?4 {lock})
RETURNING job, created, tries, log`, []any{now.Add(lease).UnixNano(), receiver, now.UnixNano(), n}},
		func(rows *sql.Rows) error {
			c := ClaimedCallback{Receiver: receiver}
			var log []byte
			if err := rows.Scan(&c.job, &c.created, &c.Number, &log); err != nil {
				return err
			}
			if log != nil {
				if err := unpackJSON(log, &c.log); err != nil {
					return fmt.Errorf("decode the log of a callback: %w", err)
				}
			}
			all = append(all, c)
			return nil
		})
	slices.SortFunc(all, func(a, b ClaimedCallback) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.job, b.job))
	})
	return all, err
}

// Callback is a callback with the data to send.
type Callback struct {
	ID  string // the same in all tries
	Job Record
}

// CallbackJob returns the job of a callback, with the tests and outputs of its report if requested. It returns
// api.ErrNotFound if the job was deleted.
func (s *Store) CallbackJob(ctx context.Context, c ClaimedCallback, tests bool) (call Callback, err error) {
	var id string
	err = s.rows(ctx, s.read, query{"read job", `SELECT id FROM jobs WHERE seq = ?1`, []any{c.job}},
		func(rows *sql.Rows) error { return rows.Scan(&id) })
	if err != nil {
		return call, err
	}
	large := "NULL, NULL"
	if tests {
		large = "tests, outputs"
	}
	r, rec, err := s.get(ctx, id, large)
	if err == nil && (r.seq != c.job || rec.Job.Callback == nil) {
		err = fmt.Errorf("job of a callback: %w", api.ErrNotFound)
	}
	return Callback{ID: callbackID(r), Job: rec}, err
}

// callbackID returns the ID of a callback. It is unique although another job may get the ID of a deleted one.
func callbackID(r row) string {
	return "msg_" + digestOf(fmt.Sprintf("%q %d %d", r.id, r.seq, r.created))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// DeleteCallback deletes a callback whose job was deleted.
func (s *Store) DeleteCallback(ctx context.Context, c ClaimedCallback) error {
	_, err := s.exec(ctx, "set callback", `DELETE FROM callbacks WHERE job = ?1`, c.job)
	return err
}

// TriedCallback is the result of a try.
type TriedCallback struct {
	Try  api.CallbackTry
	Next time.Time // time of the next try, if there is one
	// Receiver is called with the number of consecutive failed tries. It returns until when the receiver is paused and
	// whether it is disabled. It is nil if the result says nothing about the receiver.
	Receiver func(failures int) (paused time.Time, disabled bool)
	Origin   string // origin of the receiver
	Tenant   string
}

// FinishCallback stores the result of a try and ends the claim. An interrupted try does not count. If the try failed, it
// returns the receiver. If another process has a claim, FinishCallback changes nothing.
func (s *Store) FinishCallback(ctx context.Context, c ClaimedCallback, t TriedCallback) (r api.Receiver, err error) {
	log, err := packJSON(t.log(c))
	if err != nil {
		return r, fmt.Errorf("encode the log of a callback: %w", err)
	}
	state, due, known, uncounted := callbackPending, int64(0), true, 0
	switch t.Try.Result {
	case api.TryFailed, api.TryInterrupted:
		due, known = unixNano(t.Next), !t.Next.IsZero()
		if t.Try.Result == api.TryInterrupted {
			uncounted = 1 // the next try has its number
		}
	case api.TryDelivered:
		state = callbackDelivered
	case api.TryGivenUp:
		state = callbackGivenUp
	default:
		known = false
	}
	if !known { // it would stay pending but never be due
		return r, fmt.Errorf("set callback: result %q with the next try at %v", t.Try.Result, t.Next)
	}
	err = s.tx(ctx, "set callback", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, s.driver.sql(`UPDATE callbacks SET due = ?1, state = ?2, log = ?3,
	tries = tries - ?4 WHERE job = ?5 AND tries = ?6 AND due > 0`), due, state, log, uncounted, c.job, c.Number)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 || t.Receiver == nil {
			return err
		}
		if t.Try.Result == api.TryDelivered {
			return s.receiverWorks(ctx, tx, c.Receiver, t)
		}
		r, err = s.receiverFails(ctx, tx, c.Receiver, t)
		return err
	})
	return r, err
}

// log returns the log with this try, and with earlier tries that were interrupted.
func (t TriedCallback) log(c ClaimedCallback) []api.CallbackTry {
	all := slices.Clone(c.log)
	last := 0
	if len(all) > 0 {
		last = all[len(all)-1].Number
	}
	for n := max(last+1, t.Try.Number-api.MaxCallbackTries); n < t.Try.Number; n++ {
		all = append(all, api.CallbackTry{Number: n, Result: api.TryInterrupted})
	}
	all = append(all, t.Try)
	return all[max(0, len(all)-api.MaxCallbackTries):]
}

// Callbacks returns the callback of a job and its tries; the list is empty if the job has none.
func (s *Store) Callbacks(ctx context.Context, id string) ([]api.CallbackLog, error) {
	r, rec, err := s.get(ctx, id, "NULL, NULL")
	if err != nil || rec.Job.Callback == nil {
		return []api.CallbackLog{}, err
	}
	log := api.CallbackLog{URL: rec.Job.Callback.URL, State: api.CallbackWaiting, Tries: []api.CallbackTry{}}
	err = s.rows(ctx, s.read, query{"read callback",
		`SELECT receiver, due, state, created, log FROM callbacks WHERE job = ?1`, []any{r.seq}},
		func(rows *sql.Rows) error {
			var receiver string
			var due, created int64
			var state int
			var tries []byte
			if err := rows.Scan(&receiver, &due, &state, &created, &tries); err != nil {
				return err
			}
			if state < 0 || state >= len(callbackStates) {
				return fmt.Errorf("decode the callback of job %q: unknown state %d", id, state)
			}
			log.ID, log.State = callbackID(r), callbackStates[state]
			log.CreatedAt, log.NextTry = timeOf(created), timeOf(due)
			log.Receiver = &api.Receiver{ID: receiver}
			if tries == nil {
				return nil
			}
			return unpackJSON(tries, &log.Tries)
		})
	if err != nil || log.Receiver == nil {
		return []api.CallbackLog{log}, err
	}
	receiver, err := s.receiver(ctx, log.Receiver.ID)
	log.Receiver = &receiver
	if errors.Is(err, ErrNoReceiver) || err == nil && receiver.Failures == 0 {
		log.Receiver, err = nil, nil
	}
	return []api.CallbackLog{log}, err
}
