package jobs

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
)

// Filter selects jobs for List. Zero members do not restrict.
type Filter struct {
	State     api.State
	Verdict   api.Verdict
	Priority  api.Priority
	Pool      string
	Problem   string            // ID of the problem that the job names
	Language  string            // of the program
	Tenant    string            // the tenant of the context restricts, too
	Label     map[string]string // all of them must match
	From      time.Time         // created then or later
	To        time.Time         // created before
	Audits    bool              // include audits
	Originals bool              // leave out the jobs that rejudgings have queued
	After     string            // cursor that the previous page returned
	Limit     int               // page length; 0 means 50, at most 500
}

const (
	defaultPage = 50
	maxPage     = 500
)

// List returns one page of reports without tests, newest job first, and the cursor of the next page, or "" after the
// last one. With one restriction and a time range, a page is a range of an index. Further restrictions filter its rows.
func (s *Store) List(ctx context.Context, f Filter) (page []api.Report, next string, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	labels, err := s.rarestFirst(ctx, f.labels(TenantOf(ctx)))
	if err != nil {
		return nil, "", err
	}
	text, args, err := f.sql(labels, limit+1)
	if err != nil {
		return nil, "", err
	}
	var last row
	more := false
	q := query{"list jobs", text, args}
	scan := func(rows *sql.Rows) error {
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
	}
	if len(labels) > 1 || !f.From.IsZero() || !f.To.IsZero() {
		err = s.adhoc(ctx, s.opts.Timeout, q, scan)
	} else { // few texts
		err = s.rows(ctx, s.read, q, scan)
	}
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(last.created, last.seq)
	}
	return page, next, nil
}

// rareLabel is the number of jobs of a label at which counting stops.
const rareLabel = 2000

