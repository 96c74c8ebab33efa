package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/broker"
	"judged/internal/store"
)

// TestValues: the last value of a name outlives the process; names that look
// alike are different ones.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	p := open(t, broker.Options{Dir: dir}, store.Options{})
	names := [][]string{{"a", "b"}, {"a.b"}, {"a", "b", ""}, {"a b"}, {"a=20b"}, {"a*"}, {"a>"}, {"1-2,4", "α"}}
	for i, name := range names {
		for n := range 3 {
			if err := p.store.SetValue(t.Context(), map[string]int{"i": i, "n": n}, name...); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.close()

	p = open(t, broker.Options{Dir: dir}, store.Options{})
	for i, name := range names {
		got := map[string]int{}
		found, err := p.store.Value(t.Context(), &got, name...)
		if diff := cmp.Diff(map[string]int{"i": i, "n": 2}, got); diff != "" || !found || err != nil {
			t.Errorf("%q: found %v, error %v (-want +got):\n%s", name, found, err, diff)
		}
	}
	var got any
	if found, err := p.store.Value(t.Context(), &got, "a"); found || err != nil || got != nil {
		t.Errorf("a name that was never set: found %v, value %v, error %v", found, got, err)
	}
	var number int
	if _, err := p.store.Value(t.Context(), &number, "a", "b"); err == nil {
		t.Error("a value of another type was read without an error")
	}
}
