package runtimes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lab is a Reader over a tree of its own, with a clock of its own, that tells
// what it would read.
type lab struct {
	*Reader
	dir    string // the tree and, beside it, what no program sees
	time   time.Duration
	loaded []string
}

func newLab(t *testing.T) *lab {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{dir: dir}
	l.Reader = NewReader([]string{dir + "/tree"}, []string{dir + "/tree/none", dir + "/tree/bin"})
	l.now = func() time.Duration { return l.time }
	l.load = func(f *os.File, _ int64) error {
		l.loaded = append(l.loaded, strings.TrimPrefix(f.Name(), dir+"/"))
		return nil
	}
	return l
}

func (l *lab) files(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		name, text, _ := strings.Cut(name, " ")
		write(t, filepath.Join(l.dir, name), strings.ReplaceAll(text, "DIR", l.dir))
	}
}

func (l *lab) reads(t *testing.T, read func(string), program string, want ...string) {
	t.Helper()
	l.loaded = nil
	read(program)
	if diff := cmp.Diff(want, l.loaded); diff != "" {
		t.Errorf("read %s (-want +got):\n%s", program, diff)
	}
}

func TestReadContestant(t *testing.T) {
	l := newLab(t)
	l.files(t, "tree/lib/ld.so", "tree/lib/libm.so.6", "tree/lib/libc.so.6", "hidden/libm.so.6", "tree/own/libc.so.6")
	if err := os.Symlink("lib", l.dir+"/tree/link"); err != nil {
		t.Fatal(err)
	}
	loader := "-Wl,--dynamic-linker=" + l.dir + "/tree/link/ld.so"
	dynamic := link(t, l.dir+"/dynamic", "-lm", loader)
	l.reads(t, l.Contestant, dynamic, "tree/lib/ld.so", "tree/lib/libm.so.6", "tree/lib/libc.so.6")
	l.reads(t, l.Contestant, dynamic)
	l.time += fresh
	l.reads(t, l.Contestant, dynamic, "tree/lib/ld.so", "tree/lib/libm.so.6", "tree/lib/libc.so.6")

	l.time += fresh
	l.reads(t, l.Contestant, link(t, l.dir+"/hostile", "-lm", loader, "-Wl,-rpath="+l.dir+"/tree/../hidden:"+l.dir+"/tree/own"),
		"tree/lib/ld.so", "tree/lib/libm.so.6", "tree/own/libc.so.6")
	l.reads(t, l.Contestant, link(t, l.dir+"/elsewhere", "-Wl,--dynamic-linker="+l.dir+"/hidden/libm.so.6"))
	l.reads(t, l.Contestant, link(t, l.dir+"/static", "-static"))
	l.reads(t, l.Contestant, l.dir+"/none")
	l.reads(t, l.Contestant, l.dir)
	l.reads(t, l.Program, l.dir+"/dynamic")
}

func TestReadInterpreters(t *testing.T) {
	l := newLab(t)
	l.files(t,
		"tree/bin/plain", "tree/bin/circle #!DIR/tree/bin/circle",
		"tree/jdk/bin/java", "tree/jdk/lib/modules", "tree/jdk/lib/server/libjvm.so", "tree/jdk/src/java",
		"byname #!/usr/bin/env plain", "bypath #!DIR/tree/bin/java\n", "outside #!DIR/byname", "relative #!./byname")
	if err := os.Symlink("../jdk/bin/java", l.dir+"/tree/bin/java"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.dir+"/byname", l.dir+"/tree/bin/escape"); err != nil {
		t.Fatal(err)
	}
	java := []string{"tree/jdk/bin/java", "tree/jdk/lib/modules", "tree/jdk/lib/server/libjvm.so"}
	l.reads(t, l.Program, "java", java...)
	l.reads(t, l.Contestant, l.dir+"/bypath")
	l.time += fresh
	l.reads(t, l.Contestant, l.dir+"/bypath", java...)
	l.reads(t, l.Contestant, l.dir+"/byname", "tree/bin/plain")
	l.reads(t, l.Program, "circle", "tree/bin/circle")
	l.reads(t, l.Program, "escape")
	l.reads(t, l.Program, "none")
	l.reads(t, l.Contestant, l.dir+"/outside")
	l.reads(t, l.Contestant, l.dir+"/relative")
}

// TestReadIsBounded has a file that is larger than what one call may read, and
// one that still fits.
func TestReadIsBounded(t *testing.T) {
	l := newLab(t)
	l.files(t, "tree/jdk/bin/java", "tree/jdk/lib/large", "tree/jdk/lib/small")
	if err := os.Truncate(l.dir+"/tree/jdk/lib/large", maxBytes+1); err != nil {
		t.Fatal(err)
	}
	l.reads(t, l.Program, l.dir+"/tree/jdk/bin/java", "tree/jdk/bin/java", "tree/jdk/lib/small")
}
