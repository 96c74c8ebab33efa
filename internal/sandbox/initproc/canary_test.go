package initproc

import (
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sizes are small, because a kernel does the same work for any size.
var sizes = map[string]int{KernelL2: 64 << 10, KernelL3: 1 << 20, KernelL3Short: 1 << 20, KernelDRAM: 4 << 20,
	KernelTriad: 1 << 20}

// TestKernels runs every kernel as the canary does: the result is right, and the thread took time.
func TestKernels(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // for ping-pong, on any machine
	for _, name := range slices.Concat(Kernels(), ShortKernels(), []string{KernelPingPong}) {
		t.Run(name, func(t *testing.T) {
			k, err := prepare(name, sizes[name])
			if err != nil {
				t.Fatal(err)
			}
			if name != KernelPingPong && k.ok() { // ok of ping-pong waits until work is done
				t.Error("ok before work")
			}
			got := measure(k)
			if !k.ok() {
				t.Error("wrong result")
			}
			if got.CPUTime <= 0 || got.WallTime <= 0 || got.CPUTime > got.WallTime+time.Millisecond {
				t.Errorf("times %+v", got)
			}
			back, err := ParseKernelTime(got.line())
			if diff := cmp.Diff(got, back); diff != "" || err != nil {
				t.Errorf("line %q: error %v (-want +got):\n%s", got.line(), err, diff)
			}
		})
	}
}

// matrix is a linear map of 64 bits: column i is the image of bit i.
type matrix [64]uint64

func (m matrix) of(x uint64) (y uint64) {
	for i, column := range m {
		if x>>i&1 == 1 {
			y ^= column
		}
	}
	return y
}

func (m matrix) times(n matrix) (p matrix) {
	for i := range p {
		p[i] = m.of(n[i])
	}
	return p
}

// TestALUResult computes the result in another way: a step is a matrix over GF(2), and all steps are its power, by
// squaring.
func TestALUResult(t *testing.T) {
	for steps, result := range map[int]uint64{aluSteps: aluResult, aluShortSteps: aluShortResult} {
		var step, power matrix
		for i := range step {
			step[i] = xorshift(1 << i)
			power[i] = 1 << i
		}
		for n := steps; n > 0; n >>= 1 {
			if n&1 == 1 {
				power = power.times(step)
			}
			step = step.times(step)
		}
		if got := power.of(seed); got != result {
			t.Errorf("alu after %d steps: matrix power gives %#x, want %#x", steps, got, result)
		}
	}
}

func TestQuicksort(t *testing.T) {
	x := uint64(seed)
	for n := range 200 {
		for _, values := range []uint64{1, 3, 1 << 32} {
			v := make([]uint32, n)
			for i := range v {
				x = xorshift(x)
				v[i] = uint32(x % values)
			}
			want := slices.Sorted(slices.Values(v))
			quicksort(v)
			if !slices.Equal(v, want) {
				t.Fatalf("got %v, want %v", v, want)
			}
		}
	}
	if ascending([]uint32{1, 3, 2}) || !ascending([]uint32{1, 1, 2}) {
		t.Error("ascending({1, 3, 2}) or !ascending({1, 1, 2})")
	}
}

// TestChase follows the cycle: it visits each line once before it returns to the first. The number of steps
// determines where a chase ends.
func TestChase(t *testing.T) {
	const lines = 1000
	next, start, order, err := cycle(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapWords(next)
	defer unmapWords(order)
	visited := map[uint32]bool{}
	for at := start; !visited[at]; at = next[at*lineWords] {
		visited[at] = true
	}
	if len(visited) != lines {
		t.Errorf("the cycle has %d of %d lines", len(visited), lines)
	}
	if got := chase(next, start, lines); got != start {
		t.Errorf("a chase through all lines ends at %d, want %d", got, start)
	}
	at := start
	for range 12345 {
		at = next[at*lineWords]
	}
	if got := chase(next, start, 12345); got != at || got != order[12345%lines] {
		t.Errorf("chase ends at %d, want %d by single steps and %d by order", got, at, order[12345%lines])
	}
}

// TestPageFaults compares with the kernel's own count.
func TestPageFaults(t *testing.T) {
	k := pageFaultKernel()
	faults := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Minflt
	}
	before := faults()
	k.work()
	pages := int64(faultRounds * faultBytes / syscall.Getpagesize())
	if got := faults() - before; got < pages || got > pages+pages/10 {
		t.Errorf("%d faults, want %d and at most a tenth more", got, pages)
	}
}

func TestUnusableKernels(t *testing.T) {
	for _, args := range [][]string{{KernelL2}, {KernelL2, "64"}, {KernelL3, "-1"}, {KernelTriad, "0"},
		{KernelDRAM, "many"}, {"nonsense"}} {
		if got := runKernel(args); got != 2 {
			t.Errorf("%q: exit %d, want 2", args, got)
		}
	}
}

func TestPingPongNeedsTwo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if _, err := prepare(KernelPingPong, 0); err == nil {
		t.Error("ping-pong starts on one CPU")
	}
}

func TestParseKernelTime(t *testing.T) {
	for line, want := range map[string]KernelTime{
		"12 34\n": {12, 34},
		"":        {}, "12": {}, "12 34 56\n": {}, "0 5\n": {}, "5 0\n": {}, "-1 5\n": {}, "a b\n": {},
	} {
		got, err := ParseKernelTime(line)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != KernelTime{}) {
			t.Errorf("%s: error %v (-want +got):\n%s", strconv.Quote(line), err, diff)
		}
	}
}
