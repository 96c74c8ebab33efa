package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// debian is the root of a minimal Debian. Programs in it run as on a machine without systemd.
type debian struct {
	t    *testing.T
	root string
}

// newDebian unpacks a minimal Debian.
func newDebian(t *testing.T) *debian {
	t.Helper()
	archive, err := testkit.DebianRootPath()
	if err != nil {
		t.Fatal(err)
	}
	d := &debian{t, t.TempDir()}
	if out, err := exec.Command("tar", "--extract", "--file", archive, "--directory", d.root, "--exclude=./dev/*").
		CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", archive, err, out)
	}
	return d
}

// command returns a command in the root with the file systems of the kernel, in its own mount namespace.
func (d *debian) command(words ...string) *exec.Cmd {
	const script = `set -e
mount --make-rprivate /
mount --bind "$0" "$0"
for dir in proc sys dev; do mount --rbind /$dir "$0/$dir"; done
cd "$0"
pivot_root . mnt
exec chroot . /bin/sh -c 'umount -l /mnt && exec "$@"' sh "$@"`
	cmd := exec.CommandContext(d.t.Context(), "/bin/sh", append([]string{"-c", script, d.root}, words...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive",
		"LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// run returns the stdout of a program. The program must exit with 0.
func (d *debian) run(words ...string) string {
	d.t.Helper()
	cmd := d.command(words...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%q: %v\n%s%s", words, err, out, stderr.String())
	}
	return string(out)
}

// serve starts the installed daemon. stop stops it like systemd.
func (d *debian) serve() (url string, stop func()) {
	d.t.Helper()
	cmd := d.command("judged", "serve", "-c", "/etc/judged/judged.toml", "--listen", "127.0.0.1:0")
	url, _, exited := startUnit(d.t, cmd)
	return url, func() {
		d.t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			d.t.Fatal(err)
		}
		if err := <-exited; err != nil {
			d.t.Errorf("the daemon does not drain: %v", err)
		}
	}
}

// states returns the states of the jobs of a daemon by ID.
func (d *debian) states(url string) map[string]string {
	d.t.Helper()
	var list struct {
		Jobs []api.Report `json:"jobs"`
	}
	out := d.run("judged", "list", "--json", "--url", url, "--token-from", firstToken)
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
	states := map[string]string{}
	for _, j := range list.Jobs {
		states[j.ID] = strings.TrimSpace(string(j.State) + " " + string(j.Verdict))
	}
	return states
}

const firstToken = "/etc/judged/admin.token"

// packageOf builds the package of a version in a copy of the sources. Its files have the time of the last commit, as
// those of packages that make builds in the repository.
func packageOf(t *testing.T, copied, version, arch string) string {
	t.Helper()
	outputIn(t, copied, "make", "deb", "VERSION="+version, "DEB_ARCH="+arch, "SOURCE_DATE_EPOCH="+
		strings.TrimSpace(outputIn(t, testkit.RepoRoot(t), "git", "log", "-1", "--format=%ct")))
	return filepath.Join(copied, "bin", "judged_"+strings.TrimPrefix(version, "v")+"_"+arch+".deb")
}

// lint starts lintian for a package. The returned function waits for its result.
func lint(t *testing.T, file string) (wait func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "lintian", "--fail-on", "error", "--tag-display-limit", "0", file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("lintian %s: %v\n%s", file, err, out.Bytes())
		}
	}
}

