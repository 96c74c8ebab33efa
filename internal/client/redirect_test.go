package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"judged/internal/api"
)

// withToken adds a token to all requests, as the connection of a judge node to its front does.
type withToken struct{}

func (withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer secret")
	return http.DefaultTransport.RoundTrip(r)
}

// TestRedirects: no request follows a redirect. Another host would get the token and the report of a node, and a POST
// would become a GET, whose answer is that of another question.
func TestRedirects(t *testing.T) {
	var followed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		followed.Add(1)
		_, _ = w.Write([]byte(doneJob))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308, 300} {
		for name, c := range map[string]Client{"token": {Token: "secret"},
			"transport": {HTTP: &http.Client{Transport: withToken{}}}} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere.URL+r.URL.Path)
				w.WriteHeader(status)
			}))
			c.Base = server.URL
			for what, ask := range map[string]func(context.Context) error{
				"get":    func(ctx context.Context) error { _, err := c.Job(ctx, "a", 0); return err },
				"submit": func(ctx context.Context) error { _, err := c.Submit(ctx, "a", api.Job{}); return err },
				"head": func(ctx context.Context) error {
					there, err := c.HasBlob(ctx, "a")
					if there {
						t.Errorf("%d %s: the blob is there", status, name)
					}
					return err
				},
				"blob": func(ctx context.Context) error { _, err := c.GetBlob(ctx, "a"); return err },
				"finish": func(ctx context.Context) error {
					_, err := Post[api.Nothing](ctx, c, "/v1/work/finish", 1, 0)
					return err
				},
			} {
				err := ask(t.Context())
				p, answered := errors.AsType[*Problem](err)
				if !answered || p.Status != status || ClassOf(err) != Barred ||
					!strings.Contains(err.Error(), elsewhere.URL) {
					t.Errorf("%d %s %s: %v, class %d", status, name, what, err, ClassOf(err))
				}
			}
			server.Close()
		}
	}
	if n := followed.Load(); n > 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}
