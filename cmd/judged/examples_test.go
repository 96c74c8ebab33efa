package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"judged/internal/testkit"
)

var siteSubmissions = flag.Int("site-submissions", 40, "submissions that TestExampleSites sends to each site")

// examplePrograms are submissions to the problem of the example sites, by verdict.
var examplePrograms = map[string]string{
	"AC":  "#include <stdio.h>\nint main() { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }\n",
	"WA":  "#include <stdio.h>\nint main() { puts(\"3\"); }\n",
	"RTE": "int main() { return 1; }\n",
	"CE":  "int main() { return <b>; }\n",
}

// each calls f for each submission of a test.
func eachSubmission(t *testing.T, f func(n int, verdict, source string) error) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(8)
	verdicts := []string{"AC", "WA", "RTE", "CE"}
	for n := range *siteSubmissions {
		verdict := verdicts[n%len(verdicts)]
		all.Go(func() error { return f(n, verdict, examplePrograms[verdict]) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestExampleSites runs the sites of examples/, which only use the documented interface, and submits programs to them.
func TestExampleSites(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python, testkit.Node, testkit.Generators)
	t.Parallel() // measures nothing
	tools, err := testkit.GeneratorsPath()
	if err != nil {
		t.Fatal(err)
	}
	daemon, _ := startAPI(t)
	examples, dir := filepath.Join(testkit.RepoRoot(t), "examples"), t.TempDir()
	modules := filepath.Join(tools, "typescript/node_modules")
	runIn(t, examples, nil, []string{"go", "build", "-o", filepath.Join(dir, "go-site"), "./go"})
	runIn(t, examples, nil, []string{"node", filepath.Join(modules, "typescript/bin/tsc"), "--module", "nodenext",
		"--target", "es2022", "--strict", "--types", "node", "--typeRoots", filepath.Join(modules, "@types"), "--outDir",
		dir, "typescript/site.mts"})
	for name, command := range map[string][]string{
		"python":     {"python3", filepath.Join(examples, "python/site.py"), "0"},
		"go":         {filepath.Join(dir, "go-site"), "127.0.0.1:0"},
		"typescript": {"node", filepath.Join(dir, "site.mjs"), "0"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "JUDGED_URL="+daemon, "JUDGED_TOKEN="+apiToken)
			cmd.Stderr = os.Stderr
			testSite(t, strings.TrimSuffix(startWith(t, cmd), "/"))
		})
	}
	t.Run("shell", func(t *testing.T) { testShellSite(t, filepath.Join(examples, "shell/site.sh"), daemon) })
}

// testSite submits programs with the form of a site, and reads their reports.
func testSite(t *testing.T, site string) {
	submit := func(team, language, source string) (status int, page string, err error) {
		return fetch(http.PostForm(site+"/", url.Values{"team": {team}, "language": {language}, "source": {source}}))
	}
	eachSubmission(t, func(n int, verdict, source string) error {
		// The response redirects to the report.
		status, page, err := submit(fmt.Sprintf("<%d>", n), "c", source)
		tests := strings.Count(page, "<td>"+verdict)
		if err != nil || status != 200 || !strings.Contains(page, "<h1>"+verdict+"</h1>") ||
			(verdict == "AC") != (tests == 3) || strings.Contains(page, "<b>") {
			return fmt.Errorf("submission %d: status %d, %v, want %s:\n%s", n, status, err, verdict, page)
		}
		return nil
	})
	_, list, err := fetch(http.Get(site + "/"))
	for verdict := range examplePrograms {
		if got := strings.Count(list, ">"+verdict+"<"); err != nil || got != *siteSubmissions/len(examplePrograms) {
			t.Errorf("%d submissions with %s are listed, %v:\n%s", got, verdict, err, list)
		}
	}
	if strings.Contains(list, "<0>") {
		t.Error("names of teams are markup")
	}
	if status, page, err := submit("a", "none", "x"); status != 422 || !strings.Contains(page, "GET /v1/languages") {
		t.Errorf("unknown language: status %d, %v\n%s", status, err, page)
	}
	if status, page, err := fetch(http.Get(site + "/none")); status != 404 || !strings.Contains(page, "no such job") {
		t.Errorf("unknown report: status %d, %v\n%s", status, err, page)
	}
}

// fetch returns the status and the body of a response.
func fetch(res *http.Response, err error) (status int, body string, _ error) {
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func testShellSite(t *testing.T, script, daemon string) {
	dir := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command("sh", append([]string{script}, args...)...)
		cmd.Env = append(os.Environ(), "JUDGED_URL="+daemon, "JUDGED_TOKEN="+apiToken)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	eachSubmission(t, func(n int, verdict, source string) error {
		file := filepath.Join(dir, fmt.Sprint(n, ".c"))
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		out, err := run("submit", fmt.Sprint("team", n), "c", file)
		got, id, _ := strings.Cut(strings.TrimSpace(out), " ")
		if err != nil || got != verdict {
			return fmt.Errorf("submission %d: %v, want %s: %s", n, err, verdict, out)
		}
		out, err = run("report", id)
		if want := "1 AC\n2 AC\n3 AC\n"; verdict == "AC" && (out != want || err != nil) {
			return fmt.Errorf("report %s: %v, %q, want %q", id, err, out, want)
		}
		return nil
	})
	list, err := run("list")
	for verdict := range examplePrograms {
		if got := strings.Count(list, " done "+verdict+" "); err != nil || got != *siteSubmissions/len(examplePrograms) {
			t.Errorf("%d submissions with %s are listed, %v:\n%s", got, verdict, err, list)
		}
	}
	for want, args := range map[string][]string{
		"GET /v1/languages": {"submit", "a", "none", script},
		"is no name":        {"submit", `a"`, "c", script},
		"no such job":       {"report", "none"},
		"site.sh list":      {"lists"},
	} {
		if out, err := run(args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, want %q: %s", args, err, want, out)
		}
	}
}
