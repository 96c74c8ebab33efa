package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"judged/internal/testkit"
)

// TestProblemsManual runs the commands of PROBLEMS.md in order. Those before the first upload need the slot, which a
// daemon uses from then on.
func TestProblemsManual(t *testing.T) {
	manual := readFile(t, filepath.Join(testkit.RepoRoot(t), "deploy", "PROBLEMS.md"))
	if other := regexp.MustCompile(`(?m)^ +(\$ )?(judged|curl) .*`).FindString(manual); other != "" {
		t.Errorf("the command %q is in no block of sh, so it would not be tested", other)
	}
	var blocks []string
	for _, b := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(manual, -1) {
		blocks = append(blocks, b[1])
	}
	upload := slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, "curl ") })
	if len(blocks) < 8 || upload < 1 {
		t.Fatalf("%d blocks of commands, of which number %d uploads the package", len(blocks), upload)
	}
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	tools, dir := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(tools, "judged")); err != nil {
		t.Fatal(err)
	}
	run := func(blocks []string, url string) string {
		cmd := exec.Command("sh", "-c", "set -ex\n"+
			strings.ReplaceAll(strings.Join(blocks, ""), "http://127.0.0.1:8080", url))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "JUDGED_URL="+url, "TOKEN=none",
			"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := run(blocks[:upload], "")
	if n := strings.Count(out, "\nall is as expected\n"); n != 3 {
		t.Errorf("%d of 3 verifications say that all is as expected:\n%s", n, out)
	}
	run(blocks[upload:], startDaemon(t))
}
