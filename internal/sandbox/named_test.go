package sandbox

import (
	"context"
	"io"
	"os"
	"testing"

	"judged/internal/base/linux"
)

// TestStreamsByName: programs reopen their streams as /dev/stdin, /dev/stdout and /dev/stderr, with each root
// and kind of stream, and also try the directions that they do not have.
func TestStreamsByName(t *testing.T) {
	path := t.TempDir() + "/input"
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []Root{RootPrivate, RootHost, RootMinimal} {
		t.Run(string(root), func(t *testing.T) {
			l := newLab(t, func(o *Options) { o.Root = root })
			spec := Spec{Args: []string{"./act", "reopen"}, Files: []File{{Name: "act", Path: act(t), Exec: true}},
				Limits: limits()}
			t.Run("files", func(t *testing.T) {
				in, err := NewInput(path, l.slot)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				spec.Input = in
				l.reopens(t, spec)
			})
			t.Run("named files", func(t *testing.T) {
				spec.OutputFile = "answer"
				l.reopens(t, spec)
			})
			t.Run("pipes", func(t *testing.T) {
				spec.Input, spec.OutputFile = nil, ""
				stdin, in := pipe(t)
				out, stdout := pipe(t)
				spec.Stdin, spec.Stdout = stdin, stdout
				if _, err := in.WriteString("a"); err != nil {
					t.Fatal(err)
				}
				l.reopens(t, spec)
				stdout.Close()
				if text, err := io.ReadAll(out); err != nil || string(text) != "a" {
					t.Errorf("pipe %q, %v", text, err)
				}
			})
		})
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := linux.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close() // may be closed already
	})
	return r, w
}

func (l *lab) reopens(t *testing.T, spec Spec) {
	t.Helper()
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	live(t, s, func(t *testing.T, s *Sandbox) {
		loads(t, s, spec, "")
		if r, err := s.Run(context.Background()); err != nil || r.Code != 0 || r.Signal != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		want := map[*Output]string{s.Stdout(): "a", s.Stderr(): "a"}
		if spec.Stdout != nil {
			want[s.Stdout()] = ""
		}
		for o, want := range want {
			r, err := o.Reader()
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != nil || string(text) != want {
				t.Errorf("output %q, %v, want %q", text, err, want)
			}
		}
	})
}
