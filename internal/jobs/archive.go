package jobs

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/jobs/blobs"
)

// A backup is a tar archive, the same for both databases:
//
//	judged-backup.json       header
//	database/TABLE/N.json    up to batchRows rows of a table
//	blobs/SHA256             a file that an unfinished job, a problem or a report names
//	sha256                   checksum of the names and contents of all entries above
//
// A value of a row is null, a number, a string, or for bytes an array with one
// string in base64.
const (
	headerEntry   = "judged-backup.json"
	checksumEntry = "sha256"
	rowsFolder    = "database/"
	blobsFolder   = "blobs/"

	archiveFormat = 1
	batchRows     = 100
	batchBytes    = 1 << 20 // approximate; a row is never split
)

// archivedTables returns all tables of the schema in a version, except for that of migrate.
func archivedTables(version int) []string {
	tables := []string{"jobs", "labels", "events", valuesTable(version), "audits", "rejudgings", "rejudged"}
	if version >= fed {
		tables = append(tables, "feed")
	}
	if version >= metered {
		tables = append(tables, "tenant_usage")
	}
	if version >= withCallbacks {
		tables = append(tables, "callbacks", "receivers")
	}
	return tables
}

type archiveHeader struct {
	Format  int       `json:"format"`
	Schema  int       `json:"schema"` // version, see the migrations
	Created time.Time `json:"created_at"`
}

// batch holds rows of one table.
type batch struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// Archive describes the content of a backup.
type Archive struct {
	Created          time.Time
	Jobs, Unfinished int
	Blobs            int
	// Missing lists files that unfinished jobs, problems and reports name and that were already missing or damaged, so the
	// backup lacks them.
	Missing []string

	schema int
	named  map[string]bool // maps each digest to whether the archive contains the file
}

// count records the jobs and blobs that rows of a table name.
func (a *Archive) count(table string, b batch) error {
	switch table {
	case valuesTable(a.schema):
		return a.nameProblems(b)
	case "jobs":
	default:
		return nil
	}
	state, body := slices.Index(b.Columns, "state"), slices.Index(b.Columns, "job")
	outputs := slices.Index(b.Columns, "outputs") // older schemas lack the column
	for _, row := range b.Rows {
		a.Jobs++
		if outputs >= 0 {
			packed, _ := row[outputs].([]byte)
			if err := eachOutput(packed, func(digest string) { a.named[digest] = false }); err != nil {
				return fmt.Errorf("decode the outputs of job %v: %w", row[slices.Index(b.Columns, "id")], err)
			}
		}
		if n, ok := row[state].(int64); !ok || n >= done {
			continue
		}
		a.Unfinished++
		packed, _ := row[body].([]byte)
		var j api.Job
		if err := unpackJSON(packed, &j); err != nil {
			return fmt.Errorf("decode unfinished job %v: %w", row[slices.Index(b.Columns, "id")], err)
		}
		_, err := j.MapFiles(func(_ string, f api.File) (api.File, error) {
			a.named[f.Blob] = false
			return f, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nameProblems records the blobs of the problems among the values.
func (a *Archive) nameProblems(b batch) error {
	name, value := slices.Index(b.Columns, "name"), slices.Index(b.Columns, "value")
	for _, row := range b.Rows {
		if text, _ := row[name].(string); !strings.HasPrefix(text, valuePrefix(problemValues)) {
			continue
		}
		packed, _ := row[value].([]byte)
		plain, err := unpack(packed)
		if err == nil {
			err = eachProblemBlob(plain, func(digest string) { a.named[digest] = false })
		}
		if err != nil {
			return fmt.Errorf("read value %v: %w", row[name], err)
		}
	}
	return nil
}

// finish fills Missing.
func (a *Archive) finish() {
	for digest, there := range a.named {
		if !there {
			a.Missing = append(a.Missing, digest)
		}
	}
	slices.Sort(a.Missing)
}

// archiveWriter writes the entries of a backup.
type archiveWriter struct {
	tar     *tar.Writer
	created time.Time
	sum     hash.Hash
}

func newArchiveWriter(w io.Writer, created time.Time) *archiveWriter {
	return &archiveWriter{tar: tar.NewWriter(w), created: created, sum: sha256.New()}
}

func (w *archiveWriter) add(name string, size int64, content io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.created}); err != nil {
		return err
	}
	sumEntry(w.sum, name, size)
	_, err := io.Copy(io.MultiWriter(w.tar, w.sum), content)
	return err
}

func (w *archiveWriter) addJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.add(name, int64(len(data)), bytes.NewReader(data))
}

// finish writes the checksum and closes the archive.
func (w *archiveWriter) finish() error {
	sum := hex.EncodeToString(w.sum.Sum(nil))
	return errors.Join(w.add(checksumEntry, int64(len(sum)), strings.NewReader(sum)), w.tar.Close())
}

// sumEntry adds the name and size of an entry, so that the checksum covers the boundaries between entries.
func sumEntry(sum hash.Hash, name string, size int64) { fmt.Fprintf(sum, "%q %d\n", name, size) }

// archiveVisitor receives the contents of an archive in order.
type archiveVisitor struct {
	rows func(table string, b batch) error
	blob func(digest string, content io.Reader) error
}

// verifyArchive reads a whole backup and verifies it.
func verifyArchive(ctx context.Context, file string) (Archive, error) {
	return readArchive(ctx, file, archiveVisitor{rows: func(string, batch) error { return nil }, blob: blobs.Verify})
}

var errTruncated = errors.New("the file is truncated")

// readArchive reads a backup to its end and verifies its checksum. The visitor must discard what it received if
// readArchive returns an error.
func readArchive(ctx context.Context, file string, v archiveVisitor) (a Archive, err error) {
	f, err := os.Open(file)
	if err != nil {
		return a, err
	}
	defer f.Close()
	a.named = map[string]bool{}
	sum := sha256.New()
	for in := tar.NewReader(f); ; {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		entry, err := in.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return a, errTruncated
		case err != nil:
			return a, err
		case entry.Name == checksumEntry:
			a.finish()
			return a, verifyChecksum(in, sum)
		}
		sumEntry(sum, entry.Name, entry.Size)
		err = a.read(entry.Name, io.TeeReader(in, sum), v)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return a, errTruncated
		case err != nil:
			return a, fmt.Errorf("entry %q: %w", entry.Name, err)
		}
	}
}

