package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
)

// TestHold checks that the runs of a test that is repeated often do not hold more than their bound.
func TestHold(t *testing.T) {
	content := make([]byte, maxHeld/2-1)
	var all []outcome
	for range 4 {
		all = append(all, outcome{kept: []api.KeptOutput{{Output: api.Output{Bytes: units.Bytes(len(content))},
			Content: content}}})
		hold(all)
	}
	var held []int
	for _, o := range all {
		held = append(held, len(o.kept[0].Content))
	}
	if diff := cmp.Diff([]int{len(content), len(content), 2, 0}, held); diff != "" {
		t.Errorf("bytes held of each run (-want +got):\n%s", diff)
	}
}
