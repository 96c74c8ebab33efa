package runtimes

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

const hostCache = "/etc/ld.so.cache"

// TestReadCache compares with ldconfig, which writes the cache.
func TestReadCache(t *testing.T) {
	testkit.Need(t, testkit.GCC) // gcc implies glibc
	text, err := os.ReadFile(hostCache)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/sbin/ldconfig", "-p").Output()
	if err != nil {
		t.Fatal(err)
	}
	kind := map[string]string{"amd64": "libc6,x86-64", "arm64": "libc6,AArch64"}[runtime.GOARCH]
	line := regexp.MustCompile(`(?m)^\t(\S+) \(` + kind + `(?:, [^)]*)?\) => (\S+)$`)
	want := map[string][]string{}
	for _, m := range line.FindAllStringSubmatch(string(out), -1) {
		want[m[1]] = append(want[m[1]], m[2])
	}
	if diff := cmp.Diff(want, readCache(text)); diff != "" || len(want) < 3 {
		t.Errorf("-ldconfig +ours:\n%s", diff)
	}
}

// cached returns a cache of libraries, each given as "name path", with these flags.
func cached(t testing.TB, flags uint32, libraries ...string) []byte {
	t.Helper()
	head := cacheHead{Libraries: uint32(len(libraries))}
	copy(head.Magic[:], cacheMagic)
	var entries []cacheEntry
	texts := ""
	begin := binary.Size(head) + len(libraries)*binary.Size(cacheEntry{})
	put := func(s string) uint32 {
		at := begin + len(texts)
		texts += s + "\x00"
		return uint32(at)
	}
	for _, l := range libraries {
		name, path, _ := strings.Cut(l, " ")
		entries = append(entries, cacheEntry{Flags: flags, Name: put(name), Path: put(path)})
	}
	var b bytes.Buffer
	for _, v := range []any{head, entries, []byte(texts)} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestReadOtherCaches(t *testing.T) {
	one := cached(t, cacheFlags, "liba.so /lib/liba.so", "liba.so /lib/old/liba.so", "libb.so /lib/libb.so")
	both := map[string][]string{"liba.so": {"/lib/liba.so", "/lib/old/liba.so"}, "libb.so": {"/lib/libb.so"}}
	for name, tt := range map[string]struct {
		text []byte
		want map[string][]string
	}{
		"nothing":                     {nil, nil},
		"another file":                {[]byte("ld.so-1.7.0"), nil},
		"the magic alone":             {[]byte(cacheMagic), nil},
		"the current format":          {one, both},
		"after the old format":        {append([]byte("ld.so-1.7.0\x00\x00\x00\x00\x00"), one...), both},
		"of another processor":        {cached(t, 0x0803, "liba.so /lib/liba.so"), map[string][]string{}},
		"cut off in the last library": {one[:len(one)-3], map[string][]string{"liba.so": both["liba.so"]}},
		"cut off in the entries":      {one[:60], map[string][]string{}},
	} {
		if diff := cmp.Diff(tt.want, readCache(tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzReadCache checks that no file makes the reader panic or exceed its limits.
func FuzzReadCache(f *testing.F) {
	f.Add(cached(f, cacheFlags, "liba.so /lib/liba.so", "libb.so /lib/libb.so"))
	f.Add([]byte(cacheMagic + strings.Repeat("\xff", 100)))
	if text, err := os.ReadFile(hostCache); err == nil {
		f.Add(text[:min(len(text), 4<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		for name, paths := range readCache(b) {
			n += len(paths)
			for _, s := range slices.Concat(paths, []string{name}) {
				if len(s) > maxString || s == "" {
					t.Errorf("a string of %d bytes", len(s))
				}
			}
		}
		if n > len(b)/binary.Size(cacheEntry{}) || n > maxCached {
			t.Errorf("%d libraries of %d bytes", n, len(b))
		}
	})
}
