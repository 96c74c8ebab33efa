package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"context"

	"judged/internal/base/job"
)

// Filter chooses jobs for List. Zero members do not restrict.
type Filter struct {
	State job.State
	Label map[string]string // all of them must match
	After string            // the cursor that the page before returned
	Limit int               // page length; 0 is 50, at most 500
}

const (
	defaultPage = 50
	maxPage     = 500
)

// List returns one page of reports, the newest job first, without their tests,
// and the cursor of the next page, "" after the last one. It reads memory
// only: without a filter one page costs its own length, with one the jobs it
// has to pass over.
func (s *Store) List(_ context.Context, f Filter) (page []job.Report, next string, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	heads, last, more, err := s.index.page(f, min(limit, maxPage))
	if err != nil {
		return nil, "", err
	}
	page = make([]job.Report, len(heads))
	for i, raw := range heads {
		var h head
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, "", fmt.Errorf("list jobs: decode record: %w", err)
		}
		page[i] = h.Report
	}
	if more {
		next = last
	}
	return page, next, nil
}

// page collects the heads of up to limit matching jobs, the cursor of the last
// of them, and whether another match follows.
func (x *index) page(f Filter, limit int) (heads [][]byte, last string, more bool, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at := len(x.order)
	if f.After != "" {
		created, id, err := parseCursor(f.After)
		if err != nil {
			return nil, "", false, err
		}
		at, _ = x.position(created, id)
	}
	for at--; at >= 0; at-- {
		e := x.order[at]
		if !f.matches(e) {
			continue
		}
		if len(heads) == limit {
			return heads, last, true, nil
		}
		heads, last = append(heads, e.encoded()), cursor(e)
	}
	return heads, last, false, nil
}

func (f Filter) matches(e *entry) bool {
	if f.State != "" && e.state != f.State {
		return false
	}
	for k, v := range f.Label {
		if got, ok := e.labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// cursor is a place in the order, not a job: it holds when the job is deleted.
func cursor(e *entry) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", e.created.UnixNano(), e.id))
}

func parseCursor(c string) (created time.Time, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil {
		return time.Time{}, "", fmt.Errorf("list jobs after %q: %w", c, ErrBadCursor)
	}
	nanos, id, ok := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil || !ok || !ValidID(id) {
		return time.Time{}, "", fmt.Errorf("list jobs after %q: %w", c, ErrBadCursor)
	}
	return time.Unix(0, n), id, nil
}
