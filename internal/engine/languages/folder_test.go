package languages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/engine/languages"
	"judged/internal/sandbox"
)

// folder returns a program with a build script.
func folder(t *testing.T, build string, files map[string]string) languages.Source {
	t.Helper()
	s := source(t, "build", "build", build)
	for name, text := range files {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Files = append(s.Files, sandbox.File{Name: name, Path: path})
	}
	return s
}

// TestBuild runs build scripts once for each content, and checks the remaining files.
func TestBuild(t *testing.T) {
	cache := t.TempDir()
	c := open(t, cache, plenty)
	const status = "the compiler exited with status "
	for _, tt := range []struct {
		name, build string
		files       map[string]string
		want        map[string]string // remaining files and the start of their content
		failure     string
		output      string
	}{
		{"program", "#!/bin/sh\nset -e\ncc -o run a.c && rm a.c build", map[string]string{"a.c": goodC},
			map[string]string{"run": "\x7fELF"}, "", ""},
		{"without a #! line", "mv x run; rm build; mkdir folder; ln -s run link",
			map[string]string{"x": "#!/bin/sh\n./y", "y": "yes"},
			map[string]string{"run": "#!/bin/sh\n./y", "y": "yes"}, "", ""},
		{"another script", "#!/bin/sh\n./more", map[string]string{"more": "#!/bin/sh\necho said; exit 3"}, nil,
			status + "3", "said"},
		{"nothing", "#!/bin/sh", nil, nil, "the build script did not make a file run", ""},
		{"a link", "#!/bin/sh\nln -s /bin/sh run", nil, nil, "the build script did not make a file run", ""},
		{"no program", "#!/bin/sh\necho x > run", nil, nil,
			`the compiler wrote no program but a file that begins with "x\n"; do the sources have an entry point?`, ""},
		{"name of the input", "#!/bin/sh\ncp build run; cp build input", nil, nil,
			`the build script left a file "input", the name of something else there`, ""},
		{"large", "#!/bin/sh\ncp build run; for i in 1 2 3 4 5; do head -c 14M /dev/zero > $i; done", nil, nil,
			"the files of the build script have 73400478B; a working directory takes 64MiB", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := folder(t, tt.build, tt.files)
			got := compile(t, c, s)
			if got.Failure != tt.failure || got.Output != tt.output {
				t.Fatalf("failure %q, output %q; want %q, %q", got.Failure, got.Output, tt.failure, tt.output)
			}
			left := map[string]string{}
			for _, f := range got.Files {
				text, err := os.ReadFile(f.Path)
				if err != nil || !f.Exec {
					t.Errorf("%+v, %v; want a file that can be executed", f, err)
				}
				left[f.Name] = string(text[:min(len(text), len(tt.want[f.Name]))])
			}
			if diff := cmp.Diff(tt.want, left); diff != "" && len(tt.want)+len(left) > 0 {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if tt.failure == "" && !cmp.Equal(got.Args, []string{"./run"}) {
				t.Errorf("arguments %q", got.Args)
			}
			if again := compile(t, c, s); !again.Cached || !cmp.Equal(again.Files, got.Files) {
				t.Errorf("the second time: %+v; want the same from the cache", again)
			}
		})
	}
}
