package linux

import (
	"context"
	"testing"
	"time"
)

// TestAwaitInterruptedLate calls Await with a context that is done. That must not interrupt the next call.
func TestAwaitInterruptedLate(t *testing.T) {
	r, w, err := ReadPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const timeout = 2 * time.Millisecond
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if ready, err := Await(done, r, 0); ready || err != nil {
			t.Fatalf("Await of a silent pipe: %t, %v", ready, err)
		}
		start := time.Now()
		if ready, err := Await(t.Context(), r, timeout); ready || err != nil {
			t.Fatalf("Await of a silent pipe: %t, %v", ready, err)
		}
		if took := time.Since(start); took < timeout {
			t.Fatalf("interrupted after %s by the context of the call before", took)
		}
	}
}
