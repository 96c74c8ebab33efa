package judgehost

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourcesWithOneMD5 checks that two sources with the same MD5 sum are compiled separately. They are the first
// published pair, of Wang et al., 2004.
func TestSourcesWithOneMD5(t *testing.T) {
	const block = "d131dd02c5e6eec4693d9a0698aff95c2fcab5%s712467eab4004583eb8fb7f89" +
		"55ad340609f4b30283e4888325%s1415a085125e8f7cdc99fd91dbd%s80373c5b" +
		"d8823e3156348f5bae6dacd436c919c6dd53e2%s87da03fd02396306d248cda0" +
		"e99f33420f577ee8ce54b67080%s0d1ec69821bcb6a8839396f965%s6ff72a70"
	keys, sums := map[string]bool{}, map[string]bool{}
	for _, parts := range [][]any{{"8", "7", "f2", "b4", "a8", "2b"}, {"0", "f", "72", "34", "28", "ab"}} {
		content, err := hex.DecodeString(fmt.Sprintf(block, parts...))
		if err != nil {
			t.Fatal(err)
		}
		answer := fmt.Sprintf(`[{"filename": "a.c", "content": %q}]`, base64.StdEncoding.EncodeToString(content))
		files, err := writeFiles(strings.NewReader(answer), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sources, err := readSources(strings.NewReader(answer), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sums[files["a.c"].md5], keys[compileKey(task{}, sources, nil)] = true, true
	}
	if len(sums) != 1 || len(keys) != 2 {
		t.Errorf("MD5 sums %v, keys %v", sums, keys)
	}
}

// TestForeignMarks checks that a file of a run script does not make judged take the script for one that only redirects.
func TestForeignMarks(t *testing.T) {
	const redirects = "in=$1; shift\nout=$1; shift\nexec \"$@\" < \"$in\" > \"$out\"\n"
	for script, want := range map[string]bool{"exit 0\n": false, redirects: true} {
		folder, fetched := t.TempDir(), t.TempDir()
		for path, text := range map[string]string{filepath.Join(fetched, runFile): script,
			filepath.Join(folder, redirectMark): "mine"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := markRedirect(folder, fetched); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, redirectMark)); (err == nil) != want {
			t.Errorf("%q: marked %t, want %t", script, err == nil, want)
		}
	}
}

// TestArchiveOfNoJob checks that a request without a job gets no archive of all jobs.
func TestArchiveOfNoJob(t *testing.T) {
	h := newHistory(t.TempDir(), 1<<20)
	if err := h.put("1", "program.out", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	for _, job := range []stringOrNumber{"", "2"} {
		if err := h.archive(io.Discard, job); err == nil {
			t.Errorf("job %q has an archive", string(job))
		}
	}
	if err := h.archive(io.Discard, "1"); err != nil {
		t.Error(err)
	}
}
