package guest

import (
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
)

// guestRepo is the path of the repository in the guest: the test binary runs in its package's folder below it,
// next to its testdata, and finds go.mod above.
const guestRepo = "/repo"

// GoTest runs the tests of the package pkg (an import path) whose names match the pattern run, in the guest as
// root. It fails t and logs their output if one fails, none passes, or one of cfg's commands, which run first,
// has an exit code other than 0. Files and Dirs of cfg can add files for the tests; the package's testdata is
// included.
//
// In the guest, testkit.Need fails instead of skipping a test that needs Root, Cgroup or CgroupV2.
func GoTest(t testing.TB, cfg Config, pkg, run string) {
	t.Helper()
	cfg = cfg.withDefaults()
	testkit.Need(t, machines[cfg.Arch].needs...)
	const name = "go test"
	test, err := shipTest(t, &cfg, pkg, run)
	if err != nil {
		t.Fatal(err)
	}
	test.Name = name
	cfg.Commands = append(slices.Clone(cfg.Commands), test)

	results, err := boot(t, cfg)
	if err == nil {
		err = failures(cfg, results)
	}
	for _, c := range cfg.Commands {
		if r := results[c.Name]; r.Stdout+r.Stderr != "" {
			t.Logf("%s in the guest:\n%s%s", c.Name, r.Stdout, r.Stderr)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cfg.Commands {
		if code := results[c.Name].ExitCode; code != 0 {
			t.Errorf("%s in the guest ended with exit code %d", c.Name, code)
		}
	}
	if !t.Failed() && !passed(results[name].Stdout) {
		t.Errorf("no test of %s passed in the guest: %q matches none, or all were skipped", pkg, run)
	}
}

var topLevelPass = regexp.MustCompile(`(?m)^--- PASS: `)

func passed(log string) bool { return topLevelPass.MatchString(log) }

// shipTest compiles the tests of pkg, adds what they need to cfg and returns
// the command that runs them.
func shipTest(t testing.TB, cfg *Config, pkg, run string) (Command, error) {
	root := testkit.RepoRoot(t)
	host, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return Command{}, fmt.Errorf("find the folder of package %q: %w", pkg, err)
	}
	folder := strings.TrimSpace(string(host))
	rel, err := filepath.Rel(root, folder)
	if err != nil {
		return Command{}, fmt.Errorf("find package %q in the repository: %w", pkg, err)
	}
	binary := filepath.Join(t.TempDir(), "package.test")
	if err := goTool(t.Context(), cfg.Arch, folder, []string{"test", "-c", "-o", binary, "."}); err != nil {
		return Command{}, err
	}

	to := path.Join(guestRepo, filepath.ToSlash(rel))
	cfg.Files, cfg.Dirs = cloned(cfg.Files), cloned(cfg.Dirs)
	cfg.Files[path.Join(to, "package.test")] = binary
	cfg.Files[path.Join(guestRepo, "go.mod")] = filepath.Join(root, "go.mod")
	if data := filepath.Join(folder, "testdata"); isDir(data) {
		cfg.Dirs[path.Join(to, "testdata")] = data
	}
	// The binary's own timeout is shorter, because it prints the stack of each goroutine.
	limit := cfg.Timeout * 8 / 10
	return Command{
		Args: []string{path.Join(to, "package.test"), "-test.v", "-test.run=" + run, "-test.timeout=" + limit.String()},
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "TMPDIR=/tmp",
			testkit.RequireEnv + "=" + strings.Join([]string{string(testkit.Root), string(testkit.Cgroup),
				string(testkit.CgroupV2)}, ","),
		},
		Dir:     to,
		Timeout: limit + 10*time.Second,
	}, nil
}

func cloned(m map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m)
	return out
}
