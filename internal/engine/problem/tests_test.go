package problem

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func folder(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		path := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func archive(t testing.TB, names ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tests.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, n := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: n, Method: method(len(names))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%d.in", i)
	}
	return names
}

// method omits compression if only the entries of an archive are counted.
func method(entries int) uint16 {
	if entries > 100 {
		return zip.Store
	}
	return zip.Deflate
}

// long returns names that fill the directory of an archive with few entries.
func long(n int) []string {
	names := numbered(n)
	for i := range names {
		names[i] = strings.Repeat("x", 60_000) + names[i]
	}
	return names
}

// cut removes the second half of a file, like an interrupted download.
func cut(t testing.TB, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// damaged changes the content of the first entry, so that its checksum is wrong.
func damaged(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header = 30 // size of a local file header before the name
	b[header+len("1.in")] ^= 0xff
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// bzipped returns an archive with a file that is compressed in a way that judged cannot read.
func bzipped(t *testing.T) string {
	t.Helper()
	const bzip2 = 12
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	_, err := z.CreateRaw(&zip.FileHeader{Name: "1.in", Method: bzip2})
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bzipped.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenTests(t *testing.T) {
	notZip := filepath.Join(folder(t, "plain"), "plain")
	tests := []struct {
		name string
		path string
		want []string // NAME INPUT ANSWER
		err  string   // part of the error
	}{
		{"in order of names", folder(t, "b.in", "b.out", "a.in", "a.ans", "README"),
			[]string{"a a.in a.ans", "b b.in b.out"}, ""},
		{"in natural order", folder(t, "10.in", "10.ans", "9.in", "9.ans", "1.in", "1.ans"),
			[]string{"1 1.in 1.ans", "9 9.in 9.ans", "10 10.in 10.ans"}, ""},
		{"archive in natural order", archive(t, "10.in", "10.ans", "9.in", "9.ans"),
			[]string{"9 9.in 9.ans", "10 10.in 10.ans"}, ""},
		{"folders inside", folder(t, "b/1.in", "b/1.ans", "a/c/2.in", "2.ans", "a/README", "b/README", ".git/x.in"),
			[]string{"1 b/1.in b/1.ans", "2 a/c/2.in 2.ans"}, ""},
		{"folders with the same names", folder(t, "a/x.in", "a/x.ans", "b/x.in", "b/x.ans", "b/y.in", "b/y.ans"),
			[]string{"a/x a/x.in a/x.ans", "b/x b/x.in b/x.ans", "y b/y.in b/y.ans"}, ""},
		{"an answer of another folder", folder(t, "a/x.in", "a/x.ans", "b/x.in"), nil,
			`input "b/x.in" has no answer; add b/x.ans`},
		{"folders of inputs and answers", folder(t, "input/x.txt", "input/y.txt", "output/x.txt", "output/y.txt", "x.md"),
			[]string{"x input/x.txt output/x.txt", "y input/y.txt output/y.txt"}, ""},
		{"folders as in CMS", folder(t, "input/input0.txt", "output/output0.txt", "input/input10.txt",
			"output/output10.txt"), []string{"0 input/input0.txt output/output0.txt",
			"10 input/input10.txt output/output10.txt"}, ""},
		{"folders in and out", folder(t, "in/1.in", "out/1.out", "in/2.in", "out/2.out"),
			[]string{"1 in/1.in out/1.out", "2 in/2.in out/2.out"}, ""},
		{"a number at the end", folder(t, "sum.in.1", "sum.out.1", "sum.in.2", "sum.out.2"),
			[]string{"sum.1 sum.in.1 sum.out.1", "sum.2 sum.in.2 sum.out.2"}, ""},
		{"as Polygon names them", folder(t, "01", "01.a", "02", "02.a", "README", "doall.sh"),
			[]string{"01 01 01.a", "02 02 02.a"}, ""},
		{"I and O", folder(t, "I.1", "O.1", "I.2", "O.2"), []string{"1 I.1 O.1", "2 I.2 O.2"}, ""},
		{"input and output in the name", folder(t, "input1.txt", "output1.txt"), []string{"1 input1.txt output1.txt"},
			""},
		{"an output without its input", folder(t, "input/x.txt", "output/x.txt", "output/y.txt"), nil,
			`answer "output/y.txt" has no input`},
		{"an input without its output", folder(t, "input/x.txt", "output/x.txt", "input/y.txt"), nil,
			`input "input/y.txt" has no answer`},
		{"a number without its output", folder(t, "a.in.1", "a.out.1", "a.in.2"), nil,
			`input "a.in.2" has no answer`},
		{"O without I", folder(t, "I.1", "O.1", "O.2"), nil, `answer "O.2" has no input`},
		{"the first answer suffix wins", folder(t, "a.in", "a.out", "a.a", "a.ans"), []string{"a a.in a.ans"}, ""},
		{"archive", archive(t, "1.in", "1.a"), []string{"1 1.in 1.a"}, ""},
		{"hidden files", folder(t, "a.in", "a.ans", "._a.in", ".b.in", ".ans"), []string{"a a.in a.ans"}, ""},
		{"archive of a Mac", archive(t, "t/a.in", "t/a.ans", "__MACOSX/t/._a.in", "__MACOSX/t/._a.ans", "t/.DS_Store",
			"u/.DS_Store"), []string{"a t/a.in t/a.ans"}, ""},
		{"archive that climbs", archive(t, "../../x.in", `..\x.ans`), nil, `entry "../../x.in": invalid name`},
		{"archive with the same names", archive(t, "a/x.in", "a/x.ans", `b\x.in`, "b/x.out"),
			[]string{"a/x a/x.in a/x.ans", "b/x b/x.in b/x.out"}, ""},
		{"archive with doubles", archive(t, "a/x.in", "a/x.in"), nil, `entry "a/x.in": another entry has the same name`},
		{"input without answer", folder(t, "a.in", "a.ans", "b.in"), nil, `input "b.in" has no answer; add b.ans`},
		{"input in upper case", folder(t, "a.in", "a.ans", "B.IN", "B.OUT"), nil,
			`"B.IN" would not be used; rename it to NAME.in or NAME.ans`},
		{"answer in upper case", folder(t, "a.in", "a.out", "a.ANS"), nil, `"a.ANS" would not be used`},
		{"answer without input", folder(t, "a.in", "a.ans", "b.ans"), nil, `answer "b.ans" has no input; add b.in, or remove it`},
		{"output without input", folder(t, "1.in", "1.out", "2.out"), nil,
			`answer "2.out" has no input; add 2.in, or remove it`},
		{"output without input in its folder", folder(t, "in/1.in", "out/1.out", "out/2.out"), nil,
			`answer "out/2.out" has no input`},
		{"an answer of Polygon without input", folder(t, "01", "01.a", "02.a"), nil, `answer "02.a" has no input`},
		{"programs next to tests", folder(t, "1.in", "1.out", "a.out", "bin/sol.out", "2.in", "2.ans", "2.a", "lib.a"),
			[]string{"1 1.in 1.out", "2 2.in 2.ans"}, ""},
		{"none", folder(t, "README"), nil, "no tests found; add NAME.in and NAME.ans"},
		{"archive of nothing", archive(t), nil, "no tests found; add NAME.in and NAME.ans"},
		{"archive of very many", archive(t, numbered(maxEntries+1)...), nil, "20001 entries; the maximum is 20000"},
		{"archive whose list does not end", archive(t, long(int(maxDirectory)/60_000+1)...), nil,
			"list of entries larger than"},
		{"cut archive", cut(t, archive(t, "1.in", "1.ans")), nil,
			"give a folder, or an archive in the format ZIP, tar or tar.gz"},
		{"unknown compression", bzipped(t), nil,
			`entry "1.in": zip: unsupported compression algorithm; compress the archive with`},
		{"damaged archive", damaged(t, archive(t, "1.in", "1.ans")), nil, "; create the archive again"},
		{"absent", "/does/not/exist", nil, "give a folder or a ZIP archive"},
		{"not an archive", notZip, nil, "give a folder, or an archive in the format ZIP, tar or tar.gz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s, err := OpenTests(t.Context(), tt.path, false)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			var got []string
			if s != nil {
				for _, x := range s.Tests {
					input, answer := strings.TrimPrefix(x.Input, s.temp+"/"), strings.TrimPrefix(x.Answer, s.temp+"/")
					got = append(got, x.Name+" "+input+" "+answer)
					for _, file := range []string{x.Input, x.Answer} {
						if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
							t.Errorf("%q has %q, %v", file, text, err)
						}
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestFoldersOfWindows: archives made on Windows may have entries for folders that only their last backslash marks.
func TestFoldersOfWindows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "problem.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, entry := range []string{`data\`, `data\secret\`, "problem.yaml", `data\secret\1.in`, `data\secret\1.ans`} {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: entry}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := openTest(t, name)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tests) != 1 {
		t.Errorf("%d tests, want 1", len(p.Tests))
	}
}
