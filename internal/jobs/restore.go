package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"judged/internal/base/poll"
)

// restoreTimeout limits a restore, which is one transaction.
const restoreTimeout = 24 * time.Hour

// sessionEnd is how long the session of a terminated process may remain.
const sessionEnd = 2 * time.Second

// Restore restores a backup into an empty database and the blobs, completely or not at all. It returns an error if the
// database has jobs or if another process uses it. After verifying the file it calls lock, which prevents a daemon from
// starting, and then files, which opens the blobs.
func Restore(ctx context.Context, o Options, files func() (Files, error), file string,
	lock func() (io.Closer, error)) (Archive, error) {
	a, err := verifyArchive(ctx, file)
	if err == nil {
		err = restore(ctx, o, a, files, file, lock)
	} else if ctx.Err() == nil {
		err = fmt.Errorf("%w: %w; give a file written by judged backup", ErrBadBackup, err)
	}
	if err != nil {
		return Archive{}, fmt.Errorf("restore %q: %w", file, err)
	}
	return a, nil
}

func restore(ctx context.Context, o Options, verified Archive, open func() (Files, error), file string,
	lock func() (io.Closer, error)) (err error) {
	locked, err := lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locked.Close()) }()
	o.alone = true
	s, err := connect(o)
	if err != nil {
		return err
	}
	s.opts.Timeout = restoreTimeout
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.awaitAlone(ctx); err != nil {
		return err
	}
	return s.tx(ctx, "write to "+s.driver.name, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.emptySchema(ctx, tx, verified.schema); err != nil {
			return err
		}
		files, err := open()
		if err != nil {
			return err
		}
		// The next Open migrates a backup with an older schema.
		_, err = readArchive(ctx, file, archiveVisitor{
			rows: func(table string, b batch) error {
				_, err := tx.ExecContext(ctx, s.driver.insertRows(table, b.Columns, len(b.Rows)),
					slices.Concat(b.Rows...)...)
				return err
			},
			blob: func(digest string, content io.Reader) error {
				_, _, _, err := files.Put(ctx, digest, content)
				return err
			},
		})
		if err != nil {
			return err
		}
		restored := s.driver.restored
		if verified.schema < fed {
			restored = restored[:min(1, len(restored))]
		}
		for _, text := range restored {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitAlone waits briefly for the sessions of processes that have just ended, because the server closes them a little
// later. emptySchema returns an error if any remain.
func (s *Store) awaitAlone(ctx context.Context) error {
	if s.driver.users == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionEnd)
	defer cancel()
	for {
		var users int
		err := s.write.QueryRowContext(ctx, s.driver.users).Scan(&users)
		switch {
		case ctx.Err() != nil || err == nil && users == 0:
			return nil
		case err != nil:
			return s.explain(ctx, "read sessions", err)
		}
		poll.Sleep(ctx, sessionEnd/20)
	}
}

// emptySchema checks that the database has the schema of the backup, no jobs, and no other user.
func (s *Store) emptySchema(ctx context.Context, tx *sql.Tx, schema int) error {
	if s.driver.users != "" {
		var users int
		if err := tx.QueryRowContext(ctx, s.driver.users).Scan(&users); err != nil {
			return err
		}
		if users > 0 {
			return fmt.Errorf("%d judged processes use the database: stop them", users)
		}
	}
	switch err := s.migrateTo(ctx, tx, migrations[:schema]); {
	case errors.Is(err, errNewerSchema):
		return fmt.Errorf("the database has a newer schema than the backup: %s", s.driver.makeEmpty)
	case err != nil:
		return err
	}
	var version, jobs int
	if err := tx.QueryRowContext(ctx,
		`SELECT (SELECT MAX(version) FROM judged_schema), (SELECT COUNT(*) FROM jobs)`).Scan(&version,
		&jobs); err != nil {
		return err
	}
	if jobs > 0 {
		return fmt.Errorf("the database has %d jobs, which a restore does not replace: %s", jobs, s.driver.makeEmpty)
	}
	// Delete the values that a daemon without jobs has stored since.
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %s`, valuesTable(schema)))
	return err
}

// insertRows returns an INSERT statement for n rows. SQLite searches the names of all arguments for each one, and "?1" is
// a name, "?" is not.
func (d driver) insertRows(table string, columns []string, n int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES ", table, strings.Join(columns, ", "))
	argument := 0
	for row := range n {
		text.WriteString([]string{"(", ", ("}[min(row, 1)])
		for column := range columns {
			argument++
			text.WriteString([]string{"", ", "}[min(column, 1)])
			if d.numbered {
				fmt.Fprintf(&text, "$%d", argument)
			} else {
				text.WriteString("?")
			}
		}
		text.WriteString(")")
	}
	return text.String()
}
