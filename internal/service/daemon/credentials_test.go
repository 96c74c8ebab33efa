package daemon

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestFrontAccess checks that after a reload a judge sends its new token, and trusts the new CA and no other.
func TestFrontAccess(t *testing.T) {
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer front.Close()
	trusting := x509.NewCertPool()
	trusting.AddCert(front.Certificate())
	var access frontAccess
	c := http.Client{Transport: &access}
	for _, tt := range []struct {
		name  string
		files credentials
		want  int // 0 means an error
	}{
		{"no token", credentials{roots: trusting}, http.StatusUnauthorized},
		{"the old token", credentials{roots: trusting, nodeToken: "old"}, http.StatusUnauthorized},
		{"the new token", credentials{roots: trusting, nodeToken: "new"}, http.StatusOK},
		{"another CA", credentials{roots: x509.NewCertPool(), nodeToken: "new"}, 0},
		{"the CA again", credentials{roots: trusting, nodeToken: "new"}, http.StatusOK},
	} {
		access.use(tt.files)
		got := 0
		if answer, err := c.Get(front.URL); err == nil {
			got = answer.StatusCode
			answer.Body.Close()
		}
		if got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
