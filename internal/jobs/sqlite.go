package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Readers use snapshots of the write-ahead log and never wait for the writer;
// there is one writer at a time.
const sqliteReaders = 4

func (s *Store) openSQLite() error {
	if s.opts.File == "" {
		return errors.New("open the database: neither a URL nor a file is given")
	}
	tokens := strings.NewReplacer("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{blob}", "BLOB", "{clustered}", "WITHOUT ROWID", "{lock}", "")
	s.driver = driver{
		name:        s.opts.File,
		sql:         tokens.Replace,
		unavailable: func(err error) string { return sqliteUnavailable(err, s.opts.File) },
		notify:      func(string) {},
		backup:      s.backupSQLite,
	}
	var err error
	if s.write, err = openSQLiteFile(s.opts.File); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = openSQLiteFile(s.opts.File, "query_only(1)"); err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(sqliteReaders)
	s.read.SetMaxIdleConns(sqliteReaders)
	return nil
}

// openSQLiteFile makes a handle; the file is opened by the first use.
// synchronous(FULL) syncs the log at each commit, which is what makes Put
// durable. Write transactions lock at BEGIN: one that begins as a reader fails
// when it turns writer after another one wrote.
func openSQLiteFile(path string, pragmas ...string) (*sql.DB, error) {
	options := url.Values{"_txlock": {"immediate"}, "_pragma": append([]string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)",
	}, pragmas...)}
	name := &url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", path, err)
	}
	return db, nil
}

// sqliteUnavailable is what an operator can do about an error, "" where it is
// no failure of the disk.
func sqliteUnavailable(err error, path string) string {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return ""
	}
	dir := filepath.Dir(path)
	switch failed.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Sprintf("free disk space in %q", dir)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Sprintf("make %q writable", dir)
	case sqlite3.SQLITE_IOERR:
		return fmt.Sprintf("check the disk and the free space of %q", dir)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Sprintf("end the other process that writes to %q", path)
	}
	return ""
}

// backupSQLite copies a snapshot of the database while it is in use. It has a
// connection of its own: VACUUM INTO is refused where query_only is set, and the
// writer must not wait for it.
func (s *Store) backupSQLite(ctx context.Context, file string) (err error) {
	partial := file + ".partial"
	// SQLite writes into an empty file; made here, it is readable by its owner only.
	made, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, made.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	db, err := openSQLiteFile(s.opts.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?1`, partial); err != nil {
		return err
	}
	if err := made.Sync(); err != nil {
		return err
	}
	// Link, not Rename: it never replaces a file.
	if err := os.Link(partial, file); err != nil {
		return err
	}
	if err := os.Remove(partial); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
