package sandbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
)

// TestOutputIsNotMemory: programs use less or more memory than the limit, with output that exceeds the
// preallocated amount or the limit, or is on both streams or in a file that is larger than the box. The output must not
// affect the result.
func TestOutputIsNotMemory(t *testing.T) {
	const limit, mib = 32 << 20, 1 << 20
	l := newLab(t, func(o *Options) { o.BoxBytes = 8 * mib })
	program := File{Name: "memory", Path: built(t, "memory"), Exec: true}
	type facts struct {
		Over   bool // whether the memory limit was exceeded
		Output units.Bytes
	}
	for _, tt := range []struct {
		heap, out, err, file int
		want                 facts
	}{
		{heap: 1},
		{heap: 30},
		{heap: 30, out: 4, want: facts{Output: 4 * mib}},
		{heap: 16, out: 24, want: facts{Output: 24 * mib}},
		{heap: 30, out: 40, want: facts{Output: 40 * mib}},
		{heap: 30, out: 20, err: 20, want: facts{Output: 40 * mib}},
		{heap: 1, out: 60, err: 60, want: facts{Output: 120 * mib}},
		{heap: 30, file: 40, want: facts{Output: 40 * mib}},
		{heap: 1, out: 64, err: 64, file: 64, want: facts{Output: 192 * mib}},
		{heap: 40, file: 40, want: facts{Over: true}},
		{heap: 40, want: facts{Over: true}},
		{heap: 60, want: facts{Over: true}},
		{heap: 300, want: facts{Over: true}},
	} {
		t.Run(fmt.Sprintf("%d MiB, %d, %d and %d of output", tt.heap, tt.out, tt.err, tt.file), func(t *testing.T) {
			spec := Spec{Args: strings.Fields(fmt.Sprintf("./memory %d %d %d %d", tt.heap, tt.out, tt.err, tt.file)),
				Files: []File{program}, OutputFile: "out", Limits: limits()}
			spec.Limits.Memory, spec.Limits.Output = limit, 64*mib
			spec.Limits.CPUTime, spec.Limits.WallTime = 5*time.Minute, 5*time.Minute
			r, _ := l.run(t, spec)
			if r.MemoryPeak == nil {
				t.Fatal("the kernel keeps no peak; it needs Linux 5.19")
			}
			peak := *r.MemoryPeak
			got := facts{r.OOMKills > 0 || peak > limit, r.OutputBytes}
			if got.Over {
				got.Output = 0 // what it writes until it is killed varies
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%+v: -want +got\n%s", r, diff)
			}
			// Includes its own pages, of which 1 MiB is the write buffer, and what is charged in advance.
			// Output written after the peak and before the next reading is subtracted.
			own := units.Bytes(min(tt.heap, 32)) * mib
			if later := units.Bytes(tt.out-tt.out/2+tt.err) * mib; peak < own-later || !tt.want.Over &&
				peak > own+2*mib {
				t.Errorf("peak %d, want about %d", peak, own)
			}
		})
	}
}
