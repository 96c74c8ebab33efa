package doctor

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const manualFile = "../../deploy/HOST.md"

func TestManual(t *testing.T) {
	got := Manual()
	if *update {
		if err := os.WriteFile(manualFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the table says; run with -update (-file +table):\n%s", manualFile, diff)
	}
	for _, id := range slices.Concat(IDs(), ProbeIDs()) {
		if !strings.Contains(got, "### "+id+":") {
			t.Errorf("%s is not in the manual", id)
		}
	}
	if strings.Contains(got, "{R}") || strings.Contains(got, "{H}") {
		t.Error("a placeholder is left in the manual")
	}
}
