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

// sizes are small: what a kernel does it does on any.
var sizes = map[string]int{KernelL2: 64 << 10, KernelL3: 1 << 20, KernelL3Short: 1 << 20, KernelDRAM: 4 << 20, KernelTriad: 1 << 20}

// TestKernels runs every one as the canary does: it comes to what it must and
// took time, which the thread spent.
func TestKernels(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // for ping-pong, on whatever machine
	for _, name := range slices.Concat(Kernels(), ShortKernels(), []string{KernelPingPong}) {
		t.Run(name, func(t *testing.T) {
			k, err := prepare(name, sizes[name])
			if err != nil {
				t.Fatal(err)
			}
			if name != KernelPingPong && k.ok() { // that one waits until it is done
				t.Error("it is right before it has done anything")
			}
			got := measure(k)
			if !k.ok() {
				t.Error("it came to something else than it must")
			}
			if got.CPUTime <= 0 || got.WallTime <= 0 || got.CPUTime > got.WallTime+time.Millisecond {
				t.Errorf("times %+v", got)
			}
			back, err := ParseKernelTime(got.line())
			if diff := cmp.Diff(got, back); diff != "" || err != nil {
				t.Errorf("line %q: error %v (-told +read):\n%s", got.line(), err, diff)
			}
		})
	}
}

// matrix is a linear map of 64 bits: column i is where bit i goes.
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

// TestALUResult computes it another way: a step is a matrix over GF(2), all steps
// are its power, by squaring.
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
			t.Errorf("after %d steps %#x, the matrix says %#x", steps, result, got)
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
		t.Error("ascending does not see what is")
	}
}

// TestChase walks the cycle and marks: each line is met once, and only then the
// first again. Where a chase ends follows from how far it went.
func TestChase(t *testing.T) {
	const lines = 1000
	next, start, order, err := cycle(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapWords(next)
	defer unmapWords(order)
	met := map[uint32]bool{}
	for at := start; !met[at]; at = next[at*lineWords] {
		met[at] = true
	}
	if len(met) != lines {
		t.Errorf("the cycle has %d of %d lines", len(met), lines)
	}
	if got := chase(next, start, lines); got != start {
		t.Errorf("once round ends at %d, not at %d", got, start)
	}
	at := start
	for range 12345 {
		at = next[at*lineWords]
	}
	if got := chase(next, start, 12345); got != at || got != order[12345%lines] {
		t.Errorf("chase ends at %d, by hand %d, by order %d", got, at, order[12345%lines])
	}
}

// TestPageFaults counts them where the kernel does.
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
		t.Errorf("%d faults, want %d and a few", got, pages)
	}
}

func TestKernelsThatCannotBegin(t *testing.T) {
	for _, args := range [][]string{{KernelL2}, {KernelL2, "64"}, {KernelL3, "-1"}, {KernelTriad, "0"}, {KernelDRAM, "many"}, {"nonsense"}} {
		if got := runKernel(args); got != 2 {
			t.Errorf("%q: exit %d, want 2", args, got)
		}
	}
}

func TestPingPongNeedsTwo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if _, err := prepare(KernelPingPong, 0); err == nil {
		t.Error("ping-pong begins on one CPU")
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
