package runtimes

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// TestFindAsTheLoader compares the libraries of programs of this host, and of a contestant's program, with ldd.
func TestFindAsTheLoader(t *testing.T) {
	testkit.Need(t, testkit.GCC)
	later := map[string]bool{}
	for _, name := range loadedLater {
		for _, path := range readHostCache(t)[name] {
			later[realPath(t, path)] = true
		}
	}
	programs := []string{link(t, filepath.Join(t.TempDir(), "contestant"), "-lm", "-lstdc++")}
	for _, name := range []string{"ls", "sort", "sed", "gcc", "perl", "tar", "openssl", "curl", "git"} {
		if path := newWalk(hostPlaces).lookUp(name); path != "" {
			programs = append(programs, path)
		}
	}
	if len(programs) < 4 {
		t.Fatalf("this host has only %q", programs)
	}
	for _, path := range programs {
		w := newWalk(hostPlaces)
		w.dependencies(inspect(path)[0].needs, nil)
		got := map[string]bool{}
		for _, e := range w.entries {
			if !e.IsLink() && strings.Contains(e.Path, ".so") && !later[e.Path] && !strings.Contains(e.Path, "/gconv/") {
				got[e.Path] = true
			}
		}
		want := loadedBy(t, path)
		maps.DeleteFunc(want, func(path string, _ bool) bool { return later[path] })
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s -loader +ours:\n%s", path, diff)
		}
	}
}

// TestOpenedByStaticProgram: a static program finds everything that the conversions of this host need, although their
// headers are not read, and no time zones with leap seconds.
func TestOpenedByStaticProgram(t *testing.T) {
	w := newWalk(hostPlaces)
	w.dependencies(dependencies{Opened: []string{opened[1].text, opened[2].text}}, nil)
	found := map[string]bool{}
	for path := range w.entries {
		found[filepath.Base(path)] = true
	}
	missing, read := map[string]bool{}, 0
	for path := range w.entries {
		if strings.HasPrefix(path, leapSeconds) {
			t.Errorf("%s is in the closure", path)
		}
		if filepath.Base(filepath.Dir(path)) != conversions {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := readLinkage(f)
		f.Close()
		read += len(l.libraries)
		for _, name := range l.libraries {
			if !found[name] {
				missing[name] = true
			}
		}
	}
	if len(missing) > 0 || read == 0 || !found["Tokyo"] {
		t.Errorf("missing %v of %d libraries; Tokyo: %t", missing, read, found["Tokyo"])
	}
}

func readHostCache(t *testing.T) map[string][]string {
	t.Helper()
	return newWalk(hostPlaces).cache
}

// loadedBy returns the real paths of the libraries that ldd lists.
func loadedBy(t *testing.T, program string) map[string]bool {
	t.Helper()
	out, err := exec.Command("ldd", program).CombinedOutput()
	if err != nil {
		t.Fatalf("ldd %s: %v\n%s", program, err, out)
	}
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(?:\S+ => )?(/\S+) \(`).FindAllStringSubmatch(string(out), -1) {
		all[realPath(t, m[1])] = true
	}
	return all
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// TestFindInterpreters looks for files that each interpreter cannot start without.
func TestFindInterpreters(t *testing.T) {
	for _, tt := range []struct {
		need    testkit.Requirement
		program string
		want    []string // patterns
	}{
		{testkit.Python, "python3", []string{"/usr/lib/python3.*/encodings/__init__.py",
			"/usr/lib/python3.*/encodings/__pycache__/utf_8.*.pyc",
			"/usr/lib/python3.*/lib-dynload/_json.*.so", "/usr/lib/*/libexpat.so.1.*"}},
		{testkit.Java, "java", []string{"/etc/alternatives/java", "/usr/lib/jvm/*/lib/modules",
			"/usr/lib/jvm/*/lib/server/libjvm.so"}},
		{testkit.Mono, "mono", []string{"/etc/mono/config", "/usr/lib/mono/4.5/mscorlib.dll",
			"/usr/lib/mono/gac/System.Core/*/System.Core.dll",
			"/usr/lib/libmono-native.so.0.0.0"}},
		{testkit.Node, "node", []string{"/usr/bin/node"}},
		{testkit.GCC, "sh", []string{"/usr/bin/dash", "/usr/bin/cat", "/usr/bin/sort", "/usr/bin/sed", "/usr/bin/grep",
			"/usr/lib/*/libpcre2-8.so.0.*"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			testkit.Need(t, tt.need)
			c, program, _ := NewFinder(hostPlaces).Find(tt.program, nil)
			if want := newWalk(hostPlaces).lookUp(tt.program); program != want || c == nil {
				t.Fatalf("found at %q, want %q", program, want)
			}
			for _, pattern := range tt.want {
				has := slices.ContainsFunc(c.Entries, func(e Entry) bool {
					ok,
						_ := filepath.Match(pattern, e.Path)
					return ok
				})
				if found, _ := filepath.Glob(pattern); len(found) > 0 && !has {
					t.Errorf("no file matches %s", pattern)
				}
			}
			for _, e := range c.Entries {
				if strings.HasSuffix(e.Path, ".a") || strings.HasPrefix(e.Path, "/usr/include/") ||
					e.Path == "/usr/bin/gcc" {
					t.Errorf("unexpected file %s", e.Path)
				}
			}
		})
	}
}
