package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what Open needs. URL or File is required, all else has a default.
type Options struct {
	URL  string // of a PostgreSQL database, postgres://…; "" is SQLite
	File string // of the SQLite database

	Lease      time.Duration // how long a job is held without Extend; 0 is 30 s
	MaxDeliver int           // attempts until a job is handed out as exhausted; 0 is 3
	MaxWaiting int           // most jobs that wait in all pools; 0 is no bound
	Retention  time.Duration // how long finished jobs are kept; 0 is for ever
	MaxJobs    int           // most finished jobs that are kept; 0 is no bound

	Timeout time.Duration // bound of one operation; 0 is 10 s
	Now     func() time.Time
	Log     *slog.Logger
	// OnUnavailable is called for each operation that failed with
	// ErrUnavailable, with one of Operations.
	OnUnavailable func(operation string)

	poll  time.Duration // 0 is pollEvery
	alone bool          // no other process may use the database, see Restore
}

// pollEvery is how often the store looks at the database without being woken:
// for leases that expire, delays that end, and what another process did while
// there were no notifications.
const pollEvery = time.Second

// Store is an open database. It is safe for concurrent use, and several
// processes may open the same one.
type Store struct {
	opts   Options
	driver driver
	write  *sql.DB // changes, and reads that belong to them
	read   *sql.DB // everything else; the same as write where writers do not exclude readers
	hub    hub
	room   room
	outbox outbox
	check  check
	offset atomic.Int64 // nanoseconds that the database's clock is ahead of this process's

	maxWaiting atomic.Int64 // Options.MaxWaiting, or what was set since

	prepared struct {
		sync.Mutex // guards the map
		statements map[preparedKey]*sql.Stmt
	}
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

type preparedKey struct {
	db   *sql.DB
	text string
}

// Open opens or creates the database, migrates it, and starts the tasks of the
// store: writing test events, deleting old jobs, listening for other processes.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, migrations)
}

// connect makes a store without tasks, whatever schema the database has.
func connect(o Options) (*Store, error) {
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.MaxDeliver = cmp.Or(o.MaxDeliver, 3)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.poll = cmp.Or(o.poll, pollEvery)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{opts: o, stop: func() {}}
	s.SetMaxWaiting(o.MaxWaiting)
	s.prepared.statements = map[preparedKey]*sql.Stmt{}
	s.outbox.wake = make(chan struct{}, 1)
	if o.URL == "" {
		return s, s.openSQLite()
	}
	return s, s.openPostgres()
}

