package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/base/config"
)

// Options configure a store. URL or File is required.
type Options struct {
	URL  string // URL of a PostgreSQL database, postgres://…; "" selects SQLite
	File string // path of the SQLite database

	Lease      time.Duration // how long a job is leased without Extend; 0 means 30 s
	MaxDeliver int           // number of attempts before a job is handed out as exhausted; 0 means 3
	MaxWaiting int           // maximum number of queued jobs in all pools; 0 means no limit
	Retention  time.Duration // how long finished jobs are kept; 0 means forever
	MaxJobs    int           // maximum number of finished jobs that are kept; 0 means no limit
	Tenants    []config.Tenant

	Timeout time.Duration // timeout of one operation; 0 means 10 s
	// Now returns the time of this process; tests replace it. The clock of the database takes precedence, see
	// Store.Now.
	Now func() time.Time
	Log *slog.Logger
	// OnUnavailable is called for each operation that failed with ErrUnavailable, with one of Operations.
	OnUnavailable func(operation string)

	poll  time.Duration // 0 means pollEvery
	alone bool          // no other process may use the database, see Restore
	// elapsed is a monotonic clock; nil means that of Now.
	elapsed func() time.Duration
}

// pollEvery is how often the store polls the database: for expired leases, ended delays, and changes by other processes
// while notifications were lost.
const pollEvery = time.Second

// Store is an open database. It is safe for concurrent use. Several processes may open the same database.
type Store struct {
	opts     Options
	driver   driver
	write    *sql.DB // for writes
	read     *sql.DB // for reads; the same as write if writers do not block readers
	notifier notifier
	capacity capacity
	turns    turns
	group    group
	usage    usage
	outbox   outbox
	feed     feed
	check    check
	reading  atomic.Pointer[reading]

	rejudgings chan struct{} // see RejudgingStored
	unparked   atomic.Int64  // time up to which unpark has examined jobs, by the database's clock

	maxWaiting atomic.Int64 // Options.MaxWaiting, or the value set by SetMaxWaiting
	retention  atomic.Pointer[retention]

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

// Open opens or creates the database, migrates it, and starts the background tasks: storing test events, deleting old
// jobs, counting queued jobs, reading the feed for its followers, and listening for other processes.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, migrations)
}

