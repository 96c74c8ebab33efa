package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
	"judged/internal/testkit"
)

// places returns the mount points of the trees in the mount store.
func (l *lab) places() []string {
	var names []string
	_ = l.mounts.do(func() error {
		all, err := os.ReadDir("/")
		for _, e := range all {
			if name := "/" + e.Name(); !strings.HasPrefix(name, copiesPlace) && !strings.HasPrefix(name, hugePlace) {
				names = append(names, name)
			}
		}
		return err
	})
	return names
}

// TestProgramSeesItsClosure: programs list all files that they see. These must be the files of every sandbox
// and the host files that they need, with the same properties.
func TestProgramSeesItsClosure(t *testing.T) {
	testkit.Need(t, testkit.Python)
	l := newLab(t, nil)
	const list = `
import os
for folder, folders, names in os.walk("/"):
    if folder == "/":
        folders[:] = [f for f in folders if f not in ("proc", "box")]
        print("/")
    for name in folders + names:
        path = os.path.join(folder, name)
        s = os.lstat(path)
        if os.path.islink(path):
            print(path, "->", os.readlink(path))
        elif os.path.isfile(path):
            print(path, "%o %d %d.%09d" % (s.st_mode & 0o7777, s.st_size, s.st_mtime_ns // 10**9, s.st_mtime_ns % 10**9))
        else:
            print(path + ("/" if os.path.isdir(path) else ""))
`
	for _, tt := range []struct {
		name string
		spec Spec
	}{
		{"static", Spec{Args: []string{"./see"}, Files: []File{{Name: "see",
			Path: testkit.CompileC(t, "testdata/see.c", true), Exec: true}}}},
		{"dynamic", Spec{Args: []string{"./see"},
			Files: []File{{Name: "see", Path: testkit.CompileC(t, "testdata/see.c", false), Exec: true}}}},
		{"python", Spec{Args: []string{"python3", "-c", list}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Limits = limits()
			tt.spec.Limits.Output = 16 << 20
			r, out := l.run(t, tt.spec)
			if r.Code != 0 || r.Signal != 0 || r.ExecError != 0 {
				t.Fatalf("%+v", r)
			}
			var got []string
			for line := range strings.Lines(out) {
				seen, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " on ")
				got = append(got, newFile.ReplaceAllString(seen, "$1"))
			}
			slices.Sort(got)
			c := l.find(t, tt.spec)
			if diff := cmp.Diff(visible(t, c, tt.spec.Files), got); diff != "" {
				t.Errorf("-template and closure +seen:\n%s", diff)
			}
		})
	}
}

// newFile matches files that judged writes. Their time is that of the tree or the run.
var newFile = regexp.MustCompile(`^(/host/etc/(?:passwd|group) 644 \d+|/files/see 755 \d+) [0-9.]+$`)

// visible returns the expected list for a program with a closure and files.
func visible(t *testing.T, c *runtimes.Closure, files []File) []string {
	t.Helper()
	all := map[string]bool{"/": true, "/dev/": true, "/files/": true, "/host/": true, "/tmp -> /box/tmp": true}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "fd -> /proc/self/fd",
		"stdin -> /proc/self/fd/0",
		"stdout -> /proc/self/fd/1", "stderr -> /proc/self/fd/2", "shm -> /box/shm"} {
		all["/dev/"+name] = true
	}
	for _, name := range append(hostTrees[:], "/etc") {
		if _, err := os.Lstat(name); err == nil {
			all[name+" -> host"+name] = true
		}
	}
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("/files/%s 755 %d", f.Name, info.Size())] = true
	}
	if c == nil {
		return sorted(all)
	}
	for _, e := range c.Entries {
		info, err := os.Lstat(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if e.IsLink() {
			all["/host"+e.Path+" -> "+e.Target] = true
		} else {
			at := info.ModTime()
			all[fmt.Sprintf("/host%s %o %d %d.%09d", e.Path, info.Mode().Perm(), info.Size(), at.Unix(),
				at.Nanosecond())] = true
		}
		for dir := path.Dir(e.Path); dir != "/"; dir = path.Dir(dir) {
			all["/host"+dir+"/"] = true
		}
	}
	for name, text := range userFiles {
		all[fmt.Sprintf("/host/etc/%s 644 %d", name, len(text))] = true
	}
	return sorted(all)
}