// labels returns the hashes of the labels that all selected jobs have, without duplicates. They include tenant, problem
// and language.
func (f Filter) labels(caller string) (hashes [][]byte) {
	for key, value := range f.Label {
		hashes = append(hashes, labelHash(key, value))
	}
	for _, own := range [][2]string{{TenantLabel, f.Tenant}, {TenantLabel, caller}, {problemLabel, f.Problem},
		{languageLabel, f.Language}} {
		if hash := labelHash(own[0], own[1]); own[1] != "" && !slices.ContainsFunc(hashes, func(h []byte) bool {
			return bytes.Equal(h, hash)
		}) {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// rarestFirst sorts the hashes of labels by the number of their jobs.
func (s *Store) rarestFirst(ctx context.Context, labels [][]byte) ([][]byte, error) {
	var hashes [][]byte
	best := rareLabel
	for _, hash := range labels {
		n := 0
		hashes = append(hashes, hash)
		if len(labels) == 1 {
			break
		}
		err := s.rows(ctx, s.read, query{"list jobs",
			`SELECT COUNT(*) FROM (SELECT 1 FROM labels WHERE label = ?1 LIMIT ?2) AS few`, []any{hash, rareLabel}},
			func(rows *sql.Rows) error { return rows.Scan(&n) })
		if err != nil {
			return nil, err
		}
		if n < best {
			best = n
			hashes[0], hashes[len(hashes)-1] = hash, hashes[0]
		}
	}
	return hashes, nil
}

// walk describes the index that a page reads, newest entry first: all of its entries, or those with one value of the
// first column.
type walk struct {
	column, created, seq string // "" for all jobs
	value                any
	kind                 string // type of the column in SQL
}

// page builds the query of a page. The first restriction of a filter selects the index. Its column is compared with >=
// and <= instead of =, so that only this index provides the order of ORDER BY. Otherwise PostgreSQL scans the index of
// all jobs and filters, and SQLite sorts all matches. CROSS JOIN makes SQLite read labels first.
type page struct {
	where []string
	args  []any
}

// add appends a condition. args has one argument for each ?.
func (p *page) add(condition string, args ...any) {
	for _, a := range args {
		p.args = append(p.args, a)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(p.args)), 1)
	}
	p.where = append(p.where, strings.ReplaceAll(condition, "$", "?"))
}

// sql returns the query of a page of n rows.
func (f Filter) sql(labels [][]byte, n int) (string, []any, error) {
	var p page
	w := walk{created: "j.created", seq: "j.seq"}
	from := "jobs j"
	// restrict selects the walk for the first restriction. "+" and "||" prevent the use of an index for the others.
	restrict := func(column, other, kind string, value any) {
		if w.column == "" {
			w.column, w.value, w.kind = column, value, kind
		} else {
			p.add(other+" = ?", value)
		}
	}
	for i, hash := range labels {
		if i == 0 {
			from = "labels l CROSS JOIN jobs j"
			w = walk{"l.label", "l.created", "l.job", hash, "{blob}"}
			p.add("j.seq = l.job")
		} else {
			// A count instead of EXISTS, which PostgreSQL turns into a join with all jobs of the label.
			p.add("1 = (SELECT COUNT(*) FROM labels m WHERE m.label = ? AND m.created = l.created AND m.job = l.job)",
				hash)
		}
	}
	if f.Verdict != "" {
		restrict("j.verdict", "j.verdict || ''", "TEXT", string(f.Verdict))
		p.add("j.verdict <> ''")
	}
	if f.State != "" {
		restrict("j.state", "+j.state", "SMALLINT", slices.Index(states[:], f.State))
	}
	if f.Pool != "" {
		restrict("j.pool", "j.pool || ''", "TEXT", f.Pool)
	}
	if f.Priority != "" {
		restrict("j.priority", "+j.priority", "SMALLINT", priorityNumber(f.Priority))
	}
	if !f.Audits {
		p.add("+j.priority < ?", auditPriority)
	}
	if f.Originals {
		p.add("{position}(j.id, ?) <> 1", NamedID(rejudgeKind, ""))
	}
	if err := p.bound(w, f); err != nil {
		return "", nil, err
	}
	order := w.created + " DESC, " + w.seq + " DESC"
	if w.column != "" {
		order = w.column + " DESC, " + order
	}
	where := ""
	if len(p.where) > 0 {
		where = " WHERE " + strings.Join(p.where, " AND ")
	}
	p.args = append(p.args, n)
	text := fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT ?%d", rowColumnsOfJ, from, where, order, len(p.args))
	return text, p.args, nil
}

// bound restricts the walk to the value and times of the filter, and to the entries after the previous page.
func (p *page) bound(w walk, f Filter) error {
	// PostgreSQL limits a walk only if its first column decides a comparison of rows. With an array of one value, as
	// with >= and <=, the other indexes do not provide the order, and the next columns can be compared alone.
	if w.column != "" {
		p.add(w.column+" {among}CAST(? AS "+w.kind+"){/among}", w.value)
	}
	compare := func(operator string, columns []string, values ...any) {
		if w.column != "" {
			if len(columns) > 0 {
				p.compare(operator, columns, values)
			}
			columns, values = append([]string{w.column}, columns...), append([]any{w.value}, values...)
		}
		if len(columns) > 0 {
			p.compare(operator, columns, values)
		}
	}
	if f.From.IsZero() {
		compare(">=", nil)
	} else {
		compare(">=", []string{w.created}, f.From.UnixNano())
	}
	if !f.To.IsZero() {
		compare("<", []string{w.created}, f.To.UnixNano())
	}
	if f.After != "" {
		created, seq, err := parseCursor(f.After)
		if err != nil {
			return err
		}
		compare("<", []string{w.created, w.seq}, created, seq)
	}
	if f.To.IsZero() && f.After == "" {
		compare("<=", nil)
	}
	return nil
}

// compare adds a comparison of rows.
func (p *page) compare(operator string, columns []string, values []any) {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	p.add("("+strings.Join(columns, ", ")+") "+operator+" ("+marks+")", values...)
}

// cursor encodes a position in the order. It remains valid if the job is deleted.
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
