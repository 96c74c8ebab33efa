package jobs

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/job"
)

// Filter chooses jobs for List. Zero members do not restrict.
type Filter struct {
	State    job.State
	Verdict  job.Verdict
	Priority job.Priority
	Pool     string
	Label    map[string]string // all of them must match
	From     time.Time         // created then or later
	To       time.Time         // created before
	After    string            // the cursor that the page before returned
	Limit    int               // page length; 0 is 50, at most 500
}

const (
	defaultPage = 50
	maxPage     = 500
)

// List returns one page of reports, the newest job first, without their tests,
// and the cursor of the next page, "" after the last one. With one restriction
// and a range of time a page is one range of an index; each further one passes
// over the jobs that it excludes.
func (s *Store) List(ctx context.Context, f Filter) (page []job.Report, next string, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	text, args, err := f.sql(limit + 1)
	if err != nil {
		return nil, "", err
	}
	var last row
	more := false
	err = s.rows(ctx, s.read, query{"list jobs", text, args}, func(rows *sql.Rows) error {
		if more = len(page) == limit; more {
			return nil
		}
		last = row{}
		if err := rows.Scan(last.fields()...); err != nil {
			return err
		}
		rep, err := last.report()
		page = append(page, rep)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(last.created, last.seq)
	}
	return page, next, nil
}

// clause collects conditions and their arguments.
type clause struct {
	where []string
	args  []any
}

// add appends a condition whose ? become the numbers of its arguments.
func (c *clause) add(condition string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		condition = strings.Replace(condition, "?", fmt.Sprintf("{%d}", len(c.args)), 1)
	}
	c.where = append(c.where, strings.NewReplacer("{", "?", "}", "").Replace(condition))
}

// sql is the query of a page of n rows. With labels it walks the index of one
// of them; CROSS JOIN keeps SQLite from walking the jobs instead.
func (f Filter) sql(n int) (string, []any, error) {
	var c clause
	from, created, seq := "jobs j", "j.created", "j.seq"
	for i, key := range slices.Sorted(maps.Keys(f.Label)) {
		hash := labelHash(key, f.Label[key])
		if i == 0 {
			from, created, seq = "labels l CROSS JOIN jobs j", "l.created", "l.job"
			c.add("l.label = ? AND j.seq = l.job", hash)
			continue
		}
		c.add("EXISTS (SELECT 1 FROM labels m WHERE m.label = ? AND m.created = l.created AND m.job = l.job)", hash)
	}
	if f.State != "" {
		c.add("j.state = ?", slices.Index(states[:], f.State))
	}
	if f.Verdict != "" {
		c.add("j.verdict = ? AND j.verdict <> ''", string(f.Verdict))
	}
	if f.Priority != "" {
		c.add("j.priority = ?", priorityNumber(f.Priority))
	}
	if f.Pool != "" {
		c.add("j.pool = ?", f.Pool)
	}
	if !f.From.IsZero() {
		c.add(created+" >= ?", f.From.UnixNano())
	}
	if !f.To.IsZero() {
		c.add(created+" < ?", f.To.UnixNano())
	}
	if f.After != "" {
		lastCreated, lastSeq, err := parseCursor(f.After)
		if err != nil {
			return "", nil, err
		}
		c.add("("+created+", "+seq+") < (?, ?)", lastCreated, lastSeq)
	}
	where := ""
	if len(c.where) > 0 {
		where = " WHERE " + strings.Join(c.where, " AND ")
	}
	c.args = append(c.args, n)
	columns := "j." + strings.ReplaceAll(rowColumns, ", ", ", j.")
	return fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s DESC, %s DESC LIMIT ?%d", columns, from, where, created, seq, len(c.args)), c.args, nil
}

// cursor is a place in the order, not a job: it holds when the job is deleted.
func cursor(created, seq int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d", created, seq))
}

func parseCursor(c string) (created, seq int64, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(c)
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d %d", &created, &seq)
	}
	if err != nil || cursor(created, seq) != c {
		return 0, 0, fmt.Errorf("list jobs after %q: %w", c, ErrBadCursor)
	}
	return created, seq, nil
}
