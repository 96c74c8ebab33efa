package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// Submit submits a job whose contents are inline or in blobs, and returns its report once the daemon has stored it
// durably. If id is "", the job gets a new ID. While the queue is full or the daemon is not ready, Submit retries until
// ctx is done; a job is never stored twice. If the first request cannot reach the daemon, Submit returns an error
// immediately.
func (c Client) Submit(ctx context.Context, id string, j api.Job) (api.Report, error) {
	return c.put(ctx, id, j, 0)
}

// Judge is like Submit followed by Wait, in one request if the job takes less than a minute.
func (c Client) Judge(ctx context.Context, id string, j api.Job) (api.Report, error) {
	report, err := c.put(ctx, id, j, time.Minute)
	if err != nil || report.State.Final() {
		return report, err
	}
	return c.Wait(ctx, report.ID)
}

func (c Client) put(ctx context.Context, id string, j api.Job, wait time.Duration) (api.Report, error) {
	if id == "" {
		// Chosen here, so that a retry after a lost response does not create a second job.
		id = strings.ToLower(rand.Text())
	}
	q := request{method: http.MethodPut, path: "/v1/jobs/" + url.PathEscape(id), limit: 10 * time.Minute}
	if wait > 0 {
		q.query = url.Values{"wait": {wait.String()}}
	}
	q, err := q.jsonBody(j)
	if err != nil {
		return api.Report{}, err
	}
	return persist(ctx, false, func() (api.Report, error) { return call[api.Report](ctx, c, q) })
}

// persist repeats ask while a later call may succeed. If the daemon has responded before, persist also retries for a
// minute while the daemon fails, or cannot be reached because it may be restarting, which a proxy may say.
func persist[T any](ctx context.Context, reached bool, ask func() (T, error)) (T, error) {
	lost := 0
	for {
		v, err := ask()
		wait, temporary := again(err)
		if err == nil || !temporary || ctx.Err() != nil {
			return v, err
		}
		p, answered := errors.AsType[*Problem](err)
		if lost++; answered && p.Kind() != "" && p.Status != http.StatusInternalServerError {
			lost = 0
		}
		// A proxy that limits requests has a daemon behind it, most likely.
		reached = reached || lost == 0 || answered && p.Status == http.StatusTooManyRequests
		if !reached || lost > maxLost {
			return v, err
		}
		if poll.Sleep(ctx, wait); ctx.Err() != nil {
			return v, err
		}
	}
}

// maxLost is how many consecutive requests may fail or not reach the daemon: those of a minute.
const maxLost = int(time.Minute / pause)

// Job returns the report of a job. If wait is above 0, it returns once the report is final or that time has passed. The
// daemon waits at most a minute.
func (c Client) Job(ctx context.Context, id string, wait time.Duration) (api.Report, error) {
	q := request{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(id), limit: patience +
		min(wait, time.Minute)}
	if wait > 0 {
		q.query = url.Values{"wait": {wait.String()}}
	}
	return call[api.Report](ctx, c, q)
}

// Wait returns the report of a job once it is final. It continues across a restart of the daemon.
func (c Client) Wait(ctx context.Context, id string) (api.Report, error) {
	reached := false
	for {
		report, err := persist(ctx, reached, func() (api.Report, error) { return c.Job(ctx, id, time.Minute) })
		if err != nil || report.State.Final() {
			return report, err
		}
		reached = true
	}
}

// Cancel cancels a waiting or running job.
func (c Client) Cancel(ctx context.Context, id string) (api.Report, error) {
	return Delete[api.Report](ctx, c, "/v1/jobs/"+url.PathEscape(id))
}

// DeleteJob deletes a job that has ended.
func (c Client) DeleteJob(ctx context.Context, id string) error {
	ctx, cancel := c.patient(ctx)
	defer cancel()
	res, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/jobs/" + url.PathEscape(id) + "/delete"})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return c.strange(fmt.Errorf("its status is %d", res.StatusCode))
	}
	return nil
}

// Filter selects jobs for List. Zero members do not restrict.
type Filter struct {
	State       api.State
	Verdict     api.Verdict
	Problem     string // ID
	Language    string // ID
	Tenant      string
	Labels      map[string]string // all must match
	CreatedFrom time.Time
	CreatedTo   time.Time
	After       string // Next of the previous page
	Limit       int    // page size; 0 selects the daemon's default
}

// Page is a page of the list, newest job first, without tests.
type Page struct {
	Jobs []api.Report `json:"jobs"`
	Next string       `json:"next,omitempty"` // "" on the last page
}

// addLabels adds the parameters that select labels.
func addLabels(v url.Values, labels map[string]string) {
	for key, value := range labels {
		v.Add("label", key+"="+value)
	}
}

// List returns one page.
func (c Client) List(ctx context.Context, f Filter) (Page, error) {
	v := url.Values{}
	for name, text := range map[string]string{"state": string(f.State), "verdict": string(f.Verdict),
		"problem": f.Problem, "language": f.Language, "tenant": f.Tenant, "after": f.After} {
		if text != "" {
			v.Set(name, text)
		}
	}
	for name, at := range map[string]time.Time{"created_from": f.CreatedFrom, "created_to": f.CreatedTo} {
		if !at.IsZero() {
			v.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	addLabels(v, f.Labels)
	if f.Limit != 0 {
		v.Set("limit", strconv.Itoa(f.Limit))
	}
	return call[Page](ctx, c, request{method: http.MethodGet, path: "/v1/jobs", query: v})
}

// Link returns a signed address of the page of a job.
func (c Client) Link(ctx context.Context, id string, valid time.Duration) (api.Link, error) {
	return call[api.Link](ctx, c, request{method: http.MethodPost, path: "/v1/jobs/" + url.PathEscape(id) + "/link",
		query: url.Values{"valid_seconds": {strconv.FormatInt(int64(valid/time.Second), 10)}}})
}
