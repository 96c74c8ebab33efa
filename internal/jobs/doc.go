// Package jobs stores all jobs: those that wait, those that run and on which host, and every report. One SQL schema and
// one set of queries serve two databases: SQLite in the data directory, and PostgreSQL for a fleet.
//
// A job is one row. One statement or one transaction changes its state, so the record, the queue, the lease and the
// final event never disagree:
//
//	Put     inserts the row, queued; it is durable when Put returns
//	Take    leases the most urgent row that is due, in one UPDATE
//	Extend  extends the lease
//	Return  queues the job again, with or without counting the attempt
//	Finish  stores the report and ends the job
//	Cancel  ends a queued or running job
//
// The column due is the time from which a row may be taken: 0 for a queued job, the end of the lease for a running one.
// A job that is not due is parked: it is not in the index that Take reads until unpark finds it due.
//
// Take increments the column attempt. Extend, Return, Emit and Finish name their attempt; if another attempt has the
// job or the job has ended, they change nothing. The column excused counts attempts that failed through no fault of the
// job. A report shows attempt - excused, and Options.MaxDeliver limits it.
//
// Events of a job are numbered attempt<<20 + n. The row implies all events except those of single tests, which are in
// the table events until the job ends. After that, the report has the tests, under the same numbers.
//
// A rejudging is a set of jobs that are judged again, as separate jobs. It is stored first, and filled in steps, each
// one transaction (package intake). When it is applied, each original and the job that judged it again exchange their
// reports.
//
// Backup and Restore copy everything to a file and back, also from one kind of database to the other.
//
// Not here: files (package blobs), what a job may contain (jobspec), when a slot is free (dispatch).
package jobs