// verifyChecksum compares sum with the last entry of the archive.
func verifyChecksum(in *tar.Reader, sum hash.Hash) error {
	want, err := io.ReadAll(io.LimitReader(in, 2*sha256.Size+1))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != string(want) {
		return fmt.Errorf("the file is damaged: its content has checksum %s, not %q", got, want)
	}
	return nil
}

// read passes one entry to the visitor.
func (a *Archive) read(name string, content io.Reader, v archiveVisitor) error {
	digest, isBlob := strings.CutPrefix(name, blobsFolder)
	table, isRows := strings.CutPrefix(name, rowsFolder)
	switch {
	case a.schema == 0:
		if name != headerEntry {
			return errors.New("not a backup of judged")
		}
		return a.readHeader(content)
	case isBlob:
		a.named[digest] = true
		a.Blobs++
		return v.blob(digest, content)
	case isRows:
		table, _, _ = strings.Cut(table, "/")
		b, err := a.readBatch(table, content)
		if err == nil {
			err = a.count(table, b)
		}
		if err != nil {
			return err
		}
		return v.rows(table, b)
	}
	return errors.New("unknown entry")
}

func (a *Archive) readHeader(content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	var h archiveHeader
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	if h.Format != archiveFormat || h.Schema < 1 || h.Schema > len(migrations) {
		return fmt.Errorf("backup has format %d with schema %d, but this version of judged reads format %d with "+
			"schemas 1 to %d: use the version that wrote it, or a newer one", h.Format, h.Schema, archiveFormat,
			len(migrations))
	}
	a.Created, a.schema = h.Created, h.Schema
	return nil
}

// columnName matches valid column names. They are inserted into a statement.
var columnName = text.Pattern(`^[a-z_]{1,32}$`)

// readBatch decodes the rows of an entry.
func (a *Archive) readBatch(table string, content io.Reader) (b batch, err error) {
	if !slices.Contains(archivedTables(a.schema), table) {
		return b, fmt.Errorf("unknown table %q", table)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return b, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&b); err != nil {
		return b, err
	}
	if len(b.Rows) == 0 {
		return b, errors.New("no rows")
	}
	for _, c := range b.Columns {
		if !columnName().MatchString(c) {
			return b, fmt.Errorf("invalid column %q", c)
		}
	}
	if table == "jobs" && (!slices.Contains(b.Columns, "id") || !slices.Contains(b.Columns, "state") ||
		!slices.Contains(b.Columns, "job")) {
		return b, fmt.Errorf("columns %q are not those of a job", b.Columns)
	}
	for _, row := range b.Rows {
		if len(row) != len(b.Columns) {
			return b, fmt.Errorf("%d values for %d columns", len(row), len(b.Columns))
		}
		for i, v := range row {
			if row[i], err = decodeValue(v); err != nil {
				return b, fmt.Errorf("column %q: %w", b.Columns[i], err)
			}
		}
	}
	return b, nil
}

// encodeValue returns a value in the form that is encoded as JSON.
func encodeValue(v any) any {
	if data, ok := v.([]byte); ok {
		return []string{base64.StdEncoding.EncodeToString(data)}
	}
	return v
}

func decodeValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, string:
		return v, nil
	case json.Number:
		return v.Int64()
	case []any:
		if len(v) == 1 {
			if text, ok := v[0].(string); ok {
				return base64.StdEncoding.DecodeString(text)
			}
		}
	}
	return nil, fmt.Errorf("invalid value %v", v)
}
