package daemon

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/languages"
	"judged/internal/service/callback"
	"judged/internal/service/httpapi"
)

// TestPeersCompareFiles checks that fronts compare what they have read from files: the factors of languages, which change
// the limits of jobs, and the secrets of callbacks, without which jobs with a callback are refused.
func TestPeersCompareFiles(t *testing.T) {
	type files struct {
		factor  float64
		secrets string
	}
	one, two := "whsec_"+strings.Repeat("A", 32), "acme whsec_"+strings.Repeat("B", 32)
	settings := func(f files) map[string]string {
		c := config.Default()
		c.DataDir = filepath.Join(t.TempDir(), "data")
		d := &daemon{o: Options{Config: c, Log: slog.New(slog.DiscardHandler), Engine: engine.Options{
			Languages: engine.LanguageOptions{Catalogue: languages.Catalogue{"java": {Factors: api.Factors{Time: f.factor}},
				"c": {}}}}}}
		d.config.Store(&c)
		if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer d.close()
		d.api.Store(httpapi.New(httpapi.Options{Config: c, Log: d.o.Log}))
		o := callback.Options{Store: d.store}
		if f.secrets != "" {
			var err error
			if o.Settings.Secrets, err = callback.ParseSecrets(strings.NewReader(f.secrets)); err != nil {
				t.Fatal(err)
			}
		}
		d.callbacks = callback.New(o)
		return d.asPeer().Settings
	}
	base := files{2, one + "\n" + two}
	for _, tt := range []struct {
		name  string
		other files
		want  []string
	}{
		{"equal", base, nil},
		{"another factor", files{1.5, base.secrets}, []string{"languages.file"}},
		{"another order", files{2, two + "\n" + one}, nil},
		{"a secret was removed", files{2, one}, []string{"callbacks.secret_file"}},
		{"of all tenants", files{2, one + "\n" + strings.TrimPrefix(two, "acme ")}, []string{"callbacks.secret_file"}},
		{"no secrets", files{2, ""}, []string{"callbacks.secret_file"}},
	} {
		if diff := cmp.Diff(tt.want, differingKeys(settings(base), settings(tt.other))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestPeersCompareTokens checks that fronts compare their tokens: a token that was revoked on one of them, or before a
// reload of one, is still valid on the others.
func TestPeersCompareTokens(t *testing.T) {
	line := func(name, digit string) string { return name + " read " + strings.Repeat(digit, 64) + "\n" }
	for _, tt := range []struct {
		name, a, b string
		want       []string
	}{
		{"none", "", "", nil},
		{"equal", line("x", "1") + line("y", "2"), line("x", "1") + line("y", "2"), nil},
		{"another order and comment", line("x", "1") + line("y", "2"), "# c\n" + line("y", "2") + line("x", "1"), nil},
		{"revoked on one", line("x", "1") + line("y", "2"), line("x", "1"), []string{"http.token_file"}},
		{"another secret", line("x", "1"), line("x", "3"), []string{"http.token_file"}},
		{"another scope", line("x", "1"), strings.Replace(line("x", "1"), "read", "admin", 1), []string{"http.token_file"}},
		{"none on one", line("x", "1"), "", []string{"http.token_file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := func(tokens string) map[string]string {
				c := config.Default()
				c.DataDir = filepath.Join(t.TempDir(), "data")
				d := &daemon{o: Options{Config: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}}
				d.config.Store(&c)
				if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer d.close()
				o := httpapi.Options{Config: c, Log: d.o.Log, Now: time.Now}
				if tokens != "" {
					var err error
					if o.Tokens, err = httpapi.ParseTokens(strings.NewReader(tokens)); err != nil {
						t.Fatal(err)
					}
				}
				d.api.Store(httpapi.New(o))
				return d.asPeer().Settings
			}
			if diff := cmp.Diff(tt.want, differingKeys(settings(tt.a), settings(tt.b))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
