package guestlab

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/linux"
	"judged/internal/host/tune"
	"judged/internal/testkit"
)

// noSwaps is the content of /proc/swaps without an area.
const noSwaps = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"

// The swap areas of the guest are its disks, in the order in which they are enabled.
var areas = []struct {
	path     string
	priority int
}{{"/dev/nvme0n1", -1}, {"/dev/nvme0n2", 5}}

// swapOn enables swap on the disks of the guest until the test ends.
func swapOn(t *testing.T) {
	t.Helper()
	for _, a := range areas {
		testkit.WaitFor(t, patience, a.path, func() bool { _, err := os.Stat(a.path); return err == nil })
		makeSwap(t, a.path)
		switchSwap(t, a.path, func(f *os.File) error { return linux.SwapOn(f, a.priority) })
		t.Cleanup(func() { switchSwap(t, a.path, linux.SwapOff) })
	}
}

func switchSwap(t *testing.T, path string, do func(*os.File) error) {
	t.Helper()
	f, err := linux.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(f), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// makeSwap writes the header of mkswap(8): union swap_header of include/linux/swap.h, in the first page.
func makeSwap(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, os.Getpagesize())
	binary.NativeEndian.PutUint32(page[1024:], 1)
	binary.NativeEndian.PutUint32(page[1028:], uint32(size/int64(len(page))-1))
	copy(page[len(page)-10:], "SWAPSPACE2")
	_, err = f.WriteAt(page, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// tuneSwap checks that areas accessible only to root are disabled and enabled again, and that other areas, and
// those that somebody has enabled since with another priority, are not changed.
func tuneSwap(t *testing.T, before map[string]string) {
	first, second := areas[0], areas[1]
	done(t, "apply", "--cpus", "3", "--only", "swap")
	if got := strings.TrimSpace(content("/proc/swaps")); got != noSwaps {
		t.Errorf("on after apply:\n%s", got)
	}
	done(t, "status")
	if err := os.Chmod(first.path, 0o606); err != nil {
		t.Fatal(err)
	}
	code, r := tuned(t, "restore")
	want := []tune.Value{{Path: first.path, State: tune.Failed, From: "off", To: "on",
		Reason: "other users may access it (mode 0606); run chmod 0600 first"},
		{Path: second.path, State: tune.Restored, From: "off", To: "on, priority 5"}}
	if diff := cmp.Diff(want, setting(r, "swap").Values); diff != "" || code != 1 {
		t.Errorf("restore of what is everybody's: exit code %d (-want +got):\n%s", code, diff)
	}
	if err := os.Chmod(first.path, 0o600); err != nil {
		t.Fatal(err)
	}
	done(t, "restore")
	// This time they are enabled in a different order.
	switchSwap(t, second.path, linux.SwapOff)
	switchSwap(t, first.path, linux.SwapOff)
	for _, a := range areas {
		switchSwap(t, a.path, func(f *os.File) error { return linux.SwapOn(f, a.priority) })
	}
	done(t, "apply", "--cpus", "3", "--only", "swap")
	switchSwap(t, second.path, func(f *os.File) error { return linux.SwapOn(f, 7) })
	if code, r := tuned(t, "restore"); code != 1 || setting(r, "swap").Values[1].State != tune.Left {
		t.Errorf("restore of what somebody switched on: exit code %d, %+v", code, r)
	}
	for _, a := range areas {
		switchSwap(t, a.path, linux.SwapOff)
	}
	for _, a := range areas {
		switchSwap(t, a.path, func(f *os.File) error { return linux.SwapOn(f, a.priority) })
	}
	compareSnapshots(t, "after swap", before, knobs)
}
