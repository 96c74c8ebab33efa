package linux

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMonotonic: it is the kernel's CLOCK_MONOTONIC, not one that begins with
// the process.
func TestMonotonic(t *testing.T) {
	kernel := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	before := kernel()
	got := Monotonic()
	if after := kernel(); got < before || got > after {
		t.Errorf("%v, the kernel says %v before and %v after", got, before, after)
	}
}

func BenchmarkMonotonic(b *testing.B) {
	for b.Loop() {
		Monotonic()
	}
}