func open(ctx context.Context, o Options, schema []string) (*Store, error) {
	s, err := connect(o)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if err = s.migrate(ctx, schema); err == nil {
		err = s.readClock(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.tasks.Go(func() { s.deliver(life) })
	s.tasks.Go(func() { s.maintain(life) })
	if s.driver.listen != nil {
		s.tasks.Go(func() { s.driver.listen(life) })
	}
	return s, nil
}

// Close ends the tasks and closes the database. What is not stored yet is
// lost: test events, which the report repeats.
func (s *Store) Close() error {
	s.stop()
	s.tasks.Wait()
	s.prepared.Lock()
	defer s.prepared.Unlock()
	var errs []error
	for _, statement := range s.prepared.statements {
		errs = append(errs, statement.Close())
	}
	if s.read != s.write {
		errs = append(errs, s.read.Close())
	}
	return errors.Join(append(errs, s.write.Close())...)
}

// driver is what differs between the databases.
type driver struct {
	name        string                   // for errors
	sql         func(text string) string // fills in the tokens of a query
	lockSchema  string                   // statement that locks the schema for a transaction, where BEGIN does not
	clock       string                   // query for the database's clock in nanoseconds; "" where it is ours
	unavailable func(error) string       // what to do about an error that can pass by itself; "" for others
	listen      func(context.Context)    // receives and sends notifications; nil where there is one process
	notify      func(message string)     // queues a notification for other processes

	snapshot  sql.IsolationLevel // of a transaction that reads one moment of the database
	users     string             // query for the number of processes of judged that use it; "" where Options.alone says it
	restored  string             // statement after rows were inserted with their keys; "" where none is needed
	makeEmpty string             // what to do about a database that has jobs
}

// now is the time by the database's clock, so that the leases of hosts whose
// clocks differ are compared with one of them.
func (s *Store) now() time.Time {
	return s.opts.Now().Add(time.Duration(s.offset.Load())).UTC()
}

func (s *Store) readClock(caller context.Context) error {
	if s.driver.clock == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	before := s.opts.Now()
	var theirs int64
	if err := s.read.QueryRowContext(ctx, s.driver.clock).Scan(&theirs); err != nil {
		return s.explain(caller, "read the clock", err)
	}
	after := s.opts.Now()
	s.offset.Store(theirs - before.Add(after.Sub(before)/2).UnixNano())
	return nil
}

// statement prepares a query once. Parsing is a third of the CPU time of a
// small statement in SQLite.
func (s *Store) statement(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	key := preparedKey{db, text}
	s.prepared.Lock()
	statement := s.prepared.statements[key]
	s.prepared.Unlock()
	if statement != nil {
		return statement, nil
	}
	// Without the lock: SQLite's writer may be busy for long.
	statement, err := db.PrepareContext(ctx, s.driver.sql(text))
	if err != nil {
		return nil, err
	}
	s.prepared.Lock()
	defer s.prepared.Unlock()
	if other := s.prepared.statements[key]; other != nil {
		return other, statement.Close()
	}
	s.prepared.statements[key] = statement
	return statement, nil
}

// exec runs a statement that changes rows, and returns how many.
func (s *Store) exec(caller context.Context, operation, text string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	statement, err := s.statement(ctx, s.write, text)
	if err != nil {
		return 0, s.explain(caller, operation, err)
	}
	result, err := statement.ExecContext(ctx, args...)
	if err != nil {
		return 0, s.explain(caller, operation, err)
	}
	return result.RowsAffected()
}

// query is a statement that returns rows.
type query struct {
	operation string
	text      string
	args      []any
}

// rows runs q on db and calls scan for each row.
func (s *Store) rows(caller context.Context, db *sql.DB, q query, scan func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	statement, err := s.statement(ctx, db, q.text)
	if err != nil {
		return s.explain(caller, q.operation, err)
	}
	found, err := statement.QueryContext(ctx, q.args...)
	if err == nil {
		err = each(found, scan)
	}
	return s.explain(caller, q.operation, err)
}

// adhoc runs q without keeping it prepared, for texts that vary. A bound of 0 is
// none.
func (s *Store) adhoc(caller context.Context, bound time.Duration, q query, scan func(*sql.Rows) error) error {
	ctx := caller
	if bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(caller, bound)
		defer cancel()
	}
	found, err := s.read.QueryContext(ctx, s.driver.sql(q.text), q.args...)
	if err == nil {
		err = each(found, scan)
	}
	return s.explain(caller, q.operation, err)
}

// each reads rows until scan fails. It reads them to their end: SQLite commits
// an UPDATE … RETURNING when it has returned its last row, and only then its
// failure is known.
func each(found *sql.Rows, scan func(*sql.Rows) error) error {
	for found.Next() {
		if err := scan(found); err != nil {
			return errors.Join(err, found.Close())
		}
	}
	return errors.Join(found.Err(), found.Close())
}

// tx runs f in a transaction.
func (s *Store) tx(caller context.Context, operation string, f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(caller, operation, err)
	}
	if err := f(ctx, tx); err != nil {
		rollback := tx.Rollback()
		if errors.Is(rollback, sql.ErrTxDone) {
			rollback = nil
		}
		return s.explain(caller, operation, errors.Join(err, rollback))
	}
	return s.explain(caller, operation, tx.Commit())
}

// check is the last answer of Check.
type check struct {
	mu  sync.Mutex // guards the rest; held while the database is asked
	at  time.Time
	err error
}

const (
	// checkAge is how long an answer of Check is believed.
	checkAge = time.Second
	// checkTimeout is when a database that does not answer counts as away.
	checkTimeout = 2 * time.Second
)

// Check writes to the database and returns why that is impossible, or nil. It
// writes at most once a second, and takes two seconds at most.
func (s *Store) Check() error {
	s.check.mu.Lock()
	defer s.check.mu.Unlock()
	if now := time.Now(); now.Sub(s.check.at) > checkAge {
		ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
		defer cancel()
		s.check.err = s.SetValue(ctx, now, "check")
		if ctx.Err() != nil {
			s.check.err = fmt.Errorf("%w: no answer within %v; check that %s is up and its disk is not stalled", ErrUnavailable, checkTimeout, s.driver.name)
		}
		s.check.at = time.Now()
	}
	return s.check.err
}
