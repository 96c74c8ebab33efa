package hostfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func sample() fstest.MapFS {
	return fstest.MapFS{
		"proc/stat":   {Data: []byte("cpu 1\n"), Mode: 0o444},
		"proc/closed": {},
		"sys/irq/5":   {Mode: fs.ModeDir | 0o555},
	}
}

func TestArchiveComesBack(t *testing.T) {
	var first, second bytes.Buffer
	if err := errors.Join(WriteArchive(&first, sample()), WriteArchive(&second, sample())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same files gave different bytes")
	}
	got, err := ReadArchive(&first)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		if len(f.Data) == 0 {
			f.Data = nil // an empty slice is equivalent to nil
		}
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("files (-written +read):\n%s", diff)
	}
}

func archived(headers ...tar.Header) *bytes.Buffer {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			panic(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		panic(err)
	}
	return &b
}

func TestArchiveOfAStrangerIsRefused(t *testing.T) {
	var many []tar.Header
	for range maxBytes/maxFileBytes + 1 {
		many = append(many, tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o444, Size: maxFileBytes})
	}
	for name, tc := range map[string]struct {
		archive *bytes.Buffer
		want    string
	}{
		"path upwards":   {archived(tar.Header{Name: "../etc/passwd", Typeflag: tar.TypeReg}), "leads out"},
		"path from root": {archived(tar.Header{Name: "/etc/passwd", Typeflag: tar.TypeReg}), "leads out"},
		"symbolic link": {archived(tar.Header{Name: "proc", Typeflag: tar.TypeSymlink, Linkname: "/proc"}),
			"neither a file"},
		"hard link":     {archived(tar.Header{Name: "proc", Typeflag: tar.TypeLink, Linkname: "x"}), "neither a file"},
		"device":        {archived(tar.Header{Name: "null", Typeflag: tar.TypeChar}), "neither a file"},
		"one long file": {archived(tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: maxFileBytes + 1}), "more than"},
		"many files":    {archived(many...), "more than"},
		"no gzip":       {bytes.NewBufferString("no gzip at all"), "gzip: invalid header"},
		"cut off":       {bytes.NewBuffer(archived(many[0]).Bytes()[:200]), "EOF"},
	} {
		if _, err := ReadArchive(tc.archive); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestArchiveIsBoundedWhenWritten(t *testing.T) {
	long := fstest.MapFS{"a": {Data: make([]byte, maxFileBytes+1)}}
	if err := WriteArchive(&bytes.Buffer{}, long); err == nil || !strings.Contains(err.Error(), "/a has") {
		t.Errorf("a long file: %v", err)
	}
}

func TestCapturedDirectoryHasNoWayOut(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("x"), 0o600), os.Symlink(outside, filepath.Join(dir, "link")),
		os.WriteFile(filepath.Join(dir, "file"), []byte("here\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h, err := OpenCaptured(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := h.Read("/file"); s != "here" || err != nil {
		t.Errorf("file: %q, %v", s, err)
	}
	if s, err := h.Read("/link"); err == nil {
		t.Errorf("the link leads out: %q", s)
	}
}

func TestTreeAnswersLikeAHost(t *testing.T) {
	h := Of(sample())
	if s, err := h.Read("/proc/stat"); s != "cpu 1" || err != nil {
		t.Errorf("stat: %q, %v", s, err)
	}
	for path, want := range map[string]error{"/proc/closed": fs.ErrPermission, "/none": fs.ErrNotExist,
		"/sys/irq/5": syscall.EISDIR} {
		_, err := h.Read(path)
		if pe, ok := errors.AsType[*fs.PathError](err); !errors.Is(err, want) || !ok || pe.Path != path {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if err := h.Write("/proc/stat", "1"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("write: %v", err)
	}
	if found, err := h.Glob("/sys/irq/[0-9]*"); err != nil || !cmp.Equal(found, []string{"/sys/irq/5"}) {
		t.Errorf("glob: %v, %v", found, err)
	}
	if names, err := h.ReadDir("/proc"); err != nil || !cmp.Equal(names, []string{"closed", "stat"}) {
		t.Errorf("names: %v, %v", names, err)
	}
	if _, err := h.Open("/proc/stat"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("open: %v", err)
	}
	if !h.Exists("/sys/irq/5") || h.Exists("/none") {
		t.Error("what exists does not, or the other way round")
	}
}

func TestRecordingNotesWhatWasRead(t *testing.T) {
	tree := sample()
	tree["proc/unread"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o444}
	h, notes := Of(tree).Record()
	for _, path := range []string{"/proc/stat", "/proc/closed", "/none", "/sys/irq/5"} {
		_, _ = h.Read(path)
	}
	if _, err := h.Glob("/sys/irq/*"); err != nil {
		t.Fatal(err)
	}
	live := func() ([]byte, error) { return []byte("from the call"), nil }
	if _, err := h.Ask("/proc/stat", live); err != nil {
		t.Errorf("a tree must answer from its file: %v", err)
	}
	if diff := cmp.Diff(sample(), notes.Files()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	machine, notes := New("/").Record()
	if b, err := machine.Ask("/judged/x", live); string(b) != "from the call" || err != nil {
		t.Errorf("live: %q, %v", b, err)
	}
	if diff := cmp.Diff(fstest.MapFS{"judged/x": {Data: []byte("from the call"), Mode: 0o444}},
		notes.Files()); diff != "" {
		t.Errorf("notes of the call (-want +got):\n%s", diff)
	}
}

// FuzzReadArchive checks that names in an untrusted capture never leave its tree.
func FuzzReadArchive(f *testing.F) {
	f.Add("proc/stat", byte(tar.TypeReg), "")
	f.Add("../x", byte(tar.TypeReg), "")
	f.Add("proc", byte(tar.TypeSymlink), "/proc")
	f.Add("./a//b/../../..", byte(tar.TypeDir), "")
	f.Fuzz(func(t *testing.T, name string, kind byte, link string) {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		w := tar.NewWriter(zipped)
		if w.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Linkname: link, Mode: 0o777}) != nil {
			return // cannot be stored in an archive
		}
		if err := errors.Join(w.Close(), zipped.Close()); err != nil {
			return
		}
		files, err := ReadArchive(&b)
		if err != nil {
			return
		}
		for name, f := range files {
			if !fs.ValidPath(name) || f.Mode&^(fs.ModeDir|0o555) != 0 {
				t.Errorf("%q has mode %v", name, f.Mode)
			}
		}
	})
}
