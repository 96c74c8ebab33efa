package runtimes

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRead checks that each file is read once per maxAge, regardless of which closures contain it.
func TestRead(t *testing.T) {
	l := newFixture(t)
	l.files(t, "tree/bin/one #!DIR/tree/bin/two", "tree/bin/two #!DIR/tree/bin/three", "tree/bin/three")
	l.links(t, map[string]string{"tree/bin/link": "two"})
	var loaded []string
	r := NewReader()
	r.now = func() time.Time { return l.time }
	r.load = func(f *os.File, _ int64) error {
		loaded = append(loaded, filepath.Base(f.Name()))
		return nil
	}
	reads := func(name string, want ...string) {
		t.Helper()
		loaded = nil
		c, _, _ := l.Find(name, nil)
		r.Read(c)
		if diff := cmp.Diff(want, loaded); diff != "" {
			t.Errorf("read %s (-want +got):\n%s", name, diff)
		}
	}
	reads("link", "three", "two")
	reads("link")
	reads("one", "one")
	l.time = l.time.Add(maxAge)
	reads("one", "one", "three", "two")
	if err := os.Remove(l.dir + "/tree/bin/three"); err != nil {
		t.Fatal(err)
	}
	l.time = l.time.Add(maxAge - 1) // the closure was found before the removal
	reads("one")
	l.time = l.time.Add(1)
	reads("one", "one", "two")
}
