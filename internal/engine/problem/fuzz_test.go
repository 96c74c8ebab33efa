package problem

import (
	"errors"
	"io/fs"
	"judged/internal/base/text"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzContent opens any content as a file of this name; the seeds are paths. Opening leaves no files, also not outside of
// the folder.
func fuzzContent(f *testing.F, name string, seeds []string, open func(t *testing.T, path string)) {
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	dir := f.TempDir()
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Setenv("TMPDIR", temp)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, path)
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if files, _ := os.ReadDir(dir); len(files) != 2 {
			t.Errorf("written outside of the folder: %v", files)
		}
	})
}

// FuzzArchive unpacks any content as an archive. Each file is within the limit, and Close removes everything.
func FuzzArchive(f *testing.F) {
	fuzzContent(f, "tests.zip", []string{archive(f, "1.in", "1.a"), archive(f, "t/a.in", "t/a.ans", "__MACOSX/t/._a.in"),
		archive(f, "../../x.in", `..\x.ans`), archive(f, "/etc/x.in", "/etc/x.ans"), archive(f, "a/x.in", "b/x.in"),
		archive(f, "a\x00.in", "..", "."), cut(f, archive(f, "1.in", "1.ans"))}, func(t *testing.T, path string) {
		s, err := OpenTests(t.Context(), path, false)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error %v does not name %q", err, path)
			}
			return
		}
		holdFiles(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func holdFiles(t *testing.T, s *Set) {
	t.Helper()
	if len(s.Tests) == 0 {
		t.Error("no tests")
	}
	for i, x := range s.Tests {
		if i > 0 && text.Natural(s.Tests[i-1].Name, x.Name) >= 0 {
			t.Errorf("test %q behind %q", x.Name, s.Tests[i-1].Name)
		}
		for _, file := range []string{x.Input, x.Answer} {
			real, err := filepath.EvalSymlinks(file)
			if err != nil || !strings.HasPrefix(real, s.temp+"/") {
				t.Errorf("file %q is %q, %v", file, real, err)
				continue
			}
			if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() {
				t.Errorf("file %q: %v, %v", file, info, err)
			}
		}
	}
}

// FuzzPackage reads any content as a package. Each file that a package names is in the package, or a recipe makes it
// there, and Close removes everything.
func FuzzPackage(f *testing.F) {
	fuzzContent(f, "package", []string{legacyPack.zip(f, ""), kattisPack.zip(f, "x/"), polygonPack.tar(f, false),
		polygonPack.without("tests/03.a").tar(f, false),
		legacyPack.with(pack{"data/secret/2.in": "->/etc/passwd"}).zip(f, ""),
		legacyPack.with(pack{"../x": ""}).tar(f, true), sinolPack.with(pack{"out/sum2b.out": ""}).zip(f, "")},
		func(t *testing.T, path string) {
			p, err := openTest(t, path)
			if err != nil {
				return
			}
			holdPaths(t, p)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
}

func holdPaths(t *testing.T, p *Package) {
	t.Helper()
	made := map[string]bool{}
	for _, r := range p.Recipes {
		for _, product := range r.Products {
			made[product.Path] = true
		}
	}
	for _, x := range p.Tests {
		for _, file := range []string{x.Input, x.Answer} {
			real, err := filepath.EvalSymlinks(file)
			for dir := file; made[file] && errors.Is(err, fs.ErrNotExist); {
				dir = filepath.Dir(dir) // the nearest folder that exists
				real, err = filepath.EvalSymlinks(dir)
			}
			if err != nil || !strings.HasPrefix(real+"/", p.temp+"/") {
				t.Errorf("file %q is %q, %v", file, real, err)
			}
		}
	}
}
