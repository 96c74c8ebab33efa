package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Backup writes a consistent copy of the database to file, which must not
// exist, while the store is in use by this and other processes. A SQLite copy
// is a database that Restore or Open reads. For PostgreSQL it is an error.
func (s *Store) Backup(ctx context.Context, file string) error {
	if s.driver.backup == nil {
		return errors.New("back up the database: it is a PostgreSQL server; use pg_dump, or the server's own backups")
	}
	if err := s.driver.backup(ctx, file); err != nil {
		return fmt.Errorf("back up the database to %q: %w", file, err)
	}
	return nil
}

// Restore copies a backup to where the SQLite database of a judged that is not
// running will be opened. It refuses to replace one that is there: its log of
// changes would be applied to the copy and destroy it.
func Restore(ctx context.Context, backup, file string) error {
	for _, there := range []string{file, file + "-wal", file + "-shm"} {
		if _, err := os.Lstat(there); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("restore %q: %q is in the way (%w); stop judged and move the old database with its -wal and -shm files away", backup, there, errors.Join(err, os.ErrExist))
		}
	}
	if err := checkBackup(ctx, backup); err != nil {
		return fmt.Errorf("restore %q: %w; name a file that judged backup wrote", backup, err)
	}
	if err := copyFile(backup, file); err != nil {
		return fmt.Errorf("restore %q to %q: %w", backup, file, err)
	}
	return nil
}

// checkBackup reads a backup without writing next to it.
func checkBackup(ctx context.Context, backup string) (err error) {
	if _, err := os.Stat(backup); err != nil {
		return err
	}
	db, err := openSQLiteFile(backup, "query_only(1)", "journal_mode(OFF)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("damaged: %s", result)
	}
	var version sql.NullInt64
	return db.QueryRowContext(ctx, `SELECT MAX(version) FROM judged_schema`).Scan(&version)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return syncDir(filepath.Dir(to))
}
