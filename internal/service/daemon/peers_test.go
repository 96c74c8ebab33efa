package daemon

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
	"judged/internal/service/httpapi"
)

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
