package seccomp

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the lists of system calls in testdata; review the diff")

// TestEverySystemCall compares the action for each number on each architecture with a reviewed list. A call
// that moves to another rule, or that a new table adds, appears as a changed line.
func TestEverySystemCall(t *testing.T) {
	for _, arch := range bothArchs {
		t.Run(arch.String(), func(t *testing.T) {
			f, err := Build(arch, Default())
			if err != nil {
				t.Fatal(err)
			}
			got := list(t, arch, f)
			path := "testdata/" + arch.String() + ".txt"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s\nrun go test with -update and review the diff", path, diff)
			}
		})
	}
}

// listed is one system call, or a range of numbers without a name.
type listed struct {
	first, last   uint32
	name, actions string
}

// list lists the filter's actions for the numbers from 0 to 600, and for some that only an attacker would use.
func list(t *testing.T, arch Arch, f Filter) string {
	t.Helper()
	names := map[uint32]string{}
	for name, nr := range arch.numbers() {
		names[nr] = name
	}
	var all []listed
	for _, nr := range slices.Concat(upTo(600),
		[]uint32{1023, 65535, x32Bit - 1, x32Bit, x32Bit | 59, 0x7fffffff, 0x80000000, 0xffffffff}) {
		l := listed{nr, nr, names[nr], actions(t, arch, f, nr)}
		if n := len(all); n > 0 && l.name == "" && all[n-1].name == "" && all[n-1].actions == l.actions &&
			all[n-1].last+1 == nr {
			all[n-1].last = nr
			continue
		}
		all = append(all, l)
	}
	var b strings.Builder
	for _, l := range all {
		number := fmt.Sprint(l.first)
		if l.last != l.first {
			number = fmt.Sprintf("%d-%d", l.first, l.last)
		}
		fmt.Fprintf(&b, "%-10s %-24s %s\n", number, cmp.Or(l.name, "-"), l.actions)
	}
	for _, foreign := range []Arch{0x40000003, 0x40000028, AMD64 ^ ARM64 ^ arch} {
		fmt.Fprintf(&b, "%-35s %s\n", "any of "+archNames[foreign], actions(t, foreign, f, 1))
	}
	return b.String()
}

var archNames = map[Arch]string{0x40000003: "i386", 0x40000028: "arm", AMD64: "amd64", ARM64: "arm64"}

func upTo(last uint32) (all []uint32) {
	for nr := range last + 1 {
		all = append(all, nr)
	}
	return all
}

// actions returns every action that the filter takes for a call. If an argument matters, it tries the values that the
// policy names and all single bits.
func actions(t *testing.T, arch Arch, f Filter, nr uint32) string {
	t.Helper()
	act := func(args [6]uint64) string {
		out, err := run(f, data{arch, nr, args})
		if err != nil {
			t.Fatal(err)
		}
		return out.action.String()
	}
	decides := argsOf(arch, Default(), nr)
	if decides == nil {
		return act([6]uint64{})
	}
	found := map[string]bool{}
	for _, value := range interestingValues(decides) {
		var args [6]uint64
		args[decides.Index] = value
		found[act(args)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", or ") + fmt.Sprintf(" by argument %d", decides.Index)
}
