package sandbox

import (
	"fmt"
	"testing"
)

// FuzzCounters checks that a counter is found after any text, such as the name of a program, and that other
// text is not parsed as a counter.
func FuzzCounters(f *testing.F) {
	for _, s := range []string{"Name:\ta\nState: R", "voluntary_ctxt_switches", "voluntary_ctxt_switches:\tx",
		" voluntary_ctxt_switches : 7", "nonvoluntary_ctxt_switches: 5", ":", "\n"} {
		f.Add(s, int64(3))
	}
	f.Fuzz(func(t *testing.T, before string, count int64) {
		const key = "voluntary_ctxt_switches"
		first := keyed(before, key)
		got := keyed(fmt.Sprintf("%s\n%s:\t%d\nnon%s:\t1\n", before, key, count, key), key)
		if first != -1 && got != first || first == -1 && got != count && got != -1 {
			t.Errorf("%d after %q that has %d, want %d", got, before, first, count)
		}
		if since(first, count) != nil && (first < 0 || count < 0) {
			t.Errorf("difference of %d and %d, want none", first, count)
		}
	})
}
