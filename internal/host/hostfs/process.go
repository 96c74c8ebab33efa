package hostfs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stat holds fields of /proc/PID/stat for one thread.
type Stat struct {
	PID, PPID int
	Name      string
	State     string
	Flags     uint64
	Threads   int
	Start     string // in clock ticks since boot; distinguishes threads that reuse an id
	CPU       int    // the CPU on which it last ran
	RealTime  bool   // scheduled with SCHED_FIFO or SCHED_RR
}

// Flag bits (include/linux/sched.h), stable since Linux 3.x.
const (
	flagKernel = 0x00200000 // PF_KTHREAD
	flagFixed  = 0x04000000 // PF_NO_SETAFFINITY
)

// Kernel reports whether the thread is a kernel thread.
func (s Stat) Kernel() bool { return s.Flags&flagKernel != 0 }

// Fixed reports whether the kernel refuses to change the thread's affinity.
func (s Stat) Fixed() bool { return s.Flags&flagFixed != 0 }

// Indexes of fields in /proc/PID/stat after the name. The first is the state, field 3 in proc(5).
const (
	statState   = 0
	statParent  = 1
	statFlags   = 6
	statThreads = 17
	statStart   = 19
	statCPU     = 36
	statPolicy  = 38
)

// ParseStat parses /proc/PID/stat. The name is in parentheses and can itself contain spaces and parentheses, so
// it ends at the last parenthesis.
func ParseStat(text string) (Stat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, errors.New("parse stat: no name in parentheses")
	}
	f := strings.Fields(text[end+1:])
	if len(f) <= statStart {
		return Stat{}, fmt.Errorf("parse stat: %d fields after the name, want at least %d", len(f), statStart+1)
	}
	s := Stat{Name: text[open+1 : end], State: f[statState], Start: f[statStart]}
	var policy uint64
	for _, n := range []struct {
		text string
		set  func(uint64)
	}{
		{strings.TrimSpace(text[:open]), func(n uint64) { s.PID = int(n) }},
		{f[statParent], func(n uint64) { s.PPID = int(n) }},
		{f[statFlags], func(n uint64) { s.Flags = n }},
		{f[statThreads], func(n uint64) { s.Threads = int(n) }},
		{field(f, statCPU), func(n uint64) { s.CPU = int(n) }},
		{field(f, statPolicy), func(n uint64) { policy = n }},
	} {
		number, err := strconv.ParseUint(n.text, 10, 63)
		if err != nil {
			return Stat{}, fmt.Errorf("parse stat: invalid number %q", n.text)
		}
		n.set(number)
	}
	s.RealTime = policy == 1 || policy == 2 // SCHED_FIFO, SCHED_RR
	return s, nil
}

// field returns "0" if the line has too few fields, as in captures or on old kernels.
func field(f []string, i int) string {
	if i < len(f) {
		return f[i]
	}
	return "0"
}

// RedactStat zeroes the fields of /proc/PID/stat that are not needed to examine a host. Some of them are
// addresses in the program.
func RedactStat(text string) string {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return text
	}
	f := strings.Fields(text[end+1:])
	for i := range f {
		if !slices.Contains([]int{statState, statParent, statFlags, statThreads, statCPU, statPolicy}, i) {
			f[i] = "0"
		}
	}
	return text[:end+1] + " " + strings.Join(f, " ") + "\n"
}

// StatusField returns the value of a line in /proc/PID/status, or "".
func StatusField(status, key string) string {
	_, after, _ := strings.Cut("\n"+status, "\n"+key+":")
	value, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(value)
}

// ProcessLimit returns the values of a line in /proc/PID/limits, where names are padded with blanks.
func ProcessLimit(limits, name string) (soft, hard string, ok bool) {
	for line := range strings.Lines(limits) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			if f := strings.Fields(rest); len(f) >= 2 {
				return f[0], f[1], true
			}
		}
	}
	return "", "", false
}

// ProcessVariable returns one variable of /proc/PID/environ. The others may be secrets.
func ProcessVariable(environ, name string) string {
	for e := range strings.SplitSeq(environ, "\x00") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(e), name+"="); ok {
			return value
		}
	}
	return ""
}
