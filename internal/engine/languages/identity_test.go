package languages

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIdentity: the identity of a language changes when one of its programs is replaced, even if a shell prints its
// version.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	compiler := filepath.Join(dir, "some-compiler")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(compiler, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	l := Language{Version: []string{"sh", "-c", "some-compiler -version"}, Needs: []string{"some-compiler"},
		Environment: []string{"PATH=/usr/bin:" + dir}}
	before := l.identity()
	write("10")
	if after := l.identity(); before == "" || after == before {
		t.Errorf("before %q, after the upgrade %q", before, after)
	}
	if err := os.Remove(compiler); err != nil {
		t.Fatal(err)
	}
	if got := l.identity(); got != "" {
		t.Errorf("without the compiler: %q", got)
	}
}
