package seccomp

import (
	"fmt"
	"slices"
	"testing"
)

// TestJumpsOfEveryLength: offsets have 8 bits, and making one target reachable moves the other one away.
func TestJumpsOfEveryLength(t *testing.T) {
	for distance := range 600 {
		for _, allowIsNearer := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/%t", distance, allowIsNearer), func(t *testing.T) {
				f := jumpOver(distance, allowIsNearer)
				for nr, want := range map[uint32]Action{1: Allow, 0: Kill} {
					check(t, f, data{nr: nr}, want)
				}
			})
		}
	}
}

func jumpOver(distance int, allowIsNearer bool) Filter {
	a := &assembler{rets: map[Action]int{}}
	order := []Action{Kill, Allow}
	if !allowIsNearer {
		slices.Reverse(order)
	}
	at := map[Action]int{}
	for _, action := range order {
		at[action] = a.ret(action)
	}
	for range distance {
		a.emit(Instruction{Code: opRet, K: uint32(Ignore)})
	}
	a.load(offNumber, a.test(opEqual, 1, at[Allow], at[Kill]))
	slices.Reverse(a.reversed)
	return a.reversed
}
