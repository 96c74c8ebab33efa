package jury

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAtWall checks which instances show what the manager was doing, for instances in the order in which they are at
// their wall limits.
func TestAtWall(t *testing.T) {
	type look struct {
		instance int
		killed   bool
	}
	for name, tt := range map[string]struct {
		looks []look
		shows []bool
		last  int
	}{
		"no noise": {[]look{{1, true}, {0, true}}, []bool{true, false}, 1},
		"noise explains one": {[]look{{0, false}, {1, true}, {0, false}, {0, true}},
			[]bool{true, true, false, false}, 1},
		"noise explains both at first": {[]look{{0, false}, {1, false}, {0, true}, {1, true}},
			[]bool{true, true, true, false}, 0},
		"noise explains all": {[]look{{0, false}, {1, false}}, []bool{true, true}, 1},
	} {
		var a atWall
		var shows []bool
		for _, l := range tt.looks {
			shows = append(shows, a.shows(l.instance, l.killed))
		}
		if diff := cmp.Diff(tt.shows, shows); diff != "" || *a.last != tt.last {
			t.Errorf("%s: instance %d (-want +got):\n%s", name, *a.last, diff)
		}
	}
}
