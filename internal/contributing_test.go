package internal

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestContributingIsCurrent looks for every path and every test that CONTRIBUTING.md names.
func TestContributingIsCurrent(t *testing.T) {
	text := readText(t, "../CONTRIBUTING.md")
	folder := regexp.MustCompile("`((?:internal|cmd|configs|deploy|testdata|\\.ci)(?:/[\\w./-]+)?)`")
	for _, found := range folder.FindAllStringSubmatch(text, -1) {
		path := filepath.Join("..", strings.ReplaceAll(found[1], "NNN-NAME", "*"))
		if some, err := filepath.Glob(path); err != nil || len(some) == 0 {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist", found[1])
		}
	}
	named := regexp.MustCompile("((?:`Test\\w+`(?:,|\\s|and)*)+)\\s*in\\s+`(internal[\\w/]*)`")
	groups := named.FindAllStringSubmatch(text, -1)
	if len(groups) < 9 {
		t.Fatalf("found %d lists of tests in CONTRIBUTING.md; write them as `TestName` in `internal/package`",
			len(groups))
	}
	tests := regexp.MustCompile("`(Test\\w+)`")
	for _, group := range groups {
		for _, test := range tests.FindAllStringSubmatch(group[1], -1) {
			if !slices.Contains(functions(t, group[2], "Test"), test[1]) {
				t.Errorf("CONTRIBUTING.md names %s in %s, which does not exist", test[1], group[2])
			}
		}
	}
	if all := len(tests.FindAllString(text, -1)); all != countTests(groups, tests) {
		t.Errorf("CONTRIBUTING.md names %d tests, %d of them with their package", all, countTests(groups, tests))
	}
}

// TestPromisesCommands checks that every go test command in PROMISES.md names a package and a test or benchmark of it.
func TestPromisesCommands(t *testing.T) {
	commands := regexp.MustCompile("`go test ([^`]+)`").FindAllStringSubmatch(readText(t, "../deploy/PROMISES.md"), -1)
	if len(commands) < 10 {
		t.Fatalf("found %d commands in PROMISES.md; write them as `go test ... ./internal/package`", len(commands))
	}
	chosen := regexp.MustCompile(`-(run|bench) (\S+)`)
	for _, command := range commands {
		pkg := strings.TrimPrefix(regexp.MustCompile(`\./\S+`).FindString(command[1]), "./")
		for _, flag := range chosen.FindAllStringSubmatch(command[1], -1) {
			pattern := strings.Trim(flag[2], "'")
			prefix := map[string]string{"run": "Test", "bench": "Benchmark"}[flag[1]]
			if pattern != "^$" && !slices.ContainsFunc(functions(t, pkg, prefix), regexp.MustCompile(pattern).MatchString) {
				t.Errorf("PROMISES.md: go test %s: package %q has no %s of that name", command[1], pkg, prefix)
			}
		}
	}
}

func countTests(groups [][]string, tests *regexp.Regexp) (n int) {
	for _, group := range groups {
		n += len(tests.FindAllString(group[1], -1))
	}
	return n
}

// functions are the tests or benchmarks of a package.
func functions(t *testing.T, pkg, prefix string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func (` + prefix + `\w+)\(`)
	for _, file := range files {
		for _, found := range declared.FindAllStringSubmatch(readText(t, file), -1) {
			names = append(names, found[1])
		}
	}
	return names
}
