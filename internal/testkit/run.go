package testkit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// LeftoverExit is the exit code of a test binary whose tests passed but left
// something behind.
const LeftoverExit = 99

// settle is how long what is being torn down when the last test returns may
// still take: goroutines closing files, a killed process becoming reapable.
const settle = 3 * time.Second

// Run runs the tests of m and then looks for what they left behind: open file
// descriptors, child processes (zombies too), cgroups named judged-<pid>-… and
// mounts with "judged" in source or target. When there is any it prints the
// list and returns LeftoverExit, unless the tests failed anyway. Use it as
//
//	func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
func Run(m *testing.M) int {
	openPoller()
	before, err := takeInventory()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return LeftoverExit
	}
	compiled.begin()
	code := m.Run()
	compiled.end()

	left, err := leftover(before)
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

// openPoller makes the runtime open its epoll and event descriptors, which
// stay open for good, before they are counted.
func openPoller() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	r.Close()
	w.Close()
}

// inventory maps a key that identifies a thing to its description for people.
type inventory map[string]string

func takeInventory() (inventory, error) {
	inv := inventory{}
	for _, add := range []func() error{inv.addFiles, inv.addChildren, inv.addCgroups, inv.addMounts} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// leftover returns what exists now, did not exist before, and does not go
// away within settle.
func leftover(before inventory) ([]string, error) {
	end := time.Now().Add(settle)
	for {
		now, err := takeInventory()
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
