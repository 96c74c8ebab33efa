package testkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// CPUTicks returns the user and system time of a process, and of its children that have exited, in 1/100 s.
// Both are 0 if the process has exited.
func CPUTicks(t testing.TB, pid int) (own, children int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	stat := string(text)
	// utime, stime, cutime and cstime; the first field after the name is the state.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[11:15]
	return atoi(t, fields[0]) + atoi(t, fields[1]), atoi(t, fields[2]) + atoi(t, fields[3])
}

// Children returns the children of a single-threaded process.
func Children(t testing.TB, pid int) (all []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		all = append(all, atoi(t, field))
	}
	return all
}

func atoi(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
