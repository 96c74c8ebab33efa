package daemon

import (
	"io"
	"log/slog"
	"net"
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

// TestPeersOfOneName checks that two fronts with the same name notice it, and that only one of them leads: host names in
// containers and of copies of a machine are often equal.
func TestPeersOfOneName(t *testing.T) {
	c := config.Default()
	c.DataDir, c.Database.URL = filepath.Join(t.TempDir(), "data"), ""
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	front := func(process string) *daemon {
		d := &daemon{o: Options{Config: c, Log: slog.New(slog.DiscardHandler)}, listener: listener, node: "front",
			process: process}
		d.config.Store(&c)
		d.api.Store(httpapi.New(httpapi.Options{Config: c, Log: d.o.Log}))
		return d
	}
	a, b := front("a"), front("b")
	if err := inOrder(a.openFolder, a.openData)(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.close()
	b.store = a.store
	for i, step := range []struct {
		front *daemon
		again bool
		taken bool
	}{
		{a, false, false}, {a, true, false}, // alone
		{b, false, false}, {b, true, false}, // the first has ended
		{a, true, true}, {b, true, true}, // both
	} {
		if taken, err := step.front.announce(t.Context(), step.again); taken != step.taken || err != nil {
			t.Errorf("step %d: taken %v, %v; want %v", i, taken, err, step.taken)
		}
	}
	if lead, err := a.store.Lead(t.Context(), "task", a.leader(), time.Minute); !lead || err != nil {
		t.Errorf("the first leads: %v, %v", lead, err)
	}
	if lead, err := b.store.Lead(t.Context(), "task", b.leader(), time.Minute); lead || err != nil {
		t.Errorf("the second leads, too: %v, %v", lead, err)
	}
}

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
