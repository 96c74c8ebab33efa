package config

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzOverlay checks that a file is either applied completely or rejected with a line number for each error,
// and that errors of Validate name existing keys.
func FuzzOverlay(f *testing.F) {
	data, err := os.ReadFile(reference)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("a.b = {c = [1, {d = 2}]}\n[[x]]\n"))
	f.Add([]byte("[slots]\ncpu_list = \"0x8c\"\nwidth = 2\n[limits.max]\nmemory = \"1KB\"\n"))
	f.Add([]byte("data_dir = 1979-05-27\n\"http\".listen = ':1'\nhttp.max_body=\"\"\"1MiB\"\"\"\n"))
	f.Add([]byte("[http]\n[http]\n"))
	f.Add([]byte("[[pools]]\nname = \"a\"\n[[pools]]\naudit_percent = 101\n"))
	f.Add([]byte("x = \"\\u0000\\u202e\"\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		if err := c.overlayTOML("f", data); err != nil {
			holdLines(t, err.Error(), 1+strings.Count(string(data), "\n"))
			return
		}
		twice := c
		if err := twice.overlayTOML("f", data); err != nil || cmp.Diff(c, twice) != "" {
			t.Errorf("the same file again: %v", err)
		}
		known := map[string]bool{}
		for _, k := range keys(&c) {
			known[k.path] = true
		}
		err := c.Validate()
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if key, _, _ := strings.Cut(line, ": "); !known[key] && key != "limits.default" {
				t.Errorf("finding %q names no key", line)
			}
		}
	})
}

var finding = regexp.MustCompile(`(?m)^f:([0-9]+): `)

// holdLines checks that an error starts with a valid line number. Only the first line is checked, because text
// from the file may contain line feeds.
func holdLines(t *testing.T, text string, lines int) {
	t.Helper()
	found := finding.FindAllStringSubmatch(text, -1)
	if len(found) == 0 || !strings.HasPrefix(text, found[0][0]) {
		t.Fatalf("error without line: %q", text)
	}
	for _, m := range found {
		if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > lines {
			t.Errorf("line %s of %d: %q", m[1], lines, text)
		}
	}
}

// FuzzEnvironment checks that a variable either changes only its own setting or is rejected by name.
func FuzzEnvironment(f *testing.F) {
	for _, s := range []string{"JUDGED_HTTP_MAX_BODY=1MiB", "JUDGED_HTTP_MAXBODY=1", "JUDGED_TOKEN=x",
		"JUDGED_SLOTS_STRICT=yes", "JUDGED_DATA_DIR",
		"JUDGED_LIMITS_MAX_TESTS=99999999999999999999", "JUDGED_CANARY_INTERVAL=", "=", "JUDGED_SLOTS_CPU_LIST=0-3,7",
		"judged_data_dir=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, variable string) {
		c := Default()
		name, _, _ := strings.Cut(variable, "=")
		if err := c.overlayEnv([]string{variable}); err != nil {
			if !strings.Contains(err.Error(), "environment variable "+name+": ") {
				t.Errorf("error %v does not name %q", err, name)
			}
			return
		}
		before := Default()
		was := keys(&before)
		for i, k := range keys(&c) {
			if k.environment() != name && cmp.Diff(was[i].field.Interface(), k.field.Interface()) != "" {
				t.Errorf("%q changed %s", variable, k.path)
			}
		}
	})
}
