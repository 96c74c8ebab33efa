package callback

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"judged/internal/base/config"
)

// TestSecrets checks that the library verifies signatures with each secret of a tenant, and with no other.
func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	text := fmt.Sprintf("# comment\n\n%s\nacme %s\n  %s\n", oldSecret, secret, secret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := LoadSecrets(file, []config.Tenant{{Name: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	now, body := time.Now(), []byte(`{"a": 1}`)
	for _, tt := range []struct {
		tenant, secret string
		want           bool
	}{{"", oldSecret, true}, {"", secret, true}, {"acme", secret, true}, {"acme", oldSecret, false}} {
		signature, err := s.sign(tt.tenant, "msg_1", now, body)
		if err != nil {
			t.Fatal(err)
		}
		hook, err := webhooks.NewWebhook(tt.secret)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("webhook-id", "msg_1")
		h.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
		h.Set("webhook-signature", signature)
		if err := hook.Verify(body, h); (err == nil) != tt.want {
			t.Errorf("tenant %q: %v, want verified %t", tt.tenant, err, tt.want)
		}
	}
	if s.has("other") || (*Secrets)(nil).has("") {
		t.Error("there are secrets that are not in the file")
	}
}

func TestSecretErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "no secrets"},
		{"# only\n", "no secrets"},
		{secret + "\nwhsec_c2hvcnQ=\n", "line 2: no secret"},
		{secret[len("whsec_"):], "line 1: no secret"},
		{"whsec_" + strings.Repeat("A", 88), "line 1: no secret"}, // 66 bytes
		{"a b " + secret, "line 1: 3 fields"},
		{secret + " acme", "line 1: a secret is not the last field"},
		{secret + " " + oldSecret, "line 1: a secret is not the last field"},
		{"whsec_!", "line 1: no secret"},
	} {
		_, err := ParseSecrets(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret[6:20]) {
			t.Errorf("%q: %v, want an error with %q", tt.text, err, tt.want)
		}
	}
	absent := filepath.Join(t.TempDir(), "absent")
	if _, err := LoadSecrets(absent, nil); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("absent file: %v", err)
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add("acme " + secret + "\n#\n" + oldSecret)
	f.Add("")
	f.Add("# none\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecrets(strings.NewReader(text))
		if (err == nil) != (s != nil) || s != nil && len(s.keys) == 0 {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// TestSecretsOfUnknownTenants checks that a misspelled tenant is an error: its secret would sign nothing, and the jobs of
// the tenant would be refused.
func TestSecretsOfUnknownTenants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(oldSecret+"\nacme "+secret+"\nacmee "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadSecrets(file, []config.Tenant{{Name: "acme"}})
	if want := `line 3: unknown tenant "acmee"; `; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
