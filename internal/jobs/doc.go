// Package jobs stores all jobs: waiting jobs, running jobs with their host, and all reports. One SQL schema and one set
// of queries serve two databases: SQLite in the data directory, and PostgreSQL for a fleet.
//
// A job is one row. One statement or one transaction changes its state, so the record, the queue, the lease and the
// final event are always consistent:
package jobs
