package initproc

// Amount of work of the CPU kernels: a twentieth of a second each on a core of 3 GHz.
const (
	aluSteps      = 50_000_000
	aluShortSteps = aluSteps / 15
	sortRounds    = 280
	sortValues    = 2048 // 8 KiB: a quarter of the smallest first level cache
)

// seed of the pseudo-random sequences: the seed of Marsaglia 2003, Xorshift RNGs.
const seed = 88172645463325252

// xorshift returns the next number of the sequence (13, 7, 17).
func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

// alu executes a chain of dependent shifts and exclusive ors. Its time depends only on the core's frequency and
// a sibling on the same core.
func alu(steps int) uint64 {
	x := uint64(seed)
	for range steps {
		x = xorshift(x)
	}
	return x
}

// Results of alu.
const (
	aluResult      = 0x5581853a73d247a9
	aluShortResult = 0xd1f0e3bde0a19efa
)

func aluKernel(steps int, result uint64) kernel {
	var x uint64
	return kernel{
		work: func() { x = alu(steps) },
		ok:   func() bool { return x == result },
	}
}

// sortKernel sorts new values in each round. It does not use the standard library's algorithm, which may change with
// the next version of Go.
func sortKernel() kernel {
	var values [sortValues]uint32
	var sum, sorted uint64 // checksums of the values, before and after sorting
	return kernel{
		work: func() {
			x := uint64(seed)
			for range sortRounds {
				for i := range values {
					x = xorshift(x)
					values[i] = uint32(x)
					sum += x & 0xffffffff
				}
				quicksort(values[:])
				for _, v := range values {
					sorted += uint64(v)
				}
			}
		},
		ok: func() bool { return sum != 0 && sum == sorted && ascending(values[:]) },
	}
}

func ascending(v []uint32) bool {
	for i := 1; i < len(v); i++ {
		if v[i] < v[i-1] {
			return false
		}
	}
	return true
}

// quicksort is Hoare's algorithm (1961), with the middle value as the pivot and insertion sort for short
// slices.
func quicksort(v []uint32) {
	for len(v) > 12 {
		pivot := v[len(v)/2]
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		quicksort(v[:j+1])
		v = v[i:]
	}
	for i := 1; i < len(v); i++ {
		for j := i; j > 0 && v[j] < v[j-1]; j-- {
			v[j], v[j-1] = v[j-1], v[j]
		}
	}
}
