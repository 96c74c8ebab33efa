package languages_test

import (
	"os"
	"path/filepath"
	"testing"

	"judged/internal/engine/languages"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// TestProjectScripts checks that the compile script of a multi-file program can run other scripts of it. Its zip file
// said that they are executable, which jobs do not have.
func TestProjectScripts(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	c := open(t, t.TempDir(), plenty)
	folder := t.TempDir()
	s := languages.Source{Language: "project"}
	for _, f := range []struct{ name, text string }{
		{"", "cat made\n"}, {"compile", "./tools/gen.sh > made\n"}, {"tools/gen.sh", "#!/bin/sh\necho hello\n"},
	} {
		path := filepath.Join(folder, filepath.Base("file-"+f.name))
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Files = append(s.Files, sandbox.File{Name: f.name, Path: path})
	}
	if r := compile(t, c, s); r.Failure != "" {
		t.Errorf("%s: %s", r.Failure, r.Output)
	}
}
