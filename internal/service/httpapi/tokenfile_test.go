package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// accepts returns which of the secrets a file of tokens accepts, and for which name.
func acceptsSecrets(t *testing.T, path string, secrets ...string) (names []string) {
	t.Helper()
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		e, _ := tokens.find(s)
		names = append(names, e.name)
	}
	return names
}

// TestTokenFile changes a file as judged token does, and checks that comments, mode and other lines stay.
func TestTokenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "link")
	target := filepath.Join(dir, "tokens")
	text := "# of the platform\nplatform submit,read " + digestText("first") // without a line break
	if err := os.WriteFile(target, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tokens", path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".tokens.unfinished-123"), nil, 0o600); err != nil { // of a killed process
		t.Fatal(err)
	}
	must := func(secret string, err error) string {
		t.Helper()
		if err != nil || !strings.HasPrefix(secret, "judged_") || len(secret) != 50 {
			t.Fatalf("secret %q, %v", secret, err)
		}
		return secret
	}
	school := must(AddToken(path, TokenInfo{Name: "school", Scopes: []string{"submit", "read"}, Tenant: "s"}))
	node := must(AddToken(path, TokenInfo{Name: "judge-1", Scopes: []string{"node:metal"}}))
	second := must(RotateToken(path, "platform"))
	if diff := cmp.Diff([]string{"platform", "platform", "school", "judge-1", ""},
		acceptsSecrets(t, path, "first", second, school, node, "other")); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []TokenInfo{{"platform", []string{"submit", "read"}, "", 2}, {"school", []string{"submit", "read"}, "s", 1},
		{"judge-1", []string{"node:metal"}, "", 1}}
	if diff := cmp.Diff(want, tokens.List()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, step := range []struct {
		name    string
		old     bool
		removed int
		left    []string
	}{
		{"platform", true, 1, []string{"", "platform", "school", "judge-1"}},
		{"school", false, 1, []string{"", "platform", "", "judge-1"}},
	} {
		if n, err := RevokeToken(path, step.name, step.old); n != step.removed || err != nil {
			t.Errorf("revoke %s: %d, %v", step.name, n, err)
		}
		if diff := cmp.Diff(step.left, acceptsSecrets(t, path, "first", second, school, node)); diff != "" {
			t.Errorf("after revoke %s (-want +got):\n%s", step.name, diff)
		}
	}
	after, err := os.ReadFile(target)
	if err != nil || !strings.HasPrefix(string(after), "# of the platform\n") || strings.Contains(string(after), "judged_") {
		t.Errorf("file %q, %v", after, err)
	}
	if link, err := os.Readlink(path); link != "tokens" || err != nil {
		t.Errorf("the link leads to %q, %v", link, err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 2 || err != nil {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestTokenFileRefuses(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := "a submit " + digestText("a") + "\n"
	two := line + "a submit " + digestText("b") + "\n"
	add := func(n TokenInfo) func(string) error {
		return func(path string) error { _, err := AddToken(path, n); return err }
	}
	rotate := func(name string) func(string) error {
		return func(path string) error { _, err := RotateToken(path, name); return err }
	}
	revoke := func(name string, old bool) func(string) error {
		return func(path string) error { _, err := RevokeToken(path, name, old); return err }
	}
	for _, tt := range []struct {
		name, text string
		do         func(path string) error
		want       string
	}{
		{"a name twice", line, add(TokenInfo{Name: "a", Scopes: []string{"read"}}), `"a" has a token; give judged token rotate`},
		{"scope", line, add(TokenInfo{Name: "b", Scopes: []string{"write"}}), `line 2: scope "write" is unknown`},
		{"tenant", line, add(TokenInfo{Name: "b", Scopes: []string{"read"}, Tenant: "x/y"}), `invalid tenant "x/y"`},
		{"broken file", "a submit\n", add(TokenInfo{Name: "b", Scopes: []string{"read"}}), "line 1: 2 fields"},
		{"rotate an unknown one", line, rotate("b"), `no token "b"; judged token list`},
		{"rotate twice", two, rotate("a"), `"a" has 2 secrets; give judged token revoke --old a first`},
		{"revoke an unknown one", line, revoke("b", false), `no token "b"`},
		{"revoke the last one", two, revoke("a", false), `"a" is the only token`},
		{"revoke an old one that is not there", line, revoke("a", true), `"a" has one secret only`},
	} {
		path := write(tt.text)
		err := tt.do(path)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
		if after, err := os.ReadFile(path); string(after) != tt.text || err != nil {
			t.Errorf("%s changed the file: %q, %v", tt.name, after, err)
		}
	}
}

// TestTokenFileNew checks that a new file is for its owner only, and that edits at the same time lose nothing.
func TestTokenFileNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	var work sync.WaitGroup
	const n = 10
	for i := range n {
		work.Go(func() {
			if _, err := AddToken(path, TokenInfo{Name: fmt.Sprint("t", i), Scopes: []string{"read"}}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	tokens, err := ReadTokens(path)
	if err != nil || len(tokens.List()) != n {
		t.Fatalf("%v, %v", tokens, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
