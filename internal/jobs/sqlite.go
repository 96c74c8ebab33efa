package jobs

import (
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

// Readers use snapshots of the write-ahead log and never wait for the writer.
// SQLite has one writer at a time.
const sqliteReaders = 4

func (s *Store) openSQLite() error {
	if s.opts.File == "" {
		return errors.New("open the database: set Options.URL or Options.File")
	}
	tokens := strings.NewReplacer("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{blob}", "BLOB", "{clustered}",
		"WITHOUT ROWID", "{postgres}", "", "{postgres9}", "", "{feed}", sqliteFeed,
		"{callbacks}", onEnd+` BEGIN `+addCallback+` END`,
		"{upto}", "=", "{among}", ">= (", "{/among}", ")", "{lock}", "", "{hold}", "", "{bytes}", "", "{position}", "instr")
	s.driver = driver{
		name:        s.opts.File,
		sql:         tokens.Replace,
		unavailable: func(err error) string { return sqliteUnavailable(err, s.opts.File) },
		notify:      func(string) {},
		makeEmpty:   fmt.Sprintf("move %q with its -wal and -shm files away", s.opts.File),
	}
	err := makePrivate(s.opts.File)
	if err != nil {
		return err
	}
	if s.opts.alone {
		// SQLite closes the write-ahead log only if no other process has the file open.
		s.write, err = openSQLiteFile(s.opts.File, "exclusive", "busy_timeout(1000)", "journal_mode(DELETE)")
		if err != nil {
			return err
		}
		s.write.SetMaxOpenConns(1)
		s.read = s.write
		return nil
	}
	pragmas := []string{"busy_timeout(5000)", "journal_mode(WAL)", "journal_size_limit(67108864)"}
	if s.write, err = openSQLiteFile(s.opts.File, "immediate", pragmas...); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = openSQLiteFile(s.opts.File, "immediate", append(pragmas, "query_only(1)")...); err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(sqliteReaders)
	s.read.SetMaxIdleConns(sqliteReaders)
	return nil
}

// makePrivate creates the file of a database with permissions only for its owner. If the file exists, it removes the
// permissions of other users, also from its logs, which SQLite creates with the mode of the file. If the file cannot be
// created, SQLite reports an error with advice.
func makePrivate(file string) error {
	if f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Stat(file + suffix)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(file+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("restrict the permissions of the database: %w; make judged the owner of %q", err, file)
		}
	}
	return nil
}

// openSQLiteFile returns a handle; the first use opens the file. synchronous(FULL) syncs the log at each commit, which
// makes Put durable. Transactions take the write lock at BEGIN, because a transaction that begins as a reader fails if
// it writes after another one has written.
func openSQLiteFile(path, lock string, pragmas ...string) (*sql.DB, error) {
	options := url.Values{"_txlock": {lock}, "_pragma": append(pragmas, "synchronous(FULL)")}
	name := &url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", path, err)
	}
	return db, nil
}

// sqliteUnavailable returns advice for an error of the disk or of locks, or "" for other errors.
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
		return fmt.Sprintf("stop the other process that uses %q", path)
	}
	return ""
}
