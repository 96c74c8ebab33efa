package sandbox

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// seen has what a program with named files prints, and its answer.
type seen struct {
	Code           int
	Stdout, Answer string
}

// TestNamedFiles: for the program, the named files are ordinary files of its working directory.
func TestNamedFiles(t *testing.T) {
	const text = "1 2\n"
	for _, root := range []Root{RootPrivate, RootHost, RootMinimal} {
		l := newLab(t, func(o *Options) { o.Root = root })
		input := l.input(t, text)
		for way, want := range map[string]seen{
			"absolute":  {0, "", text},
			"resolved":  {0, "/box/work/in\n/box/work/out\n", text},
			"stat":      {0, "in file of 4, 1\nout ENOENT\nout file of 4, 1\n", text},
			"twice":     {0, "", text},
			"both":      {0, "read ok\n", text},
			"truncate":  {0, "", text},
			"append":    {0, "", "a" + text},
			"exclusive": {0, "", text},
			"stdio":     {0, "", text},
			"freopen":   {0, "", text},
			"rename":    {0, "rename ok\n", text},
			"again":     {0, "unlink ok\n", text},
			"hardlink":  {0, "link ok\n", text},
			"child":     {0, "wait ok\n", text},
			"chdir":     {0, "chdir ok\n", text},
			"mapped":    {0, "", text},
			"none":      {0, "", ""},
			// The name is a mount point: it can neither be deleted nor replaced.
			"change": {0, "open EACCES\nchmod EROFS\nunlink EBUSY\nrename EBUSY\nlink EXDEV\n", text},
		} {
			t.Run(string(root)+"/"+way, func(t *testing.T) {
				if diff := cmp.Diff(want, l.sees(t, way, input)); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

// TestNamedInputs: inputs of all kinds are files, except those of more than 1 GiB.
func TestNamedInputs(t *testing.T) {
	l := newLab(t, nil)
	_, named := someInputs(t, l.slot)
	file := func(size string) string {
		return "in file of " + size + ", 1\nout ENOENT\nout file of " + size + ", 1\n"
	}
	for _, tt := range []struct {
		name  string
		input *Input
		want  string
	}{
		{"copy", l.input(t, "1 2\n"), file("4")},
		{"no input", nil, file("0")},
		{"single", l.single(t, "1 2 3\n"), file("6")},
		{"large", hugeInput(t, l.slot), file("33554432")},
		{"very large", named, "in link of 60000, 1\nout ENOENT\nout file of 60000, 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := l.sees(t, "stat", tt.input); got.Code != 0 || got.Stdout != tt.want {
				t.Errorf("exit %d, got %q, want %q", got.Code, got.Stdout, tt.want)
			}
		})
	}
}

func (l *lab) input(t *testing.T, text string) *Input {
	t.Helper()
	path := t.TempDir() + "/input"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := NewInput(path, l.slot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// single returns an input for one test.
func (l *lab) single(t *testing.T, text string) *Input {
	t.Helper()
	m, err := linux.Memfd("output")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.WriteString(text); err != nil {
		t.Fatal(err)
	}
	in, err := NewSingleInput(m, l.slot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// sees runs the program that copies "in" to "out".
func (l *lab) sees(t *testing.T, way string, input *Input) (got seen) {
	t.Helper()
	spec := Spec{Args: []string{"./named", way}, Files: []File{{Name: "named", Path: built(t, "named"), Exec: true}},
		Input: input, InputFile: "in", OutputFile: "out", Limits: limits()}
	spec.Limits.Output = 64 << 20
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	live(t, s, func(t *testing.T, s *Sandbox) {
		loads(t, s, spec, "")
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got.Code = r.Code
		for to, o := range map[*string]*Output{&got.Stdout: s.Stdout(), &got.Answer: s.Answer()} {
			r, err := o.Reader()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			*to = string(b)
		}
	})
	return got
}