// connect returns a store without background tasks, for any version of the schema.
func connect(o Options) (*Store, error) {
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.MaxDeliver = cmp.Or(o.MaxDeliver, 3)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.poll = cmp.Or(o.poll, pollEvery)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.elapsed == nil {
		start, now := o.Now(), o.Now
		o.elapsed = func() time.Duration { return now().Sub(start) } // the monotonic part of time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{opts: o, stop: func() {}}
	s.SetMaxWaiting(o.MaxWaiting)
	s.SetTenants(o.Tenants)
	s.SetRetention(o.Retention, o.MaxJobs)
	s.setClock(o.Now(), o.elapsed())
	s.prepared.statements = map[preparedKey]*sql.Stmt{}
	s.outbox.wake, s.rejudgings = make(chan struct{}, 1), make(chan struct{}, 1)
	s.capacity.wake = make(chan struct{}, 1)
	s.notifier.feed, s.feed.catchUps = make(chan struct{}, 1), make(chan struct{}, catchUps)
	for group := range s.feed.changed {
		s.feed.changed[group] = make(chan struct{})
	}
	s.notifier.callbacks = make(chan struct{}, 1)
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
	return s.run(ctx, schema)
}

// run migrates the database and starts the background tasks.
func (s *Store) run(ctx context.Context, schema []string) (_ *Store, err error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if err = s.migrate(ctx, schema); err == nil {
		err = s.readClock(ctx)
	}
	if err == nil && len(schema) >= len(migrations) { // older ones have no turns
		_, err = s.countQueue(ctx) // learns the turns
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.tasks.Go(func() { s.deliver(life) })
	s.tasks.Go(func() { s.maintain(life) })
	s.tasks.Go(func() { s.countWaiting(life) })
	s.tasks.Go(func() { s.fillFeed(life) })
	s.tasks.Go(func() { s.storeUsages(life) })
	if s.driver.listen != nil {
		s.tasks.Go(func() { s.driver.listen(life) })
	}
	return s, nil
}

// Close stops the background tasks and closes the database. Test events that are not stored yet are lost; the reports
// contain the tests.
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

// driver holds the differences between the databases.
type driver struct {
	name       string                   // for error messages
	sql        func(text string) string // replaces the tokens of a query
	numbered   bool                     // "?" without a number is no argument
	lockSchema string                   // statement that locks the schema in a transaction; "" if BEGIN locks it
	lockName   string                   // statement that locks the name in its argument; "" if BEGIN locks the database
	// query for the database's clock in nanoseconds; "" means the clock of this process, the only user of the database
	clock       string
	unavailable func(error) string    // returns advice for a temporary error, "" for others
	listen      func(context.Context) // receives and sends notifications; nil if there are no other processes
	notify      func(message string)  // queues a notification for other processes

	snapshot sql.IsolationLevel // isolation level of a transaction that reads a snapshot
	readAll  string             // statement before reading whole tables in a transaction; "" if none is needed
	// query for the number of judged processes that use the database; "" if Options.alone decides
	users     string
	restored  []string // statements to execute after inserting rows with their keys, for the jobs and for the feed
	makeEmpty string   // advice for a database that has jobs
	// settled returns a position of the feed up to which all transactions have ended; nil if they commit in the order
	// of positions.
	settled func(context.Context) (int64, error)
	// diskHidden means that the free space of the database's disk cannot be queried.
	diskHidden bool
}

// reading is a reading of the database's clock.
type reading struct {
	time    time.Time
	elapsed time.Duration
}

// Now returns the time of the database's clock, because the clocks of hosts differ and leases need one clock. Between
// two readings it advances by a monotonic clock, so that setting the clock of a host has no effect. Use it for times
// that are compared with stored ones, or with those of another front.
func (s *Store) Now() time.Time { return s.now() }

func (s *Store) now() time.Time {
	r := s.reading.Load()
	return r.time.Add(s.opts.elapsed() - r.elapsed).UTC()
}

// readClock reads the database's clock. If that is the clock of this process, the only user of the database, readClock
// follows it slowly, because a lease must not expire when somebody sets the clock.
func (s *Store) readClock(caller context.Context) error {
	if s.driver.clock == "" {
		step := s.opts.Lease / 10
		ahead := s.opts.Now().Sub(s.now())
		s.setClock(s.now().Add(min(max(ahead, -step), step)), s.opts.elapsed())
		return nil
	}
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	before := s.opts.elapsed()
	var theirs int64
	if err := s.read.QueryRowContext(ctx, s.driver.clock).Scan(&theirs); err != nil {
		return s.explain(caller, "read the clock", err)
	}
	after := s.opts.elapsed()
	s.setClock(time.Unix(0, theirs), before+(after-before)/2)
	return nil
}

// setClock stores a reading of the database's clock.
func (s *Store) setClock(t time.Time, elapsed time.Duration) {
	s.reading.Store(&reading{t.Round(0), elapsed})
}

// statement returns a prepared query. With SQLite, parsing takes a third of the CPU time of a small statement.
func (s *Store) statement(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	key := preparedKey{db, text}
	s.prepared.Lock()
	statement := s.prepared.statements[key]
	s.prepared.Unlock()
	if statement != nil {
		return statement, nil
	}
	// Prepared without the lock, because SQLite's writer may be busy for long.
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

// exec runs a statement that changes rows, and returns the number of changed rows.
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

// adhoc runs q without preparing it, for texts that vary. A limit of 0 means no limit.
func (s *Store) adhoc(caller context.Context, limit time.Duration, q query, scan func(*sql.Rows) error) error {
	ctx := caller
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(caller, limit)
		defer cancel()
	}
	found, err := s.read.QueryContext(ctx, s.driver.sql(q.text), q.args...)
	if err == nil {
		err = each(found, scan)
	}
	return s.explain(caller, q.operation, err)
}

// each calls scan for all rows, or until it fails. It must read up to the last row, because SQLite commits an UPDATE …
// RETURNING after it, and reports a failure only then.
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
