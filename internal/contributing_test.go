package internal

import (
	"os"
	"path/filepath"
	"regexp"
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
		t.Fatalf("found %d lists of tests in CONTRIBUTING.md; write them as `TestName` in `internal/package`", len(groups))
	}
	tests := regexp.MustCompile("`(Test\\w+)`")
	for _, group := range groups {
		for _, test := range tests.FindAllStringSubmatch(group[1], -1) {
			if !hasTest(t, group[2], test[1]) {
				t.Errorf("CONTRIBUTING.md names %s in %s, which does not exist", test[1], group[2])
			}
		}
	}
	if all := len(tests.FindAllString(text, -1)); all != countTests(groups, tests) {
		t.Errorf("CONTRIBUTING.md names %d tests, %d of them with their package", all, countTests(groups, tests))
	}
}

func countTests(groups [][]string, tests *regexp.Regexp) (n int) {
	for _, group := range groups {
		n += len(tests.FindAllString(group[1], -1))
	}
	return n
}

func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
