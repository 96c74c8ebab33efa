package stage

import "os"

// Loads are kernels that never end: what neighbours do to a measurement. They
// write one byte when they have what they need and are at full strength.
func Loads() []string { return []string{LoadCPU, LoadMemory} }

// The loads.
const (
	LoadCPU    = "load-cpu"    // registers only
	LoadMemory = "load-memory" // copies more than caches hold, to and fro
)

// LoadBytes is more memory than any load takes, with the runtime around it.
const LoadBytes = 256 << 20

// runLoad runs until it is killed. It returns only for a name that it does not
// know.
func runLoad(name string) int {
	switch name {
	case LoadCPU:
		ready()
		for x := uint64(1); x != 0; { // it never comes to 0
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	case LoadMemory:
		copyForever()
	}
	return 2
}

func ready() { os.Stdout.Write([]byte{1}) }

// copyForever moves 64 MiB to and fro: with a neighbour or two more than a
// last-level cache holds.
func copyForever() {
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
	}
}
