package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"judged/internal/api"
)

// Record is all that is stored about a job.
type Record struct {
	ID         string
	BodyDigest string // digest of the request that created it
	Job        api.Job
	Pool       string     // pool that judges or judged it, by default that of the job; only Put and Get set it
	Report     api.Report // its attempt number excludes uncounted attempts
	Host       string     // host that runs the job
	CPUs       string     // in kernel list format, while the job runs
	Lease      api.Lease  // the last lease
}

// The numbers of states in the database.
const (
	queued = iota
	running
	done
	cancelled
)

var states = [...]api.State{queued: api.Queued, running: api.Running, done: api.Done, cancelled: api.CancelledState}

// row is a job without its large columns.
type row struct {
	seq                        int64
	id, verdict, labels        string
	host, cpus                 string
	state, priority            int
	attempt, excused           int
	created, started, finished int64
	head                       []byte
	turn                       int64 // only Take reads it
}

const rowColumns = `seq, id, verdict, labels, host, cpus, state, priority, attempt, excused, created, started, finished, head`

// rowColumnsOfJ are the same columns of a table with the alias j.
var rowColumnsOfJ = "j." + strings.ReplaceAll(rowColumns, ", ", ", j.")

func (r *row) fields() []any {
	return []any{&r.seq, &r.id, &r.verdict, &r.labels, &r.host, &r.cpus, &r.state, &r.priority, &r.attempt, &r.excused,
		&r.created, &r.started, &r.finished, &r.head}
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// auditPriority is the number of api.Audit. It follows the numbers of other priorities.
const auditPriority = 4

func priorityNumber(p api.Priority) int {
	return slices.Index(api.AllPriorities(), cmp.Or(p, api.Practice))
}

// report returns the report without tests. The column head has the members that are not columns.
func (r *row) report() (api.Report, error) {
	var rep api.Report
	if r.head != nil {
		if err := unpackJSON(r.head, &rep); err != nil {
			return api.Report{}, fmt.Errorf("decode the report of job %q: %w", r.id, err)
		}
	}
	if r.state < 0 || r.state >= len(states) || r.priority < 0 || r.priority >= len(api.AllPriorities()) {
		return api.Report{}, fmt.Errorf("decode job %q: unknown state %d or priority %d", r.id, r.state, r.priority)
	}
	if r.labels != "" {
		if err := json.Unmarshal([]byte(r.labels), &rep.Labels); err != nil {
			return api.Report{}, fmt.Errorf("decode the labels of job %q: %w", r.id, err)
		}
		rep.Tenant = rep.Labels[TenantLabel]
		delete(rep.Labels, TenantLabel)
		if len(rep.Labels) == 0 {
			rep.Labels = nil
		}
	}
	rep.ID, rep.State, rep.Priority, rep.Attempt = r.id, states[r.state], api.AllPriorities()[r.priority],
		r.attempt-r.excused
	rep.Verdict = api.Verdict(r.verdict)
	rep.JudgementType = rep.Verdict.JudgementType()
	rep.CreatedAt, rep.StartedAt, rep.FinishedAt = timeOf(r.created), timeOf(r.started), timeOf(r.finished)
	return rep, nil
}

// headOf is the inverse of report: it encodes the column head.
func headOf(rep api.Report) ([]byte, error) {
	rep.ID, rep.Tenant, rep.State, rep.Priority, rep.Attempt, rep.Labels = "", "", "", "", 0, nil
	rep.Tests, rep.Outputs = nil, nil
	rep.Verdict, rep.JudgementType = "", ""
	rep.CreatedAt, rep.StartedAt, rep.FinishedAt = time.Time{}, time.Time{}, time.Time{}
	return packJSON(rep)
}

// record decodes a whole row.
func (r *row) record(digest string, body, tests, outputs []byte) (Record, error) {
	rep, err := r.reportWith(tests, outputs)
	if err != nil {
		return Record{}, err
	}
	rec := Record{ID: r.id, BodyDigest: digest, Report: rep, Host: r.host, CPUs: r.cpus,
		Lease: api.Lease{ID: r.id, Attempt: r.attempt}}
	if err := unpackJSON(body, &rec.Job); err != nil {
		return Record{}, fmt.Errorf("decode job %q: %w", r.id, err)
	}
	return rec, nil
}

// reportWith decodes a report with its tests and outputs.
func (r *row) reportWith(tests, outputs []byte) (api.Report, error) {
	rep, err := r.report()
	if err == nil && tests != nil {
		if err = unpackJSON(tests, &rep.Tests); err != nil {
			err = fmt.Errorf("decode the tests of job %q: %w", r.id, err)
		}
	}
	if err == nil && outputs != nil {
		if err = unpackJSON(outputs, &rep.Outputs); err != nil {
			err = fmt.Errorf("decode the outputs of job %q: %w", r.id, err)
		}
	}
	return rep, err
}

// Get returns a job. The report of a running job has the tests that were judged so far.
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	r, rec, err := s.get(ctx, id, "tests, outputs")
	if err == nil && r.state == running {
		rec.Report.Tests, err = s.testsSoFar(ctx, r)
	}
	if err != nil {
		return Record{}, err
	}
	return rec, nil
}

