package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
	"judged/internal/testkit"
)

// TestCopiesAreBounded sets a limit of two and a half copies.
func TestCopiesAreBounded(t *testing.T) {
	l := newLab(t, nil)
	c := l.copies
	const size = 100 << 10
	c.limit = 5 * runtimes.Footprint(size) / 2
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b", "c"} {
		put(t, path(name), strings.Repeat(name, size))
	}
	seen := map[*copied]bool{}
	for i, tt := range []struct {
		input string
		want  []string // kept while the input is used, the least recently used first
		made  bool
	}{
		{"a", nil, true}, {"b", []string{"a"}, true}, {"a", []string{"b"}, false}, {"c", []string{"a"}, true},
		{"b", []string{"c"}, true},
	} {
		in, err := NewInput(path(tt.input), l.slot)
		if err != nil {
			t.Fatal(err)
		}
		if seen[in.copied] == tt.made {
			t.Errorf("step %d, %s: got the copy of an earlier step: %t, want a new one: %t", i, tt.input, !tt.made,
				tt.made)
		}
		seen[in.copied] = true
		var kept []string
		for e := c.idle.Front(); e != nil; e = e.Next() {
			b := make([]byte, 1)
			if _, err := e.Value.(*copied).input.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, string(b))
		}
		if diff := cmp.Diff(tt.want, kept); diff != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i, tt.input, diff)
		}
		if want := units.Bytes(len(kept)+1) * runtimes.Footprint(size); c.bytes != want {
			t.Errorf("step %d: %d bytes, want %d", i, c.bytes, want)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSmallPages checks that copies say why large inputs have no huge pages.
func TestSmallPages(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	open := func() error {
		d, err := openMountStore()
		if err != nil {
			return err
		}
		defer d.close()
		c, err := openCopies(d)
		if err != nil {
			return err
		}
		return errors.Join(c.SmallPages(), c.close())
	}
	if err := open(); err != nil {
		t.Errorf("on this machine: %v", err)
	}
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit)
	if err = errors.Join(err, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Max: limit.Max})); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends without the capability
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&header, &data[0])
		data[0].Effective &^= 1 << unix.CAP_IPC_LOCK
		if err = errors.Join(err, unix.Capset(&header, &data[0])); err != nil {
			done <- err
			return
		}
		done <- open()
	}()
	err = <-done
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "mlock2: ") {
		t.Errorf("without locked memory: %v", err)
	}
}

