package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/jobs/blobs"
)

// Files stores the blobs of a backup; *blobs.Store and *blobs.Bucket implement it.
type Files interface {
	Path(digest string) (string, error)
	Put(ctx context.Context, digest string, r io.Reader) (sum string, n units.Bytes, created bool, err error)
}

// Backup writes a consistent snapshot of all jobs, and the files that unfinished jobs name, to file, which must not
// exist. It does not change the database. Other processes may use the database at the same time.
func Backup(ctx context.Context, o Options, files Files, file string) (Archive, error) {
	a, err := backup(ctx, o, files, file)
	if err != nil {
		return Archive{}, fmt.Errorf("back up to %q: %w", file, err)
	}
	return a, nil
}

func backup(ctx context.Context, o Options, files Files, file string) (a Archive, err error) {
	if o.URL == "" {
		if _, err := os.Stat(o.File); err != nil { // SQLite would create the file
			return a, fmt.Errorf("%w; set data_dir or --data-dir to the data folder of judged", err)
		}
	}
	s, err := connect(o)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = create(file, func(w io.Writer) error {
		a, err = s.archive(ctx, files, w)
		return err
	})
	return a, err
}

// create writes a file atomically and durably.
func create(file string, write func(io.Writer) error) (err error) {
	// The lock prevents two backups from writing to the same file. It ends with the process, so a file that a killed
	// process left is reused.
	partial, err := linux.LockFile(file + ".partial")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, partial.Close()) }()
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%w; choose another file name", errors.Join(err, os.ErrExist)),
			os.Remove(partial.Name()))
	}
	err = partial.Truncate(0)
	if err == nil {
		err = write(partial)
	}
	if err == nil {
		err = partial.Sync()
	}
	if err == nil {
		err = os.Rename(partial.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial.Name()))
	}
	return linux.SyncDir(filepath.Dir(file))
}

// archive writes a backup of a snapshot of the database.
func (s *Store) archive(ctx context.Context, files Files, w io.Writer) (a Archive, err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.driver.snapshot})
	if err != nil {
		return a, s.explain(ctx, "begin a snapshot", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if s.driver.readAll != "" {
		if _, err := tx.ExecContext(ctx, s.driver.readAll); err != nil {
			return a, s.explain(ctx, "begin a snapshot", err)
		}
	}
	a = Archive{Created: s.now(), named: map[string]bool{}}
	if err := tx.QueryRowContext(ctx, `SELECT MAX(version) FROM judged_schema`).Scan(&a.schema); err != nil {
		return a, s.explain(ctx, "read the version of the schema", err)
	}
	if a.schema != len(migrations) {
		return a, fmt.Errorf("the schema has version %d, but this version of judged writes backups of version %d: "+
			"use the version of judged that runs the daemon", a.schema, len(migrations))
	}
	out := newArchiveWriter(w, a.Created)
	header := archiveHeader{Format: archiveFormat, Schema: a.schema, Created: a.Created}
	if err := out.addJSON(headerEntry, header); err != nil {
		return a, err
	}
	for _, table := range archivedTables(a.schema) {
		if err := s.archiveTable(ctx, tx, table, &a, out); err != nil {
			return a, s.explain(ctx, "read table "+table, err)
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(a.named)) {
		if err := a.archiveBlob(ctx, files, digest, out); err != nil {
			return a, err
		}
	}
	a.finish()
	return a, out.finish()
}

func (s *Store) archiveTable(ctx context.Context, tx *sql.Tx, table string, a *Archive, out *archiveWriter) error {
	found, err := tx.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return err
	}
	columns, err := found.Columns()
	if err != nil {
		return errors.Join(err, found.Close())
	}
	b, size, number := batch{Columns: columns}, 0, 0
	flush := func() error {
		if len(b.Rows) == 0 {
			return nil
		}
		if err := a.count(table, b); err != nil {
			return err
		}
		for _, row := range b.Rows {
			for i, v := range row {
				row[i] = encodeValue(v)
			}
		}
		number++
		err := out.addJSON(fmt.Sprintf("%s%s/%08d.json", rowsFolder, table, number), b)
		b.Rows, size = b.Rows[:0], 0
		return err
	}
	err = each(found, func(rows *sql.Rows) error {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, v := range row {
			if data, ok := v.([]byte); ok {
				size += len(data)
			}
		}
		if b.Rows = append(b.Rows, row); len(b.Rows) < batchRows && size < batchBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// archiveBlob adds a file, unless it is missing or damaged. Then the backup continues without the file.
func (a *Archive) archiveBlob(ctx context.Context, files Files, digest string, out *archiveWriter) error {
	path, err := files.Path(digest)
	if errors.Is(err, blobs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := blobs.Verify(digest, f); err != nil {
		if _, damaged := errors.AsType[*blobs.DigestError](err); damaged {
			return nil
		}
		return err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	a.named[digest] = true
	a.Blobs++
	return out.add(blobsFolder+digest, size, f)
}
