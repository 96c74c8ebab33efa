package initproc

import (
	"errors"
	"unsafe"

	"judged/internal/base/linux"
)

// Number of steps of the chases, and of passes of the triad over its arrays: a twentieth to a fifth of a second each.
const (
	l2Steps     = 12_000_000
	l3Steps     = 1_000_000
	dramSteps   = 600_000
	triadRounds = 6
)

// lineWords is a cache line of 64 bytes, in words. Each line holds one step.
const lineWords = 64 / 4

// warmUpTo is the largest size for which a chase visits all lines once before it is measured. Data that does
// not fit in a cache cannot be warmed.
const warmUpTo = 16 << 20

// chaseKernel follows a random cycle through all lines of a buffer. Each step depends on the previous one, so
// the time is the latency of the memory level that holds the buffer.
func chaseKernel(bytes, steps int) (kernel, error) {
	lines := bytes / 64
	if lines < 2 {
		return kernel{}, errors.New("chase: too few bytes")
	}
	next, start, order, err := cycle(lines)
	if err != nil {
		return kernel{}, err
	}
	end := order[steps%lines]
	if err := unmapWords(order); err != nil {
		return kernel{}, err
	}
	if bytes <= warmUpTo {
		chase(next, start, lines)
	}
	at := uint32(0)
	return kernel{
		work: func() { at = chase(next, start, steps) },
		ok:   func() bool { return at == end },
	}, nil
}

// cycle links the lines in random order: next[line*lineWords] is the line that follows line.
func cycle(lines int) (next []uint32, start uint32, order []uint32, err error) {
	if order, err = mapWords(lines); err != nil {
		return nil, 0, nil, err
	}
	if next, err = mapWords(lines * lineWords); err != nil {
		return nil, 0, nil, err
	}
	shuffle(order)
	for i, line := range order {
		next[int(line)*lineWords] = order[(i+1)%lines]
	}
	return next, order[0], order, nil
}

// shuffle fills order with all numbers below its length in random order (Fisher and Yates; Knuth, The Art of Computer
// Programming, algorithm 3.4.2P).
func shuffle(order []uint32) {
	for i := range order {
		order[i] = uint32(i)
	}
	x := uint64(seed)
	for i := len(order) - 1; i > 0; i-- {
		x = xorshift(x)
		j := x % uint64(i+1)
		order[i], order[j] = order[j], order[i]
	}
}

func chase(next []uint32, at uint32, steps int) uint32 {
	for range steps {
		at = next[int(at)*lineWords]
	}
	return at
}

// triadKernel adds three times one array to another; each has half of the bytes. It is McCalpin's triad (1995,
// STREAM) with two arrays, because a third would only be written. The values are small integers, so the result
// is the same with and without fused multiply-add.
func triadKernel(bytes int) (kernel, error) {
	words, err := mapWords(bytes / 4 &^ 3)
	if err != nil {
		return kernel{}, err
	}
	all := unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/2)
	a, b := all[:len(all)/2], all[len(all)/2:]
	for i := range a {
		a[i], b[i] = float64(i%1000), float64(i%7)
	}
	return kernel{
		work: func() {
			for range triadRounds {
				for i := range a {
					a[i] += 3 * b[i]
				}
			}
		},
		ok: func() bool {
			for i := range a {
				if a[i] != float64(i%1000+triadRounds*3*(i%7)) {
					return false
				}
			}
			return true
		},
	}, nil
}

func mapWords(n int) ([]uint32, error) {
	if n < 1 {
		return nil, errors.New("map memory: too few bytes")
	}
	b, err := linux.Map(4 * n)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

func unmapWords(w []uint32) error {
	return linux.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w)))
}
