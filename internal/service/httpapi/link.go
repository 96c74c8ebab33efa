package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"judged/internal/api"
)

// LinkPath is below which the pages of links are.
const LinkPath = "/link/"

// The time for which a link is valid, unless the caller asks for another.
const (
	linkTime = 7 * 24 * time.Hour
	maxLink  = 365 * 24 * time.Hour
)

// linkJob signs an address of the page of a job.
func (s *Server) linkJob(r *http.Request) (any, error) {
	values, valid := r.URL.Query(), linkTime
	if text := values.Get("valid_seconds"); values.Has("valid_seconds") {
		seconds, err := strconv.ParseUint(text, 10, 32)
		if valid = time.Duration(seconds) * time.Second; err != nil || valid < time.Second || valid > maxLink {
			return nil, problem("bad-request", fmt.Sprintf("send a number from 1 to %d", maxLink/time.Second),
				"parameter valid_seconds: %.70q", text)
		}
	}
	record, err := s.jobs.GetShort(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	until := s.now().Add(valid).Truncate(time.Second).UTC()
	address := LinkPath + url.PathEscape(record.ID) + "?" + url.Values{"until": {strconv.FormatInt(until.Unix(), 10)},
		"signature": {s.signLink(record.Report, until)}}.Encode()
	s.log.Info("linked a job", "job", record.ID, "until", until, by(r))
	return api.Link{Path: address, Until: until}, nil
}

// signLink returns the signature of a link. It has the time of creation, so that a later job with the same ID has other
// links.
func (s *Server) signLink(r api.Report, until time.Time) string {
	mac := hmac.New(sha256.New, s.linkKey)
	fmt.Fprintf(mac, "judged link\x00%s\x00%d\x00%d", r.ID, r.CreatedAt.UnixNano(), until.Unix())
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Linked returns the report of the job that a request for a link names, or a *Problem. It does not reveal whether a job
// exists.
func (d *Desk) Linked(ctx context.Context, r *http.Request) (api.Report, error) {
	values := r.URL.Query()
	seconds, err := strconv.ParseInt(values.Get("until"), 10, 64)
	until := time.Unix(seconds, 0)
	record, getErr := d.s.jobs.Get(ctx, r.PathValue("id"))
	if getErr != nil && !errors.Is(getErr, api.ErrNotFound) {
		return api.Report{}, getErr
	}
	valid := err == nil && getErr == nil &&
		hmac.Equal([]byte(values.Get("signature")), []byte(d.s.signLink(record.Report, until)))
	if !valid {
		return api.Report{}, problem("not-found", "ask for a new link; judged link JOB makes one",
			"this link is not valid, or its job is no longer kept")
	}
	if !d.s.now().Before(until) {
		return api.Report{}, problem("gone", "ask for a new link; judged link JOB makes one", "this link has ended")
	}
	return record.Report, nil
}
