package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T, files map[string]string) FS {
	t.Helper()
	// Glob characters in the root's name must not affect the match.
	root := filepath.Join(t.TempDir(), "host[1]*")
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return New(root)
}

func TestRead(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 4096)
	h := tree(t, map[string]string{
		"proc/empty": "", "proc/word": " tsc \n", "proc/number": "42\n", "proc/negative": "-1\n",
		"proc/max": "max\n", "proc/huge": "99999999999999999999\n", "proc/big": big, "proc/page": big[:firstRead],
	})
	for path, want := range map[string]string{
		"/proc/empty": "", "/proc/word": "tsc", "/proc/big": big, "/proc/page": big[:firstRead],
		"/proc/../proc/word": "tsc", "proc/word": "tsc", "/../../proc/word": "tsc",
	} {
		if got, err := h.Read(path); err != nil || got != want {
			t.Errorf("Read(%q) = %d bytes, %v, want %d bytes", path, len(got), err, len(want))
		}
	}
	for path, want := range map[string]int64{"/proc/number": 42, "/proc/negative": -1} {
		if got, err := h.ReadInt(path); err != nil || got != want {
			t.Errorf("ReadInt(%q) = %d, %v, want %d", path, got, err, want)
		}
	}
	for path, target := range map[string]error{"/proc/max": strconv.ErrSyntax, "/proc/huge": strconv.ErrRange,
		"/proc/none": fs.ErrNotExist} {
		_, err := h.ReadInt(path)
		if !errors.Is(err, target) || !strings.Contains(err.Error(), path) {
			t.Errorf("ReadInt(%q) = %v, want an error that is %v and names the path", path, err, target)
		}
	}
}

func TestErrorsNameTheHostPath(t *testing.T) {
	h := tree(t, map[string]string{"sys/file": "1"})
	_, readErr := h.ReadFile("/sys/none")
	_, dirErr := h.ReadDir("/sys/none")
	_, linkErr := h.Readlink("/sys/none")
	for name, err := range map[string]error{"ReadFile": readErr, "ReadDir": dirErr, "Readlink": linkErr,
		"Write": h.Write("/sys/none", "1")} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/sys/none") ||
			strings.Contains(err.Error(), h.root) {
			t.Errorf("%s: %v, want not-exist that names /sys/none and not the root", name, err)
		}
	}
	if _, err := h.ReadFile("/sys"); err == nil {
		t.Error("ReadFile of a directory succeeded")
	}
	if h.Exists("/sys/none") || h.Exists("/sys/file/below") || !h.Exists("/sys/file") {
		t.Error("Exists is wrong")
	}
}

func TestWrite(t *testing.T) {
	h := tree(t, map[string]string{"sys/knob": "a long old value\n"})
	if err := h.Write("/sys/knob", "1"); err != nil {
		t.Fatal(err)
	}
	if got, _ := h.ReadFile("/sys/knob"); string(got) != "1" {
		t.Errorf("after Write: %q, want %q", got, "1")
	}
	if h.Exists("/sys/none") {
		t.Error("a failed Write created the file")
	}
}

func TestGlobAndReadDir(t *testing.T) {
	h := tree(t, map[string]string{"sys/cpu/cpu2/x": "", "sys/cpu/cpu10/x": "", "sys/cpu/online": ""})
	got, err := h.Glob("/sys/cpu/cpu[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/sys/cpu/cpu10", "/sys/cpu/cpu2"}, got); diff != "" {
		t.Errorf("Glob (-want +got):\n%s", diff)
	}
	if none, err := h.Glob("/nothing/*"); err != nil || len(none) != 0 {
		t.Errorf("Glob without match = %v, %v", none, err)
	}
	if _, err := h.Glob("/sys/["); !errors.Is(err, filepath.ErrBadPattern) {
		t.Errorf("Glob of a bad pattern: %v", err)
	}
	names, err := h.ReadDir("/sys/cpu")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cpu10", "cpu2", "online"}, names); diff != "" {
		t.Errorf("ReadDir (-want +got):\n%s", diff)
	}
}

func TestReadlink(t *testing.T) {
	h := tree(t, map[string]string{"sys/node/node0/cpulist": "0\n"})
	if err := os.Symlink("node/node0", filepath.Join(h.root, "sys/cpu0")); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Readlink("/sys/cpu0"); err != nil || got != "node/node0" {
		t.Errorf("Readlink = %q, %v", got, err)
	}
	if got, err := h.Read("/sys/cpu0/cpulist"); err != nil || got != "0" {
		t.Errorf("Read through the link = %q, %v", got, err)
	}
}

// TestLiveProc reads the live machine: files with size 0 in stat, and the zero FS.
func TestLiveProc(t *testing.T) {
	for _, h := range []FS{{}, New("/"), New("")} {
		b, err := h.ReadFile("/proc/self/status")
		if err != nil || !strings.HasPrefix(string(b), "Name:") {
			t.Errorf("ReadFile(/proc/self/status) = %.20q, %v", b, err)
		}
		if got := h.Path("/proc/stat"); got != "/proc/stat" {
			t.Errorf("Path = %q", got)
		}
		if got, err := h.Glob("/proc/self/stat"); err != nil || len(got) != 1 || got[0] != "/proc/self/stat" {
			t.Errorf("Glob = %v, %v", got, err)
		}
	}
}

func BenchmarkReadSysfs(b *testing.B) {
	h := New("/")
	for b.Loop() {
		if _, err := h.Read("/sys/devices/system/cpu/online"); err != nil {
			b.Fatal(err)
		}
	}
}
