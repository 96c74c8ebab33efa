package initproc

import (
	"math/rand/v2"
	"os"
	"time"
)

// Loads returns the kernels that never end and disturb measurements like noisy neighbours. They write one byte
// when they have allocated their memory and run at full load.
func Loads() []string { return []string{LoadCPU, LoadMemory, LoadMemoryAtTimes} }

// The loads.
const (
	LoadCPU           = "load-cpu"             // registers only
	LoadMemory        = "load-memory"          // copies more than the caches hold, back and forth
	LoadMemoryAtTimes = "load-memory-at-times" // the same, but alternately copies and sleeps for 0.2 to 2 s
)

// LoadBytes is an upper bound on the memory of any load, including the runtime.
const LoadBytes = 256 << 20

// runLoad runs until it is killed. It returns only for an unknown name.
func runLoad(name string) int {
	switch name {
	case LoadCPU:
		ready()
		for x := uint64(1); x != 0; { // never 0
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	case LoadMemory:
		copyMemory(func(time.Time) {})
	case LoadMemoryAtTimes:
		copyMemory(pauseAtRandom())
	}
	return 2
}

func ready() { os.Stdout.Write([]byte{1}) }

// pauseAtRandom returns a function that sleeps for a random time whenever a random time has passed.
func pauseAtRandom() (pause func(now time.Time)) {
	while := func() time.Duration { return 200*time.Millisecond + rand.N(1800*time.Millisecond) }
	until := time.Now().Add(while())
	return func(now time.Time) {
		if now.After(until) {
			time.Sleep(while())
			until = time.Now().Add(while())
		}
	}
}

// copyMemory copies 64 MiB back and forth, about 10 ms each way: with one or two neighbours more than a last-level
// cache holds. It pauses between two copies.
func copyMemory(pause func(now time.Time)) {
	const words = 64 << 20 / 8
	a, b := make([]uint64, words), make([]uint64, words)
	for i := range a {
		a[i] = uint64(i)
	}
	copy(b, a)
	ready()
	for {
		copy(a, b)
		copy(b, a)
		pause(time.Now())
	}
}
