package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"judged/internal/api"
)

// RejudgedPage returns a page of up to limit jobs of a rejudging in the order of the originals' IDs, and the cursor of
// the next page, or "" after the last one.
func (s *Store) RejudgedPage(ctx context.Context, id string, changed bool, after string, limit int) (
	page []api.RejudgedReport, next string, err error) {
	if after != "" && !ValidStoredID(after) {
		return nil, "", fmt.Errorf("list jobs of rejudging %q after %q: %w", id, after, ErrBadCursor)
	}
	only := ""
	if changed {
		only = ` AND ` + newVerdict + ` NOT IN ('', r.old_verdict)`
	}
	page = []api.RejudgedReport{}
	err = s.rows(ctx, s.read, query{"list rejudged jobs", `SELECT r.original, r.id, r.old_verdict, ` + newVerdict + `,
	r.state = ` + strconv.Itoa(rejudgedReplaced) + `, r.reason FROM rejudged r LEFT JOIN jobs j ON j.id = r.id
WHERE r.rejudging = ?1 AND r.original {bytes} > ?2` + only + ` ORDER BY r.original {bytes} LIMIT ?3`,
		[]any{id, after, limit + 1}}, func(rows *sql.Rows) error {
		var r api.RejudgedReport
		err := rows.Scan(&r.Job, &r.Again, &r.Old, &r.New, &r.Applied, &r.Skipped)
		if r.Skipped != "" {
			r.Again = ""
		}
		page = append(page, r)
		return err
	})
	if err == nil && len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Job
	}
	return page, next, err
}

// Rejudgings returns a page of up to limit rejudgings without their jobs, newest first, and the cursor of the next
// page, or "" after the last one.
func (s *Store) Rejudgings(ctx context.Context, after string, limit int) (page []api.Rejudging, next string, err error) {
	before, id := int64(1<<63-1), ""
	if after != "" {
		if before, id, err = parseRejudgingCursor(after); err != nil {
			return nil, "", err
		}
	}
	var found []rejudgingRow
	text, args := listRejudgings, []any{before, id, limit + 1}
	if name := TenantOf(ctx); name != "" {
		text, args = listRejudgingsOf, append(args, name)
	}
	err = s.rows(ctx, s.read, query{"list rejudgings", text, args}, func(rows *sql.Rows) error {
		var r rejudgingRow
		err := rows.Scan(r.fields()...)
		found = append(found, r)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next = strconv.FormatInt(last.created, 10) + "-" + last.id
	}
	page = []api.Rejudging{}
	for _, row := range found {
		v, err := s.count(ctx, row)
		if err != nil {
			return nil, "", err
		}
		page = append(page, v)
	}
	return page, next, nil
}

const (
	listRejudgings = `SELECT ` + rejudgingColumns + ` FROM rejudgings
WHERE created < ?1 OR created = ?1 AND id {bytes} > ?2 ORDER BY created DESC, id {bytes} LIMIT ?3`
	listRejudgingsOf = `SELECT ` + rejudgingColumns + ` FROM rejudgings
WHERE tenant = ?4 AND (created < ?1 OR created = ?1 AND id {bytes} > ?2) ORDER BY created DESC, id {bytes} LIMIT ?3`
)

func parseRejudgingCursor(c string) (created int64, id string, err error) {
	number, id, ok := strings.Cut(c, "-")
	created, err = strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || created < 0 || !ValidStoredID(id) {
		return 0, "", fmt.Errorf("list rejudgings after %q: %w", c, ErrBadCursor)
	}
	return created, id, nil
}