// TestLargeInputsTakeTurns: an input in huge pages uses the file of one that was evicted. While it is in use, another
// one is copied as a small input is.
func TestLargeInputsTakeTurns(t *testing.T) {
	l := newLab(t, nil)
	c := l.copies
	c.limit = runtimes.Footprint(largeInput)
	if len(c.huge) == 0 {
		t.Fatal("no huge pages on this machine")
	}
	for _, f := range c.huge[1:] {
		f.Close()
	}
	c.huge = c.huge[:1]
	file := c.huge[0]
	dir := t.TempDir()
	take := func(name string) *Input {
		t.Helper()
		put(t, filepath.Join(dir, name), strings.Repeat(name, largeInput))
		in, err := NewInput(filepath.Join(dir, name), l.slot)
		if err != nil {
			t.Fatal(err)
		}
		_, out := l.run(t, Spec{Args: []string{"sh", "-c", "tr -d " + name + " | wc -c; stat -f -c %b/%f/%d /dev/stdin"},
			Input: in, Limits: limits()})
		if want := "0\n0/0/0\n"; out != want {
			t.Errorf("a run with input %s sees %q, want only that and no space of the file system: %q", name, out, want)
		}
		return in
	}
	for _, steps := range []struct {
		inputs string
		huge   []bool
	}{{"a", []bool{true}}, {"b", []bool{true}}, {"ab", []bool{true, false}}} {
		var inputs []*Input
		var huge []bool
		for _, name := range strings.Split(steps.inputs, "") {
			in := take(name)
			inputs, huge = append(inputs, in), append(huge, in.copied.input == file)
		}
		if diff := cmp.Diff(steps.huge, huge); diff != "" {
			t.Errorf("inputs %q: in huge pages (-want +got):\n%s", steps.inputs, diff)
		}
		for _, in := range inputs {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCopyIsSharedInTurns: consecutive runs use the same copy, concurrent ones do not.
func TestCopyIsSharedInTurns(t *testing.T) {
	l := newLab(t, nil)
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "one")
	files := []File{{Name: "file", Path: path}}
	look := func(in *Input) string {
		t.Helper()
		_, out := l.run(t, Spec{Args: []string{"stat", "-L", "-c", "%i", "file", "/dev/stdin"}, Files: files, Input: in,
			Limits: limits()})
		return out
	}
	inputs := func() []*Input {
		var all []*Input
		for range 2 {
			in, err := NewInput(path, l.slot)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, in)
		}
		return all
	}
	at := inputs()
	first, second := look(at[0]), look(at[1])
	for _, in := range at {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	if file, other := strings.Fields(first), strings.Fields(second); file[0] != other[0] || file[1] == other[1] {
		t.Errorf("inodes of file and stdin are %q and %q, want the same file and another input", first, second)
	}
	// The copy that is returned last is used first.
	again := inputs()
	if got := []string{look(again[0]), look(again[1])}; !cmp.Equal(got, []string{second, first}) {
		t.Errorf("later runs see %q, want %q", got, []string{second, first})
	}
	for _, in := range again {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	other := &lab{l.Launcher, l.otherSlot(t), l.tree}
	if _, got := other.run(t, Spec{Args: []string{"stat", "-L", "-c", "%i", "file"}, Files: files,
		Limits: limits()}); strings.TrimSpace(got) == strings.Fields(first)[0] {
		t.Errorf("a run on another slot sees the file with inode %s", got)
	}
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(Spec{Args: []string{"true"}, Files: files, Limits: limits()}); err != nil {
		t.Fatal(err)
	}
	if got := look(nil); strings.Fields(got)[0] == strings.Fields(first)[0] {
		t.Errorf("two runs at once see the file with inode %s", got)
	}
}

// TestChangedFileIsCopiedAgain: the key of a copy is the file's identity, not its name.
func TestChangedFileIsCopiedAgain(t *testing.T) {
	l := newLab(t, nil)
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "two"} {
		// Replace the file by one with the same name: the time alone could be the same.
		if err := os.WriteFile(path+"~", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
		in, err := NewInput(path, l.slot)
		if err != nil {
			t.Fatal(err)
		}
		_, out := l.run(t, Spec{Args: []string{"cat", "file", "-"}, Files: []File{{Name: "file", Path: path}},
			Input: in, Limits: limits()})
		if out != text+text {
			t.Errorf("the run reads %q, want %q twice", out, text)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesAreReadOnly: a run may change its working directory, but not what later runs get.
func TestFilesAreReadOnly(t *testing.T) {
	l := newLab(t, nil)
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "content\n")
	script := `cat file
for change in 'rm -f /files/file' 'touch /files/new' 'chmod 777 /files/file' 'chmod 777 /files'; do
	$change 2>&1 | grep -c 'Read-only file system'
done
echo x > /files/file; echo y > file
mv file other && cat other; rm other; echo mine > file; cat file`
	for range 2 {
		r, out := l.run(t, Spec{Args: []string{"sh", "-c", script}, Files: []File{{Name: "file", Path: path}},
			Limits: limits()})
		if want := "content\n1\n1\n1\n1\ncontent\nmine\n"; out != want || r.Code != 0 {
			t.Errorf("exit %d, output %q, want %q", r.Code, out, want)
		}
	}
}

// TestFilesBound: the files of a program count towards the size of its box, as if they were in it.
func TestFilesBound(t *testing.T) {
	l := newLab(t, func(o *Options) { o.BoxBytes = 64 << 10 })
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, strings.Repeat("x", 64<<10+1))
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(Spec{Args: []string{"true"}, Files: []File{{Name: "file", Path: path}},
		Limits: limits()}); err == nil || !strings.Contains(err.Error(), "work_size") {
		t.Errorf("error %v, want one that names work_size", err)
	}
}
