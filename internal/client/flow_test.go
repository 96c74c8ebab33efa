package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowLine is a daemon with delays before the response and before each byte of it.
type slowLine struct {
	answer      string
	begin, each time.Duration
	asked       int
}

// RoundTrip implements http.RoundTripper. It responds after begin.
func (s *slowLine) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	if err := pass(r.Context(), s.begin); err != nil {
		return nil, err
	}
	body := &drops{r.Context(), s.answer, s.each}
	header := http.Header{"Content-Type": {"application/json"}}
	if strings.HasSuffix(r.URL.Path, "/events") {
		header.Set("Content-Type", "text/event-stream")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(body), Request: r}, nil
}

type drops struct {
	ctx  context.Context
	left string
	each time.Duration
}

// Read implements io.Reader. It returns the next byte after its delay.
func (d *drops) Read(b []byte) (int, error) {
	if d.left == "" {
		return 0, io.EOF
	}
	if err := pass(d.ctx, d.each); err != nil {
		return 0, err
	}
	n := copy(b, d.left[:1])
	d.left = d.left[n:]
	return n, nil
}

// pass waits for d in the time of a synctest bubble.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestSlowLine checks that a response may take any time as long as data arrives, and that a stalled one is aborted.
func TestSlowLine(t *testing.T) {
	type outcome struct {
		Took  time.Duration
		Asked int
		Err   string
	}
	report := func(wait time.Duration) func(context.Context, Client) error {
		return func(ctx context.Context, c Client) error { _, err := c.Job(ctx, "a", wait); return err }
	}
	last := func(ctx context.Context, c Client) (err error) {
		for _, err = range c.Watch(ctx, "a", 0) {
		}
		return err
	}
	const long = time.Duration(len(doneJob)) * time.Second
	const late = "reach judged at http://judged: no answer in time; start it with judged serve, or name the address " +
		"where it is"
	for _, tt := range []struct {
		name string
		line slowLine
		ask  func(context.Context, Client) error
		want outcome
	}{
		{"report", slowLine{answer: doneJob, each: 29 * time.Second}, report(0), outcome{29 * long, 1, ""}},
		{"report after a wait", slowLine{doneJob, 89 * time.Second, 29 * time.Second, 0}, report(time.Minute),
			outcome{89*time.Second + 29*long, 1, ""}},
		{"report that stops", slowLine{answer: doneJob, each: time.Hour}, report(0),
			outcome{30 * time.Second, 1, late}},
		{"no report", slowLine{answer: doneJob, begin: time.Hour}, report(time.Minute),
			outcome{90 * time.Second, 1, late}},
		{"event", slowLine{answer: doneMessage, each: 44 * time.Second}, last,
			outcome{44 * time.Duration(len(doneMessage)) * time.Second, 1, ""}},
		{"event that stops", slowLine{answer: doneMessage, each: time.Hour}, last,
			outcome{2 * time.Hour, 159, context.DeadlineExceeded.Error()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				begun, got := time.Now(), outcome{}
				if err := tt.ask(ctx, Client{Base: "http://judged",
					HTTP: &http.Client{Transport: &tt.line}}); err != nil {
					got.Err = err.Error()
				}
				got.Took, got.Asked = time.Since(begun), tt.line.asked
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
