package doctor

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

const manualFile = "../../../deploy/HOST.md"

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

// TestRemediesNameChecks: the catalogue of causes refers to checks only by ID.
func TestRemediesNameChecks(t *testing.T) {
	named := regexp.MustCompile(`\(checks? ([a-z-]+(?:, [a-z-]+)*)\)`)
	for _, e := range api.Catalogue() {
		for _, list := range named.FindAllStringSubmatch(e.Remedy, -1) {
			for id := range strings.SplitSeq(list[1], ", ") {
				if !slices.Contains(IDs(), id) {
					t.Errorf("%s: its remedy names the unknown check %q", e.Cause, id)
				}
			}
		}
		if strings.Contains(e.Remedy, "(check") != named.MatchString(e.Remedy) {
			t.Errorf("%s: the list of checks is not understood: %q", e.Cause, e.Remedy)
		}
	}
}
