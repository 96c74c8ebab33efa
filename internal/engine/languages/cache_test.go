package languages

import (
	"testing"
	"time"
)

// TestFailuresAge: a failure is used again for a while only, and one without a time not at all; a program always is.
func TestFailuresAge(t *testing.T) {
	c, err := openCache(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key  string
		e    entry
		want bool
	}{
		{"new", entry{Failure: "it failed", Time: time.Now()}, true},
		{"old", entry{Failure: "it failed", Time: time.Now().Add(-failureAge - time.Second)}, false},
		{"of an earlier version", entry{Failure: "it failed"}, false},
		{"a program", entry{Output: "a warning"}, true},
	} {
		if err := c.put(tt.key, tt.e, nil); err != nil {
			t.Fatal(err)
		}
		e, folder, ok := c.pin(tt.key)
		if ok != tt.want || ok && (e.Failure != tt.e.Failure || e.Output != tt.e.Output) {
			t.Errorf("%s: %t, %+v; want %t", tt.key, ok, e, tt.want)
		}
		if ok {
			folder.Release()
			continue
		}
		// The next result takes its place.
		if err := c.put(tt.key, entry{Output: "compiled"}, nil); err != nil {
			t.Fatal(err)
		}
		if e, _, ok := c.pin(tt.key); !ok || e.Output != "compiled" {
			t.Errorf("%s: replaced by %t, %+v", tt.key, ok, e)
		}
	}
}
