package initproc

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"judged/internal/base/linux"
)

// CanaryName is the last element of argv[0] that makes judged-init run a reference kernel, a probe or a load, and
// exit. Its arguments are the kernel and, if it has one, the size in bytes; for a probe, the milliseconds.
const CanaryName = "judged-canary"

func isCanary() bool {
	return (len(os.Args) == 2 || len(os.Args) == 3) && strings.HasSuffix(os.Args[0], "/"+CanaryName)
}

// KernelTime is the report of a kernel about its work.
type KernelTime struct {
	CPUTime  time.Duration // CLOCK_THREAD_CPUTIME_ID of the thread that did it
	WallTime time.Duration // CLOCK_MONOTONIC
}

// Exit codes of a kernel without a result.
const (
	ExitWrong    = 1 // wrong result
	ExitUnusable = 2 // could not start
)

// runKernel runs one kernel, writes its times and returns the exit code.
func runKernel(args []string) int {
	bytes := 0
	if len(args) > 1 {
		var err error
		if bytes, err = strconv.Atoi(args[1]); err != nil {
			return ExitUnusable
		}
	}
	switch args[0] {
	case KernelGap:
		return watchGaps(bytes)
	case KernelLimits:
		return showLimits(bytes)
	}
	k, err := prepare(args[0], bytes)
	if err == errUnknownKernel {
		return runLoad(args[0])
	}
	if err != nil {
		return ExitUnusable
	}
	t := measure(k)
	if !k.ok() {
		return ExitWrong
	}
	if _, err := os.Stdout.WriteString(t.line()); err != nil {
		return ExitUnusable
	}
	return 0
}

// measure times the work of k. It runs the garbage collector first, and the thread's clock excludes what the runtime
// does on other threads.
func measure(k kernel) KernelTime {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	cpu, wall := linux.ThreadCPUTime(), time.Now()
	k.work()
	return KernelTime{linux.ThreadCPUTime() - cpu, time.Since(wall)}
}

func (t KernelTime) line() string {
	return strconv.FormatInt(int64(t.CPUTime), 10) + " " + strconv.FormatInt(int64(t.WallTime), 10) + "\n"
}

// ParseKernelTime parses the output of a kernel.
func ParseKernelTime(line string) (KernelTime, error) {
	cpu, wall, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	c, err1 := strconv.ParseInt(cpu, 10, 64)
	w, err2 := strconv.ParseInt(wall, 10, 64)
	if !ok || err1 != nil || err2 != nil || c <= 0 || w <= 0 {
		return KernelTime{}, errors.New("parse kernel time " + strconv.Quote(line) + ": want two positive numbers")
	}
	return KernelTime{time.Duration(c), time.Duration(w)}, nil
}
