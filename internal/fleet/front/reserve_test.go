package front

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"
)

// TestReserve checks that the first slots of the judging nodes of a pool judge only contest jobs.
func TestReserve(t *testing.T) {
	for _, tt := range []struct {
		name    string
		percent int
		nodes   string // slots of each node: i idle, b busy, d drained, q quarantined; a leading N means not ready
		want    []string
	}{
		{"not configured", 0, "ii bb", nil},
		{"rounded up", 10, "ii bb", []string{"a/0"}},
		{"half", 50, "ii bi", []string{"a/0", "a/1"}},
		{"over two nodes", 75, "ii bi", []string{"a/0", "a/1", "b/0"}},
		{"one is left", 99, "ii bi", []string{"a/0", "a/1", "b/0"}},
		{"a single slot", 99, "i", nil},
		{"all", 100, "i b", []string{"a/0", "b/0"}},
		{"only slots in use", 50, "dqi i", []string{"a/2"}},
		{"only nodes that judge", 50, "Nii ii", []string{"b/0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
			r := NewRegistry(&shared{all: map[string][]byte{}}, func() time.Time { return now })
			if tt.percent > 0 {
				r.ReserveForContests(map[string]int{"p": tt.percent})
			}
			states := map[rune]string{'i': "idle", 'b': "busy", 'd': "drained", 'q': "quarantined"}
			all := map[string]bool{}
			for i, text := range strings.Fields(tt.nodes) {
				node, slots := string(rune('a'+i)), []api.NodeSlot{}
				text, unfit := strings.CutPrefix(text, "N")
				for k, state := range text {
					slots = append(slots, api.NodeSlot{CPUs: string(rune('0' + k)), State: states[state]})
				}
				for _, pool := range []string{"q", "p"} { // the other pool has no reserved slots
					if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: pool + node}, Pool: pool,
						Ready: !unfit, Slots: slots, Time: now}); err != nil {
						t.Fatal(err)
					}
					for _, s := range slots {
						all[pool+node+"/"+s.CPUs] = true
					}
				}
			}
			var got []string
			for _, slot := range slices.Sorted(maps.Keys(all)) {
				node, cpus, _ := strings.Cut(slot, "/")
				now = now.Add(time.Millisecond) // also from the cached copy
				reserved, err := r.Reserved(t.Context(), node[:1], node, cpus)
				if err != nil {
					t.Fatal(err)
				}
				if reserved {
					got = append(got, strings.TrimPrefix(slot, "p"))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reserved (-want +got):\n%s", diff)
			}
			pools, err := r.Pools(t.Context(), nil)
			if err != nil || pools[0].ContestSlots != len(tt.want) || pools[1].ContestSlots != 0 {
				t.Errorf("pools %+v, %v", pools, err)
			}
		})
	}
}

// TestReserveAgain checks that a slot that leaves is replaced once the choice is old enough.
func TestReserveAgain(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	r := NewRegistry(&shared{all: map[string][]byte{}}, func() time.Time { return now })
	r.ReserveForContests(map[string]int{"p": 50})
	for i, tt := range []struct {
		ready bool // whether node a is ready
		want  string
	}{{true, "ab"}, {false, "b"}} {
		for _, node := range []string{"a", "b", "c"} {
			if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: node}, Pool: "p",
				Ready: tt.ready || node != "a", Slots: []api.NodeSlot{{CPUs: "1",
					State: "idle"}}, Time: now}); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(reservedFor)
		got := ""
		for _, node := range []string{"a", "b", "c"} {
			reserved, err := r.Reserved(t.Context(), "p", node, "1")
			if err != nil {
				t.Fatal(err)
			}
			if reserved {
				got += node
			}
		}
		if got != tt.want {
			t.Errorf("step %d: slots of nodes %q are reserved, want %q", i, got, tt.want)
		}
	}
}
