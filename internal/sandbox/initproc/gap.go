package initproc

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/linux"
)

// KernelGap reads the clock in a loop for the number of milliseconds in its argument, and reports for how long
// it could not run because of interrupts, other tasks and a hypervisor. It runs on one CPU only.
const KernelGap = "gap"

// GapBounds returns the lower bounds of the histogram buckets for gaps.
func GapBounds() []time.Duration {
	return []time.Duration{500 * time.Nanosecond, 2 * time.Microsecond, 10 * time.Microsecond, 50 * time.Microsecond,
		200 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}
}

// Gaps is the result of KernelGap.
type Gaps struct {
	Elapsed time.Duration
	Lost    time.Duration // sum over all gaps of the time beyond a normal step
	Longest time.Duration
	Floor   time.Duration // the shortest gap that can be distinguished from a normal step
	Waited  time.Duration // runnable while others had the CPU; also 0 if the kernel does not report it
	Counts  []uint64      // one for each of GapBounds
}

// Ratio returns the fraction of the time that was lost.
func (g Gaps) Ratio() float64 { return float64(g.Lost) / float64(g.Elapsed) }

// watchGaps excludes Go's runtime, whose threads would appear as gaps, from the measurement.
func watchGaps(milliseconds int) int {
	return spinAlone(milliseconds, Gaps.append)
}

// spinAlone spins in a child process, which writes the result as formatted by format.
func spinAlone(milliseconds int, format func(Gaps, []byte, gapCounts) []byte) int {
	if milliseconds < 1 {
		return 2
	}
	runtime.LockOSThread()
	spin(time.Millisecond) // grows the stack and maps the clock's page before the fork
	runtime.GC()
	debug.SetGCPercent(-1)
	runtime.Gosched()
	line := make([]byte, 0, 512)
	err := linux.Alone(func() {
		sleep(settle)
		before := waited()
		g, counts := spin(time.Duration(milliseconds) * time.Millisecond)
		g.Waited = waited() - before
		syscall.Write(1, format(g, line, counts))
	})
	if err != nil {
		return 2
	}
	return 0
}

// settle is how long the parent's threads need until they sleep: the runtime's sysmon wakes every 10 ms until
// there is nothing to monitor.
const settle = 30 * time.Millisecond

func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&ts, nil)
}

// waited returns field 2 of the calling process's /proc/PID/schedstat, or 0 if it cannot be read.
func waited() time.Duration {
	fd, err := syscall.Open("/proc/self/schedstat", syscall.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	var buf [80]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil {
		return 0
	}
	field, value := 0, time.Duration(0)
	for _, c := range buf[:n] {
		switch {
		case c == ' ':
			field++
		case field == 1 && c >= '0' && c <= '9':
			value = 10*value + time.Duration(c-'0')
		}
	}
	return value
}

type gapCounts [8]uint64

// spin counts a step of the clock as a gap if it is at least three times the usual step and at least half a
// microsecond. Where reading the clock is a system call, steps are long.
func spin(length time.Duration) (g Gaps, counts gapCounts) {
	var first [255]time.Duration
	start := time.Now()
	last := time.Since(start)
	for i := range first {
		now := time.Since(start)
		first[i], last = now-last, now
	}
	step := median(&first)
	g.Floor = max(500*time.Nanosecond, 3*step)
	bounds := [8]time.Duration{500, 2_000, 10_000, 50_000, 200_000, 1_000_000, 10_000_000, 100_000_000}
	begin := last
	for last-begin < length {
		now := time.Since(start)
		gap := now - last
		last = now
		if gap < g.Floor {
			continue
		}
		g.Lost += gap - step
		g.Longest = max(g.Longest, gap)
		class := len(bounds) - 1
		for class > 0 && gap < bounds[class] {
			class--
		}
		counts[class]++
	}
	g.Elapsed = last - begin
	return g, counts
}

// median sorts steps and returns their median. It uses insertion sort, which allocates nothing.
func median(steps *[255]time.Duration) time.Duration {
	for i := 1; i < len(steps); i++ {
		for j := i; j > 0 && steps[j] < steps[j-1]; j-- {
			steps[j], steps[j-1] = steps[j-1], steps[j]
		}
	}
	return steps[len(steps)/2]
}

func (g Gaps) append(line []byte, counts gapCounts) []byte {
	for _, d := range [...]time.Duration{g.Elapsed, g.Lost, g.Longest, g.Floor, g.Waited} {
		line = append(strconv.AppendInt(line, int64(d), 10), ' ')
	}
	for _, n := range counts {
		line = append(strconv.AppendUint(line, n, 10), ' ')
	}
	line[len(line)-1] = '\n'
	return line
}

// ParseGaps parses the output of KernelGap.
func ParseGaps(line string) (Gaps, error) {
	var numbers []uint64
	for word := range strings.FieldsSeq(line) {
		n, err := strconv.ParseUint(word, 10, 62)
		if err != nil {
			return Gaps{}, fmt.Errorf("parse gaps %q: %w", line, err)
		}
		numbers = append(numbers, n)
	}
	const times = 5
	if len(numbers) != times+len(GapBounds()) || numbers[0] == 0 || numbers[1] > numbers[0] {
		return Gaps{}, fmt.Errorf("parse gaps %q: want %d numbers, of which the first is not 0 and at least the second",
			line, times+len(GapBounds()))
	}
	d := func(i int) time.Duration { return time.Duration(numbers[i]) }
	return Gaps{Elapsed: d(0), Lost: d(1), Longest: d(2), Floor: d(3), Waited: d(4), Counts: numbers[times:]}, nil
}

// KernelLimits writes the limits that the kernel reports for its sandbox, and then spins for the number of
// milliseconds in its argument.
const KernelLimits = "limits"

func showLimits(milliseconds int) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 2
	}
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return 2
	}
	var b strings.Builder
	for line := range strings.Lines(string(status)) {
		name, _, _ := strings.Cut(line, ":")
		switch name {
		case "Cpus_allowed_list", "Mems_allowed_list", "Seccomp", "NoNewPrivs", "Speculation_Store_Bypass":
			b.WriteString(line)
		}
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max cpu time"); ok {
			if f := strings.Fields(rest); len(f) > 1 {
				fmt.Fprintf(&b, "Max_cpu_time:\t%s %s\n", f[0], f[1])
			}
		}
	}
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		return 2
	}
	return spinAlone(milliseconds, func(g Gaps, line []byte, _ gapCounts) []byte {
		line = append(line, "Waited_ns:\t"...)
		return append(strconv.AppendInt(line, int64(g.Waited), 10), '\n')
	})
}
