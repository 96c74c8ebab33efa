package testkit

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// LeftoverExit is the exit code of a test binary whose tests passed but left
// something behind.
const LeftoverExit = 99

// settle is how long cleanup may take after the last test has returned: goroutines close files, and killed
// processes become reapable.
const settle = 30 * time.Second

// Run runs the tests of m and then looks for what they left behind: open file
// descriptors, child processes (zombies too), namespaces that a thread is in,
// cgroups named judged-<pid>-… and mounts with "judged" in source or target.
// When there is any it prints the list and returns LeftoverExit, unless the
// tests failed anyway. Use it as
//
//	func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
//
// With -short, at least four parallel tests run at once, because they wait more than they compute, and their folders
// are in memory if the machine has a place for them.
func Run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		_ = flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))) // the flag exists
		defer keepInMemory()()
	}
	return run(m, settle)
}

// keepInMemory puts temporary files into memory, where tests that write many files or databases take half the CPU time,
// and a fraction of the time. It changes nothing if TMPDIR is set, or if /dev/shm has not enough space or executes
// nothing, as in containers. The function that it returns removes the files.
func keepInMemory() (remove func()) {
	const shared, enough, noExec = "/dev/shm", 1 << 30, 8
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shared, &s) != nil || s.Flags&noExec != 0 ||
		int64(s.Bavail)*s.Bsize < enough {
		return func() {}
	}
	dir, err := os.MkdirTemp(shared, "judged-test-")
	if err != nil {
		return func() {}
	}
	_ = os.Setenv("TMPDIR", dir) // the name is valid
	return func() { _ = os.RemoveAll(dir) }
}

func run(m *testing.M, settle time.Duration) int {
	openPoller()
	before, err := readInventory(Users{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return LeftoverExit
	}
	compiled.begin()
	code := m.Run()
	compiled.remove()

	left, err := leftover(before, Users{}, settle)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return LeftoverExit
	}
	if len(left) == 0 {
		return code
	}
	fmt.Fprintf(os.Stderr, "testkit: the tests left behind:\n\t%s\n", strings.Join(left, "\n\t"))
	if code != 0 {
		return code
	}
	return LeftoverExit
}

// Baseline records the resources of this process and its children. The returned function lists resources added
// since then, and the control groups of the given processes. It waits for those that are being removed.
func Baseline() (leftovers func(pids ...int) ([]string, error), err error) {
	openPoller()
	before, err := readInventory(Users{})
	return func(pids ...int) ([]string, error) { return leftover(before, Users{}, settle, pids...) }, err
}

// openPoller makes the runtime open its epoll and event descriptors, which are never closed, before descriptors
// are counted.
func openPoller() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	r.Close()
	w.Close()
}

// inventory maps the key of a resource to its description.
type inventory map[string]string

func readInventory(u Users, pids ...int) (inventory, error) {
	inv := inventory{}
	children, err := inv.addChildren()
	if err != nil {
		return nil, err
	}
	self := family{proc: "/proc/self"}
	var errs []error
	for _, of := range append(children, self) {
		errs = append(errs, inv.addFiles(of), inv.addNamespaces(of))
	}
	for _, child := range children {
		inv.addMountsOf(child)
		errs = append(errs, inv.addSockets(child))
	}
	errs = append(errs, inv.addCgroups(append(pids, os.Getpid())), inv.addMounts(), inv.addUsers(u))
	return inv, errors.Join(errs...)
}

// leftover returns resources that did not exist before and are not removed within settle.
func leftover(before inventory, u Users, settle time.Duration, pids ...int) ([]string, error) {
	end := time.Now().Add(settle)
	for {
		now, err := readInventory(u, pids...)
		if err != nil {
			return nil, err
		}
		var left []string
		for key, what := range now {
			if _, ok := before[key]; !ok {
				left = append(left, what)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			slices.Sort(left)
			return left, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
