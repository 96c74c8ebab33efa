// Package jobs is the store of all jobs: what was submitted, what waits, who
// judges it, and every report. It is one SQL schema and one set of queries for
// two databases: SQLite in the data directory, and PostgreSQL for a fleet.
//
// A job is one row. Its state only changes by one statement or one transaction,
// so the record, the queue, the lease and the final event can never disagree:
//
//	Put     inserts the row, queued; it is durable when Put returns
//	Take    leases the most urgent row that is due, in one UPDATE
//	Extend  moves the deadline of the lease
//	Return  puts the job back, with or without counting the attempt
//	Finish  stores the report and ends the job
//	Cancel  ends a queued or running job
//
// The column due says when a row may be taken: the past for a job that waits,
// the deadline of the lease for one that runs. So Take finds expired leases
// with the same index as waiting jobs and knows no other queue.
//
// Every Take increments the column attempt. Extend, Return, Emit and Finish
// name the attempt they belong to; when another attempt has the job, or it has
// ended, they change nothing. The column excused counts the attempts that were
// no fault of the job; attempt - excused is what a report shows and what
// Options.MaxDeliver bounds.
//
// Events are numbered attempt<<20 + n within a job. All but those of single
// tests follow from the row. Test events have a table of their own until the
// job ends; after that the report has the tests, under the same numbers.
//
// Not here: files (blob), what a job may contain (intake), when a slot is free
// (dispatch).
package jobs
