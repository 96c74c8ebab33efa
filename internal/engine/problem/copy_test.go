package problem

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatWasChecked replaces files of an open folder with links to a file outside of it. The original files must be
// judged.
func TestWhatWasChecked(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "secret")
	swap := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, path); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("package", func(t *testing.T) {
		dir := legacyPack.folder(t)
		p, err := openTest(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, test := range p.Tests {
			for _, path := range []string{test.Input, test.Answer} {
				matches, _ := filepath.Glob(dir + "/data/*/" + filepath.Base(path)) // the pattern is valid
				for _, m := range matches {
					swap(t, m)
				}
				refuseSecret(t, path)
			}
		}
		for _, s := range p.Submissions {
			for _, f := range s.Program.Files {
				refuseSecret(t, f.Path)
				if !strings.HasPrefix(f.Path, p.temp+"/") {
					t.Errorf("%s is not a copy", f.Path)
				}
			}
		}
	})
	t.Run("tests", func(t *testing.T) {
		dir := folder(t, "a.in", "a.ans")
		s, err := OpenTests(t.Context(), dir, false)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		swap(t, dir+"/a.in")
		refuseSecret(t, s.Tests[0].Input)
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func refuseSecret(t *testing.T, path string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) == "secret" {
		t.Errorf("%s has %q, %v", path, b, err)
	}
}

// TestFoldersAreBounded: links that lead out of a folder of tests, files larger than in an archive, and pipes without a
// writer are refused immediately.
func TestFoldersAreBounded(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "x")
	for name, tt := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"link out": {func(path string) error { return os.Symlink(outside, path) }, "leads out of the"},
		"sparse file": {func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(900 << 30)
		}, "more than 8GiB"},
		"pipe": {func(path string) error { return syscall.Mkfifo(path, 0o600) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dir := folder(t, "a.in", "a.ans", "b.in", "b.ans")
			pack := legacyPack.folder(t)
			for _, path := range []string{dir + "/b.in", pack + "/data/secret/b.in"} {
				_ = os.Remove(path) // the package lacks the file
				if err := tt.change(path); err != nil {
					t.Fatal(err)
				}
			}
			if s, err := OpenTests(t.Context(), dir, false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("tests: %v, %v, want %q", s, err, tt.want)
			}
			if name == "link out" {
				return // see TestLinks
			}
			if p, err := openTest(t, pack); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("package: %v, %v, want %q", p, err, tt.want)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
