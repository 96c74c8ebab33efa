package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/testkit"
)

const (
	installHead = "## Running it for real\n"
	installEnd  = "systemctl enable --now judged"
)

// installSteps returns the commands of the README before and after the start of the unit.
func installSteps(t *testing.T) (before, after []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), installHead)
	section, _, _ = strings.Cut(section, "\n## ")
	var steps []string
	continued := false
	for line := range strings.Lines(section) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		command = strings.TrimSpace(command)
		whole, more := strings.CutSuffix(command, `\`)
		if continued {
			steps[len(steps)-1] += whole
		} else {
			steps = append(steps, whole)
		}
		continued = more
	}
	for i, step := range steps {
		if step == installEnd {
			return steps[:i], steps[i+1:]
		}
	}
	t.Fatalf("%q is not among the steps of the README: %q", installEnd, steps)
	return nil, nil
}

// TestInstalledAsTheReadmeSays follows the README on a machine with the folders of a fresh Debian 12 and starts the
// unit. Requests without a token must be refused, and those with the token accepted.
func TestInstalledAsTheReadmeSays(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	root, dir := testkit.RepoRoot(t), t.TempDir()
	steps, after := installSteps(t)
	if len(after) == 0 || !strings.HasPrefix(after[0], "JUDGED_TOKEN=$TOKEN judged slots") {
		t.Errorf("after the start comes %q, want a command with the token", after)
	}
	source := sourceFolder(t, root, dir)
	var script strings.Builder
	// The mounts are private to the script, so these folders of the machine do not change.
	fmt.Fprintf(&script, `set -e
mount --make-rprivate /
mkdir %[1]s/etc %[1]s/bin %[1]s/tools
cp -a /etc/. %[1]s/etc
rm -rf %[1]s/etc/sysusers.d %[1]s/etc/judged %[1]s/etc/systemd
mkdir -p %[1]s/etc/systemd/system
mount --bind %[1]s/etc /etc
mount --bind %[1]s/bin /usr/local/bin
make() { test "$*" = build; } # bin/judged is there
ln -s /bin/true %[1]s/tools/systemd-sysusers # for a machine without it
PATH=$PATH:%[1]s/tools
unit=$JUDGED_TEST_UNIT
unset JUDGED_TEST_UNIT # the steps run as they are
cd %[2]s
`, dir, source)
	for _, step := range steps {
		step, _, _ = strings.Cut(step, " # ")
		if strings.HasPrefix(step, "judged ") {
			step += " > /dev/null || test $? = 1" // this host may not be fit
		}
		fmt.Fprintf(&script, "{ %s\n} || exit 1\n", step) // set -e ignores a failure in the first part of an && list
	}
	fmt.Fprintf(&script, "stat -c %%a /etc/judged/tokens > %[1]s/mode\nprintf %%s \"$TOKEN\" > %[1]s/token\n"+
		"export JUDGED_TEST_UNIT=$unit\nexec \"$@\"\n", dir)

	path := filepath.Join(root, unitFile)
	start := execLines(t, path)["ExecStart"]
	cmd := testkit.UnitCommand(t, path, filepath.Join("/usr/local/bin", start[0]), start[1:]...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", script.String(), "sh", "/proc/self/fd/3"},
		cmd.Args[1:]...)
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(cmd.Env, "JUDGED_HTTP_LISTEN=127.0.0.1:0")
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	url, log, exited := startUnit(t, cmd)

	token := readFile(t, dir+"/token")
	if mode := readFile(t, dir+"/mode"); strings.TrimSpace(mode) != "600" {
		t.Errorf("the file of tokens has mode %s", mode)
	}
	for secret, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized,
		token: http.StatusOK} {
		if got := statusWith(t, url, secret); got != want {
			t.Errorf("GET /v1/slots with the token %q: %d, want %d", secret, got, want)
		}
	}
	reload := execLines(t, path)["ExecReload"]
	for i := range reload {
		reload[i] = strings.ReplaceAll(reload[i], "$MAINPID", fmt.Sprint(cmd.Process.Pid))
	}
	if out, err := exec.Command(reload[0], reload[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", reload, err, out)
	}
	testkit.WaitFor(t, time.Minute, "the daemon to reload", func() bool {
		return strings.Contains(readFile(t, log), "reloaded configuration and tokens")
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-exited; err != nil {
		t.Errorf("it does not drain: %v", err)
	}
}

// sourceFolder returns a folder with the files that the steps install, with the tested program instead of the one that
// make builds.
func sourceFolder(t *testing.T, root, dir string) string {
	t.Helper()
	source := filepath.Join(dir, "source")
	if err := os.MkdirAll(filepath.Join(source, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deploy", "configs"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "bin/judged"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	return source
}

// startUnit returns the URL of a daemon, the file with its log, and a channel with its exit error.
func startUnit(t *testing.T, cmd *exec.Cmd) (url, log string, exited <-chan error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 2)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process has exited unless the test failed
		<-end
		if t.Failed() {
			t.Logf("it said:\n%s", readFile(t, file.Name()))
		}
	})
	brake := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() }) // the steps examine the host
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		err := cmd.Wait()
		end <- err
		end <- err
	}()
	if !brake.Stop() || err != nil {
		t.Fatalf("the steps and the daemon said %q, not its URL: %v", line, err)
	}
	return strings.TrimSpace(line), file.Name(), end
}

// statusWith returns the status of a request for the slots with a token.
func statusWith(t *testing.T, url, token string) int {
	t.Helper()
	return getStatus(t, url+"/v1/slots", token)
}

func getStatus(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// execLines returns the command lines of a unit, split like systemd.
func execLines(t *testing.T, path string) map[string][]string {
	t.Helper()
	word := regexp.MustCompile(`'[^']*'|\S+`)
	lines := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(Exec\w+)=(.*)$`).FindAllStringSubmatch(readFile(t, path), -1) {
		for _, w := range word.FindAllString(m[2], -1) {
			lines[m[1]] = append(lines[m[1]], strings.Trim(w, "'"))
		}
	}
	return lines
}

// TestUnitsNeedNoPackages: units only start judged or the shell. Other programs, such as /bin/kill, are in packages
// that a minimal Debian lacks.
func TestUnitsNeedNoPackages(t *testing.T) {
	units, err := filepath.Glob(filepath.Join(testkit.RepoRoot(t), "deploy/*.service"))
	if err != nil || len(units) < 2 {
		t.Fatalf("found units %q: %v", units, err)
	}
	for _, path := range units {
		lines := execLines(t, path)
		for _, key := range []string{"ExecStart", "ExecReload"} {
			if words := lines[key]; len(words) == 0 || words[0] != "/bin/sh" && words[0] != "judged" {
				t.Errorf("%s: %s runs %q", filepath.Base(path), key, words)
			}
		}
	}
}

// TestReadmeNamesGo: the README names the version of Go in go.mod.
func TestReadmeNamesGo(t *testing.T) {
	root := testkit.RepoRoot(t)
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, filepath.Join(root, "go.mod")))
	if want == nil || !bytes.Contains([]byte(readFile(t, filepath.Join(root, "README.md"))), []byte("Go "+want[1]+" ")) {
		t.Errorf("the README does not name Go of go.mod, %q", want)
	}
}
