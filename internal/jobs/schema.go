package jobs

import (
	"slices"
	"strings"
)

// migrations are the versions of the schema: block n migrates from version n to n+1. A released block never changes; a
// change of the schema is a new block. {serial}, {blob} and {clustered} differ by database, and {postgres} and
// {postgres9} mark what only PostgreSQL needs. A new table is also added to archivedTables.
//
// Enums are stored as numbers. The state of a job is 0 queued, 1 running, 2 done, 3 cancelled; its priority is the
// index in api.Priorities, 4 for audits. The state of an audit is 0 open, 1 compared, 2 not comparable, 3 refuted, and
// its ratio is the logarithm in billionths. The state of a rejudging is 0 open, 1 applied, 2 cancelled, 3 filling, 4
// failed; that of one of its jobs is 0 open, 1 replaced, 2 unchanged, 3 not queued yet, 4 skipped. The progress of a
// rejudging is "" if nothing is left to do. Times are in nanoseconds since 1970, or 0. The large columns are last, so
// that SQLite reads the others without following overflow pages.
//
// due is the time from which a job may be taken. parked excludes jobs that cannot be taken from the index of queued
// jobs: it is 0 for a job that can be taken, and otherwise a time, not after due when it was set, at which unpark
// checks the job. So Extend changes no indexed column, and PostgreSQL updates the row within its page. turn orders the
// jobs of a pool and priority, see turns.
//
// The feed lists the events of all jobs by their numbers. Triggers fill it, so that no statement can change a job
// without its event: {feed} creates them. A row of job 0 is a position without an event; its number is the time when its
// job was deleted. Positions start at the time in microseconds, so that a reader that has a position of another database,
// or of one before a restore, does not find it.
//
// The column callback of a job is the ID of the receiver, or empty. A trigger, which {callbacks} creates, inserts the
// row of callbacks when the job ends, so that no statement can end a job without its callback. Its due is the time from
// which it may be tried, or 0 after the last try; its state is 0 pending, 1 delivered, 2 given up.
var migrations = []string{`
CREATE TABLE jobs (
	seq      {serial},
	id       TEXT     NOT NULL UNIQUE,
	digest   TEXT     NOT NULL,
	state    SMALLINT NOT NULL,
	priority SMALLINT NOT NULL,
	pool     TEXT     NOT NULL,
	width    INTEGER  NOT NULL,
	attempt  BIGINT   NOT NULL DEFAULT 0,
	excused  BIGINT   NOT NULL DEFAULT 0,
	due      BIGINT   NOT NULL,
	host     TEXT     NOT NULL DEFAULT '',
	cpus     TEXT     NOT NULL DEFAULT '',
	created  BIGINT   NOT NULL,
	started  BIGINT   NOT NULL DEFAULT 0,
	finished BIGINT   NOT NULL DEFAULT 0,
	verdict  TEXT     NOT NULL DEFAULT '',
	labels   TEXT     NOT NULL,
	head     {blob},
	job      {blob}   NOT NULL,
	tests    {blob}
);
CREATE INDEX jobs_open ON jobs (pool, priority, seq, width, due, state) WHERE state < 2;
CREATE INDEX jobs_created ON jobs (created, seq);
CREATE INDEX jobs_state ON jobs (state, created, seq);
CREATE INDEX jobs_pool ON jobs (pool, created, seq);
CREATE INDEX jobs_priority ON jobs (priority, created, seq);
CREATE INDEX jobs_verdict ON jobs (verdict, created, seq) WHERE verdict <> '';
CREATE INDEX jobs_finished ON jobs (finished, seq) WHERE finished > 0;

CREATE TABLE labels (
	label   {blob} NOT NULL,
	created BIGINT NOT NULL,
	job     BIGINT NOT NULL,
	PRIMARY KEY (label, created, job)
) {clustered};
CREATE INDEX labels_job ON labels (job);

CREATE TABLE events (
	job     BIGINT NOT NULL,
	number  BIGINT NOT NULL,
	body    {blob} NOT NULL,
	PRIMARY KEY (job, number)
) {clustered};

CREATE TABLE memory (
	name    TEXT   PRIMARY KEY,
	value   {blob} NOT NULL,
	stored  BIGINT NOT NULL
);
`, `
CREATE TABLE audits (
	id       TEXT     NOT NULL PRIMARY KEY,
	original TEXT     NOT NULL,
	stage    SMALLINT NOT NULL,
	pool     TEXT     NOT NULL,
	origin   TEXT     NOT NULL,
	target   TEXT     NOT NULL,
	node     TEXT     NOT NULL DEFAULT '',
	state    SMALLINT NOT NULL DEFAULT 0,
	ratio    BIGINT   NOT NULL DEFAULT 0,
	created  BIGINT   NOT NULL,
	finished BIGINT   NOT NULL DEFAULT 0
) {clustered};
CREATE INDEX audits_pool ON audits (pool, stage, finished);
`, `
ALTER TABLE jobs ADD COLUMN take_key TEXT NOT NULL DEFAULT '';
`, `
ALTER TABLE audits ADD COLUMN class TEXT NOT NULL DEFAULT '';
`, `
ALTER TABLE jobs ADD COLUMN avoid TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN avoid_until BIGINT NOT NULL DEFAULT 0;
`, `
CREATE TABLE rejudgings (
	id      TEXT     NOT NULL PRIMARY KEY,
	digest  TEXT     NOT NULL,
	state   SMALLINT NOT NULL DEFAULT 0,
	created BIGINT   NOT NULL,
	ended   BIGINT   NOT NULL DEFAULT 0,
	request {blob}   NOT NULL
) {clustered};
CREATE INDEX rejudgings_created ON rejudgings (created, id);

CREATE TABLE rejudged (
	id          TEXT     NOT NULL PRIMARY KEY,
	rejudging   TEXT     NOT NULL,
	original    TEXT     NOT NULL,
	state       SMALLINT NOT NULL DEFAULT 0,
	old_verdict TEXT     NOT NULL,
	new_verdict TEXT     NOT NULL DEFAULT ''
) {clustered};
CREATE INDEX rejudged_set ON rejudged (rejudging, original);
`, `
ALTER TABLE rejudgings ADD COLUMN progress TEXT NOT NULL DEFAULT '';
CREATE INDEX rejudgings_unfinished ON rejudgings (created) WHERE progress <> '';
ALTER TABLE rejudged ADD COLUMN reason TEXT NOT NULL DEFAULT '';
`, `
ALTER TABLE jobs ADD COLUMN parked BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET parked = due WHERE state < 2 AND (state = 1 OR due > created);
DROP INDEX jobs_open;
CREATE INDEX jobs_line ON jobs (pool, priority, seq, width) WHERE parked = 0 AND finished = 0;
CREATE INDEX jobs_parked ON jobs (parked, state, pool, priority) WHERE parked > 0;
CREATE INDEX jobs_held ON jobs (host, take_key) WHERE finished = 0 AND host <> '';
CREATE INDEX audits_open ON audits (created) WHERE finished = 0;
CREATE INDEX audits_created ON audits (created);
{postgres}`, `
ALTER TABLE memory RENAME TO key_value;
{postgres9}`, `
ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE rejudgings ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
CREATE INDEX rejudgings_tenant ON rejudgings (tenant, created) WHERE tenant <> '';
`, `
ALTER TABLE jobs ADD COLUMN outputs {blob};
CREATE INDEX jobs_outputs ON jobs (seq) WHERE outputs IS NOT NULL;
`, `
ALTER TABLE jobs ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET turn = seq * 720720 WHERE state < 2;
DROP INDEX jobs_line;
CREATE INDEX jobs_line ON jobs (pool, priority, turn, seq, width, tenant) WHERE parked = 0 AND finished = 0;
DROP INDEX jobs_parked;
CREATE INDEX jobs_parked ON jobs (parked, state, pool, priority, tenant, turn) WHERE parked > 0;
`, `
CREATE TABLE feed (
	position {serial},
	job      BIGINT NOT NULL,
	number   BIGINT NOT NULL
);
CREATE INDEX feed_job ON feed (job, number);
{feed}`, `
CREATE TABLE tenant_usage (
	tenant     TEXT   NOT NULL,
	day        BIGINT NOT NULL,
	blob_bytes BIGINT NOT NULL,
	cpu_ns     BIGINT NOT NULL,
	PRIMARY KEY (tenant, day)
) {clustered};
`, `
ALTER TABLE jobs ADD COLUMN callback TEXT NOT NULL DEFAULT '';
CREATE TABLE callbacks (
	job      BIGINT   NOT NULL PRIMARY KEY,
	receiver TEXT     NOT NULL,
	due      BIGINT   NOT NULL,
	tries    BIGINT   NOT NULL DEFAULT 0,
	state    SMALLINT NOT NULL DEFAULT 0,
	created  BIGINT   NOT NULL,
	log      {blob}
) {clustered};
CREATE INDEX callbacks_due ON callbacks (receiver, due) WHERE due > 0;
CREATE TABLE receivers (
	id       TEXT     NOT NULL PRIMARY KEY,
	tenant   TEXT     NOT NULL,
	origin   TEXT     NOT NULL,
	failures BIGINT   NOT NULL,
	paused   BIGINT   NOT NULL DEFAULT 0,
	disabled SMALLINT NOT NULL DEFAULT 0,
	changed  BIGINT   NOT NULL,
	error    TEXT     NOT NULL DEFAULT ''
) {clustered};
CREATE INDEX receivers_failing ON receivers (id) WHERE failures > 0;
CREATE INDEX receivers_disabled ON receivers (paused) WHERE disabled > 0;
CREATE INDEX receivers_changed ON receivers (changed);
{callbacks}`}

// withCallbacks is the first version of the schema with callbacks.
const withCallbacks = 15

// renamed is the first version of the schema in which the table of values is called key_value.
const renamed = 9

// fed is the first version of the schema with a feed.
var fed = 1 + slices.IndexFunc(migrations, func(text string) bool { return strings.Contains(text, "{feed}") })

// metered is the first version of the schema with the usage of tenants.
var metered = 1 + slices.IndexFunc(migrations, func(text string) bool { return strings.Contains(text, "tenant_usage") })

// valuesTable returns the name of the table of values in a version of the schema.
func valuesTable(version int) string {
	if version < renamed {
		return "memory"
	}
	return "key_value"
}
