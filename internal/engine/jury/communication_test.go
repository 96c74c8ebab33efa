package jury

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAtWall checks which instances show what the manager was doing, for instances in the order in which they are at
// their wall limits.
func TestAtWall(t *testing.T) {
	for _, tt := range []struct {
		order []int
		want  []bool
	}{
		{[]int{1, 0}, []bool{true, false}},
		{[]int{0, 0, 0}, []bool{true, true, true}},
		{[]int{0, 0, 1, 0}, []bool{true, true, false, false}}, // the first was not killed because of noise
	} {
		var a atWall
		var got []bool
		for _, i := range tt.order {
			got = append(got, a.shows(i))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.order, diff)
		}
	}
}
