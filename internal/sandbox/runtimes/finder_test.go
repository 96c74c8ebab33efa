package runtimes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixture is a Finder with its own files and clock.
type fixture struct {
	*Finder
	dir  string // contains the folder tree, which programs see, and files that they do not see
	time time.Time
}

func newFixture(t *testing.T) *fixture {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &fixture{dir: dir}
	l.Finder = NewFinder(Places{Shown: []string{dir + "/tree"}, Path: []string{dir + "/tree/none", dir + "/tree/bin"},
		Every: []string{dir + "/tree/every", dir + "/tree/missing"}, Cache: dir + "/cache"})
	l.now = func() time.Time { return l.time }
	return l
}

// files creates files, each given as a name and its content.
func (l *fixture) files(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		name, text, _ := strings.Cut(name, " ")
		write(t, filepath.Join(l.dir, name), strings.ReplaceAll(text, "DIR", l.dir))
	}
}

func (l *fixture) links(t *testing.T, targets map[string]string) {
	t.Helper()
	for name, target := range targets {
		if err := os.MkdirAll(filepath.Dir(l.dir+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(strings.ReplaceAll(target, "DIR", l.dir), l.dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
}

// library links a library that needs others, which must exist.
func (l *fixture) library(t *testing.T, name string, needs ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.dir+"/"+name), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, l.dir+"/"+name, append([]string{"-shared", "-fPIC", "-nostdlib", "-Wl,-soname=" + filepath.Base(name)},
		needs...)...)
}

// finds checks that the closure has these paths; links are given with their targets.
func (l *fixture) finds(t *testing.T, name string, files []string, want ...string) string {
	t.Helper()
	c, program, _ := l.Find(name, inspect(files...))
	if diff := cmp.Diff(want, l.paths(c)); diff != "" {
		t.Errorf("%s %q (-want +got):\n%s", name, files, diff)
	}
	return program
}

func (l *fixture) paths(c *Closure) []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, e := range c.Entries {
		s := strings.TrimPrefix(e.Path, l.dir+"/")
		if e.IsLink() {
			s += " -> " + strings.ReplaceAll(e.Target, l.dir, "DIR")
		}
		all = append(all, s)
	}
	return all
}

// TestFindLibraries: libraries in all folders that a loader searches.
func TestFindLibraries(t *testing.T) {
	l := newFixture(t)
	l.files(t, "tree/every")
	l.library(t, "tree/lib/ld.so")
	l.library(t, "tree/odd/libdeep.so")
	l.library(t, "tree/lib/libm.so.6")
	l.library(t, "tree/lib/libc.so.6", l.dir+"/tree/odd/libdeep.so")
	l.library(t, "tree/own/libc.so.6")
	l.library(t, "hidden/libm.so.6")
	l.library(t, "tree/lib/libgcc_s.so.1")
	l.files(t, "tree/text/libm.so.6 is no library")
	l.links(t, map[string]string{"tree/link": "lib"})
	write(t, l.dir+"/cache", string(cached(t, cacheFlags, "libdeep.so "+l.dir+"/tree/odd/libdeep.so")))
	loader := "-Wl,--dynamic-linker=" + l.dir + "/tree/link/ld.so"
	base := func(libc string) []string {
		all := []string{"tree/every", "tree/lib/ld.so", "tree/lib/libgcc_s.so.1", "tree/lib/libm.so.6",
			"tree/link -> lib"}
		if libc == "tree/own/libc.so.6" {
			return append(all, libc)
		}
		return []string{all[0], all[1], libc, all[2], all[3], all[4], "tree/odd/libdeep.so"}
	}
	for name, tt := range map[string]struct {
		flags []string
		want  []string
	}{
		"by the cache and by default": {[]string{"-lm", loader}, base("tree/lib/libc.so.6")},
		"RUNPATH, and a folder that is hidden": {[]string{"-lm", loader, "-Wl,--enable-new-dtags,-rpath=" + l.dir +
			"/tree/../hidden:" + l.dir + "/tree/own"},
			base("tree/own/libc.so.6")},
		"RPATH": {[]string{"-lm", loader, "-Wl,--disable-new-dtags,-rpath=" + l.dir + "/tree/own"},
			base("tree/own/libc.so.6")},
		"a text as library": {[]string{"-lm", loader, "-Wl,-rpath=" + l.dir + "/tree/text"},
			base("tree/lib/libc.so.6")},
		"$ORIGIN is the box": {[]string{"-lm", loader, "-Wl,-rpath=$ORIGIN/tree/own"}, base("tree/lib/libc.so.6")},
		"hidden loader":      {[]string{"-Wl,--dynamic-linker=" + l.dir + "/hidden/libm.so.6"}, nil},
		"text as loader":     {[]string{"-Wl,--dynamic-linker=" + l.dir + "/tree/text/libm.so.6"}, nil},
		"static":             {[]string{"-static"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l.finds(t, "", []string{link(t, filepath.Join(t.TempDir(), "program"), tt.flags...)}, tt.want...)
		})
	}
	l.finds(t, "", []string{l.dir + "/none", l.dir})
}

// TestRpathIsInherited: a library that is found only by the RPATH of the program that needs it, and one whose
// RUNPATH excludes that folder.
func TestRpathIsInherited(t *testing.T) {
	l := newFixture(t)
	l.library(t, "tree/lib/ld.so")
	l.library(t, "tree/own/libdeep.so")
	l.library(t, "tree/own/libplain.so", l.dir+"/tree/own/libdeep.so")
	l.library(t, "tree/own/librunpath.so", l.dir+"/tree/own/libdeep.so", "-Wl,--enable-new-dtags,-rpath=/nowhere")
	for name, want := range map[string][]string{
		"libplain":   {"tree/lib/ld.so", "tree/own/libdeep.so", "tree/own/libplain.so"},
		"librunpath": {"tree/lib/ld.so", "tree/own/librunpath.so"},
	} {
		program := link(t, filepath.Join(t.TempDir(), "program"), "-nostdlib",
			"-Wl,--dynamic-linker="+l.dir+"/tree/lib/ld.so",
			"-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath="+l.dir+"/tree/own", l.dir+"/tree/own/"+name+".so")
		l.finds(t, "", []string{program}, want...)
	}
}

func TestFindPrograms(t *testing.T) {
	l := newFixture(t)
	l.files(t,
		"tree/bin/plain", "tree/bin/env", "tree/bin/circle #!DIR/tree/bin/circle",
		"tree/jdk/bin/java", "tree/jdk/lib/modules", "tree/jdk/lib/server/libjvm.so", "tree/jdk/lib/static.a",
		"tree/jdk/lib/secret", "tree/jdk/src/java",
		"tree/settings/security", "tree/settings/more/net", "tree/bin/data",
		"byname #!DIR/tree/bin/env plain", "bypath #!DIR/tree/bin/java\n", "outside #!DIR/byname",
		"relative #!./byname")
	l.links(t, map[string]string{"tree/bin/java": "../links/java", "tree/links/java": "DIR/tree/jdk/bin/java",
		"tree/bin/escape": "DIR/byname",
		"tree/jdk/conf":   "../settings", "tree/jdk/lib/up": "..", "tree/jdk/lib/out": "DIR/byname",
		"tree/bin/loop": "loop"})
	for name, mode := range map[string]os.FileMode{"tree/jdk/lib/secret": 0o600, "tree/bin/data": 0o644} {
		if err := os.Chmod(l.dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	java := []string{"tree/bin/java -> ../links/java", "tree/jdk/bin/java", "tree/jdk/conf -> ../settings",
		"tree/jdk/lib/modules",
		"tree/jdk/lib/server/libjvm.so", "tree/jdk/lib/up -> ..", "tree/links/java -> DIR/tree/jdk/bin/java",
		"tree/settings/more/net", "tree/settings/security"}
	if got, want := l.finds(t, "java", nil, java...), l.dir+"/tree/bin/java"; got != want {
		t.Errorf("java is at %q, want %q", got, want)
	}
	plain := []string{"tree/bin/env", "tree/bin/plain"}
	l.finds(t, "", []string{l.dir + "/bypath"}, java...)
	l.finds(t, "", []string{l.dir + "/byname"}, plain...)
	l.finds(t, "plain", []string{l.dir + "/byname"}, plain...)
	l.finds(t, l.dir+"/tree/bin/plain", nil, plain[1])
	l.finds(t, "circle", nil, "tree/bin/circle")
	for _, none := range []string{"escape", "none", "data", "loop", "./plain", l.dir + "/byname", l.dir + "/tree/bin"} {
		if got := l.finds(t, none, nil); got != "" {
			t.Errorf("%s is at %q, want nowhere", none, got)
		}
	}
	l.finds(t, "", []string{l.dir + "/outside"})
	l.finds(t, "", []string{l.dir + "/relative"})
}

// TestFindAgain checks what is cached, and for how long.
func TestFindAgain(t *testing.T) {
	l := newFixture(t)
	l.files(t, "tree/bin/tool one")
	find := func() *Closure {
		t.Helper()
		c, _, _ := l.Find("tool", nil)
		if c == nil {
			t.Fatal("no closure")
		}
		return c
	}
	first := find()
	if find() != first {
		t.Error("searched again at once")
	}
	l.time = l.time.Add(maxAge)
	if again := find(); again == first || again.ID != first.ID {
		t.Errorf("after maxAge: not searched again, or another ID: %x, want %x", again.ID, first.ID)
	}
	l.files(t, "tree/bin/tool two")
	if find().ID != first.ID {
		t.Error("searched again before maxAge")
	}
	l.Forget()
	changed := find()
	if changed.ID == first.ID {
		t.Error("a changed file has the same ID")
	}
	// Reproducible packages have the same size and time to the second.
	old := first.Entries[0].Modified
	if err := os.Chtimes(l.dir+"/tree/bin/tool", old, old); err != nil {
		t.Fatal(err)
	}
	l.Forget()
	if c := find(); c.ID == first.ID || c.ID == changed.ID {
		t.Error("another file of the same time and size has the same ID")
	}
	for i := range 2 * maxResults {
		l.Find(fmt.Sprint(i), nil)
	}
	if n := len(l.results); n > maxResults {
		t.Errorf("%d results cached, want at most %d", n, maxResults)
	}
}

// TestClosureIsBounded: a file that exceeds the maximum size of a closure, and one that fits.
func TestClosureIsBounded(t *testing.T) {
	l := newFixture(t)
	l.files(t, "tree/jdk/bin/java", "tree/jdk/lib/large", "tree/jdk/lib/small")
	if err := os.Truncate(l.dir+"/tree/jdk/lib/large", maxBytes+1); err != nil {
		t.Fatal(err)
	}
	l.finds(t, l.dir+"/tree/jdk/bin/java", nil, "tree/jdk/bin/java", "tree/jdk/lib/small")
}

// inspect inspects files as the sandbox does; one that cannot be read yields an empty Program.
func inspect(paths ...string) []Program {
	var all []Program
	for _, path := range paths {
		if f, _ := openRegular(path); f != nil {
			defer f.Close()
			if info, err := f.Stat(); err == nil {
				p, _ := Inspect(f, info.Size())
				all = append(all, p)
			}
		}
	}
	return all
}