// TestDebianPackage installs the package on a minimal Debian, judges with it, upgrades it while jobs wait, removes it and
// purges it.
func TestDebianPackage(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Debian)
	t.Parallel() // no time of a job decides
	d := newDebian(t)
	copied := sources(t, t.TempDir())
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		built := packageOf(t, copied, version, "amd64")
		defer lint(t, built)()
		put(t, filepath.Join(d.root, "root", version+".deb"), readFile(t, built), 0o644)
	}
	said := d.run("dpkg", "--install", "/root/v1.0.0.deb")
	if hint := "judged slots --token-from " + firstToken; !strings.Contains(said, hint) {
		t.Errorf("the installation does not say %q:\n%s", hint, said)
	}
	d.installed("v1.0.0")

	tokens := readFile(t, filepath.Join(d.root, "etc/judged/tokens"))
	testkit.HoldHostCPUs(t)
	url, stop := d.serve()
	secret := strings.TrimSpace(readFile(t, filepath.Join(d.root, firstToken)))
	for token, want := range map[string]int{"": 401, "wrong": 401, secret: 200} {
		if got := statusWith(t, url, token); got != want {
			t.Errorf("with the token %q: %d, want %d", token, got, want)
		}
	}
	put(t, filepath.Join(d.root, "root/echo.sh"), "#!/bin/sh\ncat\n", 0o755)
	put(t, filepath.Join(d.root, "root/slow.sh"), "#!/bin/sh\nsleep 8\ncat\n", 0o755)
	put(t, filepath.Join(d.root, "root/1.in"), "1\n", 0o644)
	submit := func(id, program string, flags ...string) {
		d.run(append(append([]string{"judged", "submit", "--url", url, "--token-from", firstToken, "--id", id, "--input",
			"/root/1.in", "--answer", "/root/1.in"}, flags...), program)...)
	}
	submit("before", "/root/echo.sh")
	submit("slow", "/root/slow.sh", "--detach", "--wall-limit", "1m")
	testkit.WaitFor(t, time.Minute, "the slow job to run", func() bool { return d.states(url)["slow"] != "queued" })
	submit("waits", "/root/echo.sh", "--detach")
	stop()

	settings := filepath.Join(d.root, "etc/judged/judged.toml")
	put(t, settings, strings.Replace(readFile(t, settings), "[http]", "# Changed here.\n[http]", 1), 0o644)
	d.run("dpkg", "--install", "/root/v1.1.0.deb")
	d.installed("v1.1.0")
	if !strings.Contains(readFile(t, settings), "# Changed here.") {
		t.Error("the upgrade replaces the configuration")
	}
	if now := readFile(t, filepath.Join(d.root, "etc/judged/tokens")); now != tokens {
		t.Errorf("the upgrade changes the tokens from %q to %q", tokens, now)
	}
	url, stop = d.serve()
	want := map[string]string{"before": "done AC", "slow": "done AC", "waits": "done AC"}
	testkit.WaitFor(t, time.Minute, "the job to be judged", func() bool { return d.states(url)["waits"] == want["waits"] })
	if diff := cmp.Diff(want, d.states(url)); diff != "" {
		t.Errorf("jobs after the upgrade (-want +got)\n%s", diff)
	}
	stop()

	d.run("dpkg", "--remove", "judged")
	d.has(map[string]bool{"usr/bin/judged": false, "etc/judged/judged.toml": true, "etc/judged/tokens": true,
		"var/lib/judged/judged.db": true})
	d.run("dpkg", "--purge", "judged")
	d.has(map[string]bool{"etc/judged": false, "var/lib/judged": false, "usr/share/doc/judged": false})
}

// installed checks the files and their modes.
func (d *debian) installed(version string) {
	d.t.Helper()
	if got := d.run("judged", "version"); !strings.Contains(got, version) {
		d.t.Errorf("judged version says %q, want %s", got, version)
	}
	for name, mode := range map[string]fs.FileMode{"etc/judged/tokens": 0o600, "etc/judged/admin.token": 0o600,
		"etc/judged/judged.toml": 0o644, "usr/bin/judged": 0o755} {
		info, err := os.Stat(filepath.Join(d.root, name))
		if err != nil || info.Mode().Perm() != mode {
			d.t.Errorf("%s: %v, %v, want mode %v", name, info, err, mode)
		}
	}
	d.has(map[string]bool{"usr/lib/systemd/system/judged.service": true, "usr/share/man/man1/judged-run.1.gz": true,
		"usr/share/bash-completion/completions/judged": true})
	if users := d.run("getent", "passwd", "judged-run"); !strings.HasPrefix(users, "judged-run:x:1879048192:") {
		d.t.Errorf("the first user of runs is %q", users)
	}
}

// has checks which files exist.
func (d *debian) has(files map[string]bool) {
	d.t.Helper()
	for name, want := range files {
		_, err := os.Lstat(filepath.Join(d.root, name))
		if got := err == nil; got != want {
			d.t.Errorf("%s is there: %t, want %t", name, got, want)
		}
	}
}

// TestDebianPackageForArm64 builds the package for arm64.
func TestDebianPackageForArm64(t *testing.T) {
	testkit.Need(t, testkit.Debian)
	t.Parallel()
	built := packageOf(t, sources(t, t.TempDir()), "v1.0.0", "arm64")
	into := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", built, into).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	const aarch64 = 183 // EM_AARCH64
	head := []byte(readFile(t, filepath.Join(into, "usr/bin/judged"))[:20])
	if machine := int(head[18]) | int(head[19])<<8; machine != aarch64 {
		t.Errorf("the program is for the machine %d, want %d", machine, aarch64)
	}
	if got := fmt.Sprintf("%s", head[:4]); got != "\x7fELF" {
		t.Errorf("the program begins with %q", got)
	}
}
