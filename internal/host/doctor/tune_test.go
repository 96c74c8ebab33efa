package doctor

import (
	"slices"
	"testing"

	"judged/internal/host/tune"
)

// TestTuneIsTrueToItsTable: a check says that tune can mend it exactly where it has a knob, and each
// knob is of a check.
func TestTuneIsTrueToItsTable(t *testing.T) {
	for _, id := range IDs() {
		e, _ := Explain(id)
		if e.Fix.Tune != tune.Covers(id) {
			t.Errorf("%s: tune %t, its table %t", id, e.Fix.Tune, tune.Covers(id))
		}
		if reason, ok := tune.Uncovered(id); ok && e.Fix.Tune {
			t.Errorf("%s: tune can, and cannot because %s", id, reason)
		}
	}
	for _, id := range tune.IDs() {
		if !slices.Contains(IDs(), id) {
			t.Errorf("setting %s is of no check", id)
		}
	}
}
