package machine

import "testing"

func TestMemoryNode(t *testing.T) {
	for name, tt := range map[string]struct {
		nodes []Node
		want  map[int]int
	}{
		"all have some": {
			[]Node{{ID: 0, MemTotal: 1, Distances: []int{10, 20}}, {ID: 1, MemTotal: 1, Distances: []int{20, 10}}},
			map[int]int{0: 0, 1: 1, 7: 7},
		},
		"two of four, as a Threadripper 2990WX": {
			[]Node{
				{ID: 0, MemTotal: 1, Distances: []int{10, 16, 16, 16}}, {ID: 1, Distances: []int{16, 10, 18, 16}},
				{ID: 2, MemTotal: 1, Distances: []int{16, 16, 10, 16}}, {ID: 3, Distances: []int{18, 16, 16, 10}},
			},
			map[int]int{0: 0, 1: 0, 2: 2, 3: 2},
		},
		"numbers with a gap": {
			[]Node{{ID: 0, Distances: []int{10, 30, 20}}, {ID: 4, MemTotal: 1, Distances: []int{30, 10, 20}},
				{ID: 8, MemTotal: 1, Distances: []int{20, 20, 10}}},
			map[int]int{0: 8, 4: 4, 8: 8},
		},
		"equally far": {[]Node{{ID: 0, MemTotal: 1}, {ID: 1, Distances: []int{20, 10, 20}}, {ID: 2, MemTotal: 1}},
			map[int]int{1: 0}},
		"unknown memory": {[]Node{{ID: 0, Distances: []int{10, 20}}, {ID: 1, Distances: []int{20, 10}}},
			map[int]int{0: 0, 1: 1}},
		"without distance": {[]Node{{ID: 0, MemTotal: 1}, {ID: 1}}, map[int]int{1: 1}},
	} {
		for node, want := range tt.want {
			if got := (Topology{Nodes: tt.nodes}).MemoryNode(node); got != want {
				t.Errorf("%s: memory for node %d from %d, want %d", name, node, got, want)
			}
		}
	}
}
