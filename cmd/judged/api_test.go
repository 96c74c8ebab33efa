package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"judged/internal/testkit"
)

// TestAPIManual runs the commands of API.md, one after the other, and compares the verdicts that they show.
func TestAPIManual(t *testing.T) {
	blocks := shellBlocks(t, "API.md")
	if len(blocks) < 10 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	url, _ := startAPI(t)
	cmd := exec.Command("sh", "-c", "set -e\n"+
		strings.ReplaceAll(strings.Join(blocks, "echo '---'\n"), "http://127.0.0.1:8080", url))
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "TOKEN="+apiToken)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errors.String())
	}
	answers := strings.Split(string(out), "---\n")
	for n, want := range []string{`{"ready":true}`, `"field":"langage"`, `"verdict":"AC"`, `"verdict":"AC"`, `"verdict":"AC"`,
		`"verdict":"AC"`, `"status":202,"id":"bob-1"`, `"verdict":"AC"`, "event: done", `"next":`, `"state":"cancelled"`} {
		if n >= len(answers) || !strings.Contains(answers[n], want) {
			t.Errorf("block %d does not show %s:\n%s", n+1, want, strings.Join(answers[min(n, len(answers)):], "---\n"))
			break
		}
	}
	if len(answers) != len(blocks) {
		t.Errorf("%d answers to %d blocks", len(answers), len(blocks))
	}
}