// GetShort returns a job with a report without tests, which are most of the data.
func (s *Store) GetShort(ctx context.Context, id string) (Record, error) {
	_, rec, err := s.get(ctx, id, "NULL, NULL")
	return rec, err
}

// get reads a job. large lists the columns or values of its tests and outputs.
func (s *Store) get(ctx context.Context, id, large string) (r row, rec Record, err error) {
	if !ValidStoredID(id) { // PostgreSQL rejects some strings
		return r, Record{}, fmt.Errorf("job %q: %w", id, api.ErrNotFound)
	}
	found := false
	err = s.rows(ctx, s.read, query{"read job", `SELECT ` + rowColumns +
		`, pool, digest, job, ` + large + ` FROM jobs WHERE id = ?1`, []any{id}}, func(rows *sql.Rows) (err error) {
		var pool, digest string
		var body, tests, outputs []byte
		if err := rows.Scan(append(r.fields(), &pool, &digest, &body, &tests, &outputs)...); err != nil {
			return err
		}
		found = true
		rec, err = r.record(digest, body, tests, outputs)
		rec.Pool = pool
		return err
	})
	if err == nil && (!found || hidden(ctx, rec.Report.Tenant)) {
		return row{}, Record{}, fmt.Errorf("job %q: %w", id, api.ErrNotFound)
	}
	return r, rec, err
}

// readRow returns a job without its large columns.
func (s *Store) readRow(ctx context.Context, id string) (row, error) {
	return s.readRowTo(ctx, "read job", id)
}

// readRowTo is like readRow but reports errors under the given operation.
func (s *Store) readRowTo(ctx context.Context, operation, id string) (row, error) {
	var r row
	if !ValidStoredID(id) {
		return r, fmt.Errorf("job %q: %w", id, api.ErrNotFound)
	}
	err := s.rows(ctx, s.read, query{operation, `SELECT ` + rowColumns + ` FROM jobs WHERE id = ?1`, []any{id}},
		func(rows *sql.Rows) error {
			return rows.Scan(r.fields()...)
		})
	if err == nil && r.id != "" && TenantOf(ctx) != "" {
		var rep api.Report
		if rep, err = r.report(); err == nil && hidden(ctx, rep.Tenant) {
			r = row{}
		}
	}
	if err == nil && r.id == "" {
		err = fmt.Errorf("job %q: %w", id, api.ErrNotFound)
	}
	return r, err
}

// The first byte of a packed column identifies its encoding.
const (
	packedPlain = 0
	packedS2    = 1
	// packAbove is the size in bytes above which compression pays off. Measured on a report of 2000 runs with 725 kB of
	// JSON: s2 leaves 27 % in 1 ms, zstd 16 % in 6 ms, gzip 15 % in 12 ms.
	packAbove = 512
	// maxUnpacked limits the memory that a damaged length field can request, in bytes.
	maxUnpacked = 512 << 20
)

func packJSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > packAbove {
		packed := make([]byte, 1+s2.MaxEncodedLen(len(data)))
		packed[0] = packedS2
		return packed[:1+len(s2.Encode(packed[1:], data))], nil
	}
	return append([]byte{packedPlain}, data...), nil
}

// packOutputs returns the value of the column outputs, or nil without outputs.
func packOutputs(rep api.Report) ([]byte, error) {
	if len(rep.Outputs) == 0 {
		return nil, nil
	}
	return packJSON(rep.Outputs)
}

// eachOutput calls f with each blob in a column outputs.
func eachOutput(packed []byte, f func(digest string)) error {
	var outputs []struct {
		Blob string `json:"blob"`
	}
	if packed == nil {
		return nil
	}
	if err := unpackJSON(packed, &outputs); err != nil {
		return err
	}
	for _, o := range outputs {
		if o.Blob != "" {
			f(o.Blob)
		}
	}
	return nil
}

func unpack(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, errors.New("empty column")
	}
	switch data[0] {
	case packedPlain:
		return data[1:], nil
	case packedS2:
		n, err := s2.DecodedLen(data[1:])
		if err == nil && n > maxUnpacked {
			err = fmt.Errorf("%d bytes, at most %d are read", n, maxUnpacked)
		}
		if err != nil {
			return nil, err
		}
		return s2.Decode(nil, data[1:])
	}
	return nil, fmt.Errorf("unknown encoding %d, written by a newer judged", data[0])
}

func unpackJSON(data []byte, v any) error {
	plain, err := unpack(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}
