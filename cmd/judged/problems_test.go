package main

import (
	"crypto/sha256"
	"fmt"
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
// daemon uses from then on. The first contest of OPERATIONS.md follows, with the same package.
func TestProblemsManual(t *testing.T) {
	manual := readFile(t, filepath.Join(testkit.RepoRoot(t), "deploy", "PROBLEMS.md"))
	if other := regexp.MustCompile(`(?m)^ +(\$ )?(judged|curl) .*`).FindString(manual); other != "" {
		t.Errorf("the command %q is in no block of sh, so it would not be tested", other)
	}
	blocks := shellBlocks(t, "PROBLEMS.md")
	upload := slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, "curl ") })
	if len(blocks) < 8 || upload < 1 {
		t.Fatalf("%d blocks of commands, of which number %d uploads the package", len(blocks), upload)
	}
	contest := shellBlocks(t, "OPERATIONS.md")
	if len(contest) != 2 {
		t.Fatalf("OPERATIONS.md has %d blocks of commands", len(contest))
	}
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"etc", "tools"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "etc/tokens"), fmt.Sprintf("admin submit,read,admin,metrics %x\n",
		sha256.Sum256([]byte("secret"))), 0o600)
	put(t, filepath.Join(dir, "etc/admin.token"), "secret\n", 0o600)
	put(t, filepath.Join(dir, "etc/judged.toml"), fmt.Sprintf(
		"data_dir = %q\n[http]\nlisten = \"127.0.0.1:0\"\ntoken_file = %q\n",
		filepath.Join(dir, "data"), filepath.Join(dir, "etc/tokens")), 0o600)
	// systemctl of the manual reloads the daemon, and waits until that has taken effect.
	put(t, filepath.Join(dir, "tools/systemctl"), `#!/bin/sh -e
kill -HUP "$DAEMON"
for try in $(seq 600); do
	! JUDGED_TOKEN=$(cat platform.token) judged list >/dev/null 2>&1 || exit 0
	sleep 0.1
done
exit 1
`, 0o755)
	if err := os.Symlink(self, filepath.Join(dir, "tools/judged")); err != nil {
		t.Fatal(err)
	}
	run := func(blocks []string, url string, daemon int) string {
		script := strings.NewReplacer("http://127.0.0.1:8080", url, "/etc/judged", filepath.Join(dir, "etc")).
			Replace(strings.Join(blocks, ""))
		cmd := exec.Command("sh", "-c", "set -ex\n"+script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "tools")+":"+os.Getenv("PATH"), "JUDGED_URL="+url,
			"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"), fmt.Sprint("DAEMON=", daemon))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := run(blocks[:upload], "", 0)
	if n := strings.Count(out, "\nall is as expected\n"); n != 3 {
		t.Errorf("%d of 3 verifications say that all is as expected:\n%s", n, out)
	}
	daemon := command("serve", "-c", filepath.Join(dir, "etc/judged.toml"))
	url := startWith(t, daemon)
	run(blocks[upload:], url, 0)
	out = run(contest, url, daemon.Process.Pid)
	for _, want := range []string{"\nAC, CPU time", "/link/first?signature=", "\nfirst "} {
		if !strings.Contains(out, want) {
			t.Errorf("the first contest does not print %q:\n%s", want, out)
		}
	}
}