func sorted(set map[string]bool) []string {
	var all []string
	for s := range set {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// TestSlotsSeeDifferentFiles compares the file systems and inodes that runs see.
func TestSlotsSeeDifferentFiles(t *testing.T) {
	l := newLab(t, nil)
	other := l.slot
	other.Trees = l.NewTrees(other)
	defer other.Trees.Close()
	spec := Spec{Args: []string{"./see"}, Files: []File{{Name: "see",
		Path: testkit.CompileC(t, "testdata/see.c", false), Exec: true}}, Limits: limits()}
	libraries := func(slot Resources) []string {
		l := *l
		l.slot = slot
		_, out := l.run(t, spec)
		var all []string
		for line := range strings.Lines(out) {
			if path, where, ok := strings.Cut(line, " on "); ok && strings.HasPrefix(path, "/host/") {
				all = append(all, where)
			}
		}
		slices.Sort(all)
		return all
	}
	first, second := libraries(l.slot), libraries(other)
	if len(first) < 5 {
		t.Fatalf("a dynamically linked program sees %d files", len(first))
	}
	if again := libraries(l.slot); !slices.Equal(first, again) {
		t.Errorf("on one slot: first %q, again %q", first, again)
	}
	for _, where := range first {
		if device, _, _ := strings.Cut(where, " "); slices.ContainsFunc(second,
			func(s string) bool { return strings.HasPrefix(s, device+" ") }) {
			t.Fatalf("both slots see file system %s", device)
		}
	}
}

// ownHost sets a finder that sees one folder, with a program of n bytes for each name.
func ownHost(t *testing.T, l *lab, n int64, names ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		put(t, filepath.Join(dir, name), strings.Repeat("x", int(n)))
	}
	l.finder = runtimes.NewFinder(runtimes.Places{Shown: []string{dir}, Path: []string{dir}})
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// content returns the content of a file in the tree of a program.
func (l *lab) content(t *testing.T, program, path string) string {
	t.Helper()
	mount, _, err := l.seen(program)
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d%s", mount.Fd(), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTreesAreBounded sets a limit of two and a half trees.
func TestTreesAreBounded(t *testing.T) {
	l := newLab(t, nil)
	ownHost(t, l, 100<<10, "a", "b", "c", "d")
	trees := l.slot.Trees
	trees.limit = 260 << 10
	for i, tt := range []struct {
		program string
		want    []string // places, the most recently used last
	}{
		{"a", []string{"/1"}}, {"b", []string{"/1", "/2"}}, {"a", []string{"/2", "/1"}},
		{"c", []string{"/1", "/3"}}, {"a", []string{"/3", "/1"}}, {"b", []string{"/1", "/4"}},
		{"none", []string{"/1", "/4"}},
	} {
		l.makeTree(tt.program)
		var got []string
		var bytes units.Bytes
		for _, k := range trees.kept {
			got = append(got, k.place)
			bytes += k.bytes
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i, tt.program, diff)
		}
		if bytes != trees.bytes || bytes > trees.limit {
			t.Errorf("step %d: %d bytes are kept, %d are counted, at most %d are allowed", i, bytes, trees.bytes,
				trees.limit)
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, l.places()); diff != "" {
			t.Errorf("step %d: mounts (-want +got):\n%s", i, diff)
		}
	}
	if err := trees.Close(); err != nil {
		t.Error(err)
	}
	if left := l.places(); len(left) > 0 || trees.bytes != 0 {
		t.Errorf("%q of %d bytes are left", left, trees.bytes)
	}
}

// TestTreeOutlivesItsPlace drops the tree of a loaded program.
func TestTreeOutlivesItsPlace(t *testing.T) {
	l := newLab(t, nil)
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(Spec{Args: []string{"echo", "a"}, Limits: limits()}); err != nil {
		t.Fatal(err)
	}
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(context.Background()); err != nil || r.Code != 0 || r.ExecError != 0 || r.OutputBytes != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestChangedFile changes a file of the host between all steps that use it.
func TestChangedFile(t *testing.T) {
	l := newLab(t, nil)
	dir := ownHost(t, l, 1, "tool")
	tool := dir + "/tool"
	if got := l.content(t, "tool", tool); got != "x" {
		t.Fatalf("got %q", got)
	}
	put(t, tool, "later")
	if got := l.content(t, "tool", tool); got != "x" {
		t.Errorf("read again too early: %q", got)
	}
	l.finder.Forget()
	if got := l.content(t, "tool", tool); got != "later" {
		t.Errorf("after a change: %q", got)
	}
	if n := len(l.places()); n != 2 {
		t.Errorf("%d trees, want the old one and the new one", n)
	}
	// The file changes after it was found and before it is copied.
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, tool, "last")
	if got := l.content(t, "tool", tool); got != "last" {
		t.Errorf("changed before the copy: %q", got)
	}
	l.finder.Forget()
	if c := l.find(t, Spec{Args: []string{"tool"}}); l.slot.Trees.kept[0].closure != c.ID {
		t.Error("the tree has the ID of the unchanged file")
	}
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	if mount, program, err := l.seen("tool"); mount != nil || program != "" || err != nil {
		t.Errorf("removed before the copy: %v, %q, %v", mount, program, err)
	}
}

// TestTreeIsOnlyToRead tries to change a tree as root.
func TestTreeIsOnlyToRead(t *testing.T) {
	l := newLab(t, nil)
	dir := ownHost(t, l, 1, "tool")
	if err := os.Chmod(dir+"/tool", fs.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	mount, _, err := l.seen("tool")
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	tool := fmt.Sprintf("/proc/self/fd/%d%s/tool", mount.Fd(), dir)
	if info, err := os.Stat(tool); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v; want %v", info.Mode(), err, fs.FileMode(0o755))
	}
	for name, err := range map[string]error{
		"write": os.WriteFile(tool, nil, 0), "remove": os.Remove(tool), "chmod": os.Chmod(tool, 0),
		"touch":  os.Chtimes(tool, time.Now(), time.Now()),
		"create": os.WriteFile(tool+"2", nil, 0o644),
	} {
		if !errors.Is(err, os.ErrPermission) && !strings.Contains(fmt.Sprint(err), "read-only file system") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTreesAreGivenBack checks that the memory of trees is freed when they are closed, and when a launcher is closed
// without closing them.
func TestTreesAreGivenBack(t *testing.T) {
	const size = 64 << 20
	own := enterOwnGroup(t)
	l := newLab(t, nil)
	ownHost(t, l, size, "a", "b", "c")
	held := func() int64 { return value(own.dir+"/memory.stat", "unevictable") }
	before := held()
	for _, name := range []string{"a", "b", "c"} {
		l.makeTree(name)
	}
	if grown := held() - before; grown < 2*size {
		t.Errorf("three trees take %d bytes, want about %d", grown, 3*size)
	}
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	free := func() bool { return held()-before < size }
	testkit.WaitFor(t, time.Minute, "closed trees to be free", free)
	l.makeTree("a")
	l.makeTree("b")
	l.slot.Trees.kept = nil // nobody closes these
	l.Close()
	testkit.WaitFor(t, time.Minute, "the trees of a closed launcher to be free", free)
}

// seen returns what a run of a program of the host sees.
func (l *lab) seen(program string) (*os.File, string, error) {
	s := &Sandbox{launcher: l.Launcher, slot: l.slot}
	return s.mountRuntime(Spec{Args: []string{program}})
}

// makeTree builds the tree of a program, which need not exist.
func (l *lab) makeTree(program string) {
	if mount, _, err := l.seen(program); err == nil {
		mount.Close() // it may be nil
	}
}

// find returns the files of the host that the program of a run needs.
func (l *lab) find(t *testing.T, spec Spec) *runtimes.Closure {
	t.Helper()
	name := spec.Args[0]
	if ownProgram(spec.Args, spec.Files) >= 0 {
		name = ""
	}
	var files []runtimes.Program
	for _, f := range spec.Files {
		content, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := runtimes.Inspect(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	c, _, err := l.finder.Find(name, files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
