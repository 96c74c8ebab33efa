package engine

import (
	"os"
	"path/filepath"
	"testing"

	"judged/internal/engine/problem"
)

// TestMadeCache checks that made files come back unchanged, and that a file which a power loss has damaged does not.
func TestMadeCache(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "1 2\n"} {
		dir := t.TempDir()
		c := openMadeCache(filepath.Join(dir, "cache"))
		made := []problem.Product{{Path: filepath.Join(dir, "made")}}
		write(made[0].Path, text)
		if err := c.put("key", made); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(c.path("key", 0))
		if err != nil {
			t.Fatal(err)
		}
		restored := []problem.Product{{Path: filepath.Join(dir, "restored")}}
		for name, kept := range map[string]string{"empty": "", "short": string(whole[:len(whole)-1]),
			"zeros": string(make([]byte, len(whole)))} {
			write(c.path("key", 0), kept)
			if ok, err := c.restore("key", restored); ok || err != nil {
				t.Errorf("%q, %s: restored %t, %v", text, name, ok, err)
			}
		}
		if _, err := os.Stat(restored[0].Path); err == nil {
			t.Errorf("%q: a damaged file is restored", text)
		}
		write(c.path("key", 0), string(whole))
		ok, err := c.restore("key", restored)
		if got, _ := os.ReadFile(restored[0].Path); !ok || err != nil || string(got) != text {
			t.Errorf("%q: restored %t, %q, %v", text, ok, got, err)
		}
		if ok, err := c.restore("other", restored); ok || err != nil {
			t.Errorf("%q: another key: restored %t, %v", text, ok, err)
		}
	}
}
