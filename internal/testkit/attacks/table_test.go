package attacks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// TestTableTellsTheData compares the table in SECURITY.md with the data of the attacks, on every machine. The
// results for layers are measured, and TestLayers of package judge checks them.
func TestTableTellsTheData(t *testing.T) {
	all, err := Read(Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), "deploy", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(string(text), all)
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.Write(string(text), all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("deploy/SECURITY.md does not match the attacks; run go test ./internal/engine/judge -run "+
			"TestLayers -update (-data +table):\n%s", diff)
	}
}

func TestTableSurvivesWriting(t *testing.T) {
	all := []Attack{
		{Name: "001-spin", Title: "spin", Class: "time", StoppedBy: "the clock", Verdicts: []api.Verdict{"TLE"}},
		{Name: "002-fill", Title: "fill", Class: "memory", StoppedBy: "the limit",
			Verdicts: []api.Verdict{"MLE", "AC"}},
	}
	want := Table{Machine: "Linux 6.18", Needs: map[string]string{"001-spin": "seccomp, user; not tried without cgroup",
		"002-fill": "two or more"}}
	text, err := want.Write("before\n"+tableBegin+"old -->\n| 003 | gone |\n"+tableEnd+"\nafter\n", all)
	if err != nil {
		t.Fatal(err)
	}
	const written = `before
<!-- written by go test ./internal/engine/judge -run TestLayers -update; measured on Linux 6.18 -->

| # | attack | verdict | stopped by | needs |
|---|---|---|---|---|
| 001 | *time*: spin | TLE | the clock | seccomp, user; not tried without cgroup |
| 002 | *memory*: fill | MLE, AC | the limit | two or more |

<!-- end of the table -->
after
`
	if diff := cmp.Diff(written, text); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got, err := ReadTable(text, all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-written +read\n%s", diff)
	}
	if _, err := ReadTable("no table", all); err == nil {
		t.Error("a text without a table was read")
	}
}

func TestNeeds(t *testing.T) {
	for want, outcomes := range map[string]map[initproc.Layers]Outcome{
		"two or more":   {initproc.Seccomp: Held, initproc.User: "MLE"},
		"seccomp, user": {initproc.User: Broke, initproc.Seccomp: Broke, initproc.Root: Held},
		"user; not tried without cgroup, rlimits": {initproc.User: Broke, initproc.Cgroup: NotTried,
			initproc.Rlimits: NotTried},
		"two or more; not tried without namespaces": {initproc.Namespaces: NotTried},
	} {
		if got := Needs(outcomes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
