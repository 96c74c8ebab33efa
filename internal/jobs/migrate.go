package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// errNewerSchema means that a newer judged has migrated the database.
var errNewerSchema = errors.New("the schema is newer than this version of judged")

// migrateTimeout is the limit for a migration, which may rewrite a table or wait for
// the migration of another process.
const migrateTimeout = 10 * time.Minute

// migrate migrates the database to the last version of list in one transaction. The transaction takes a lock, so that
// only one of several processes that start together migrates.
func (s *Store) migrate(ctx context.Context, list []string) error {
	defer func(limit time.Duration) { s.opts.Timeout = limit }(s.opts.Timeout) // nothing else uses s at this time
	s.opts.Timeout = max(s.opts.Timeout, migrateTimeout)
	return s.tx(ctx, "migrate the database", func(ctx context.Context, tx *sql.Tx) error {
		return s.migrateTo(ctx, tx, list)
	})
}

func (s *Store) migrateTo(ctx context.Context, tx *sql.Tx, list []string) error {
	if s.driver.lockSchema != "" {
		if _, err := tx.ExecContext(ctx, s.driver.lockSchema); err != nil {
			return err
		}
	}
	const create = `CREATE TABLE IF NOT EXISTS judged_schema (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`
	if _, err := tx.ExecContext(ctx, create); err != nil {
		return err
	}
	var version int
	last := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) FROM judged_schema`)
	if err := last.Scan(&version); err != nil {
		return err
	}
	if version > len(list) {
		return fmt.Errorf("%w: version %d, but this version of judged supports up to %d: use the version that wrote it, "+
			"or a newer one", errNewerSchema, version, len(list))
	}
	for ; version < len(list); version++ {
		if _, err := tx.ExecContext(ctx, s.driver.sql(list[version])); err != nil {
			return fmt.Errorf("from version %d: %w", version, err)
		}
		if _, err := tx.ExecContext(ctx, s.driver.sql(`INSERT INTO judged_schema (version, applied) VALUES (?1, ?2)`),
			version+1, s.now().UnixNano()); err != nil {
			return err
		}
	}
	return nil
}
