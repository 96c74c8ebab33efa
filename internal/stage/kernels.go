package stage

import (
	"os"
	"strings"
)

// CanaryName is what the canary is called: judged-init started under it runs a
// reference kernel and ends.
const CanaryName = "judged-canary"

func isCanary() bool {
	return len(os.Args) == 2 && strings.HasSuffix(os.Args[0], "/"+CanaryName)
}

// Kernels are the reference kernels, by what they lean on.
func Kernels() []string { return []string{"alu", "chase"} }

// runKernel runs one kernel. What it computes becomes the exit status only if
// it is impossible, so that the compiler cannot leave the work out.
func runKernel(name string) int {
	switch name {
	case "alu":
		if alu() == 0 {
			return 1
		}
	case "chase":
		if chase() < 0 {
			return 1
		}
	default:
		return 2
	}
	return 0
}

// alu is a chain of dependent shifts and exclusive ors: nothing but the core's
// frequency moves its time.
func alu() uint64 {
	x := uint64(88172645463325252)
	for range 8_000_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// chase follows a random cycle through 4 MiB: more than a core's own caches
// hold, so that neighbours in the last level show.
func chase() int {
	const entries = 4 << 20 / 4
	next := make([]uint32, entries)
	for i := range next {
		next[i] = uint32(i)
	}
	// Sattolo's shuffle makes one cycle of all entries.
	x := uint64(88172645463325252)
	for i := entries - 1; i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		j := int(x % uint64(i))
		next[i], next[j] = next[j], next[i]
	}
	at := uint32(0)
	for range 500_000 {
		at = next[at]
	}
	return int(at)
}
