package cpuset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNew(t *testing.T) {
	ids := []int{7, 1, 7, 0}
	if diff := cmp.Diff(Set{0, 1, 7}, New(ids...)); diff != "" {
		t.Errorf("New (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{7, 1, 7, 0}, ids); diff != "" {
		t.Errorf("New changed its arguments (-want +got):\n%s", diff)
	}
	if got := New(); got != nil {
		t.Errorf("New() = %#v, want nil", got)
	}
}

// TestAlgebra checks each operation against its definition, id by id.
func TestAlgebra(t *testing.T) {
	const universe = 12
	r := rand.New(rand.NewPCG(1, 2))
	random := func() Set {
		var s Set
		for id := range universe {
			if r.IntN(3) == 0 {
				s = append(s, id)
			}
		}
		return s
	}
	where := func(in func(int) bool) Set {
		var s Set
		for id := range universe {
			if in(id) {
				s = append(s, id)
			}
		}
		return s
	}
	for range 2000 {
		a, b := random(), random()
		inA := func(id int) bool { return slices.Contains(a, id) }
		inB := func(id int) bool { return slices.Contains(b, id) }
		both := where(func(id int) bool { return inA(id) && inB(id) })

		type result struct {
			Union, Intersect, Minus Set
			Subset, Overlaps        bool
			Contains                Set
		}
		want := result{
			Union:     where(func(id int) bool { return inA(id) || inB(id) }),
			Intersect: both,
			Minus:     where(func(id int) bool { return inA(id) && !inB(id) }),
			Subset:    len(both) == len(a),
			Overlaps:  len(both) > 0,
			Contains:  a,
		}
		got := result{
			Union:     a.Union(b),
			Intersect: a.Intersect(b),
			Minus:     a.Minus(b),
			Subset:    a.IsSubsetOf(b),
			Overlaps:  a.Overlaps(b),
			Contains:  where(a.Contains),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v and %v (-want +got):\n%s", a, b, diff)
		}
	}
}
