package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
)

// keeping returns a run whose tests keep outputs.
func keeping(contents ...string) func(context.Context, func(api.TestReport)) (api.Report, error) {
	return func(context.Context, func(api.TestReport)) (api.Report, error) {
		r := api.Report{Verdict: api.Accepted}
		for i, content := range contents {
			k := api.KeptOutput{Output: api.Output{Test: fmt.Sprint(i), Stream: api.StdoutStream}}
			if content != "" {
				k.Content = []byte(content)
			}
			r.Tests = append(r.Tests, api.TestReport{Kept: []api.KeptOutput{k}})
		}
		return r, nil
	}
}

// TestOutputs checks that equal outputs are stored once, before the report that names them.
func TestOutputs(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.judge = keeping("x", "", "x")
		w.run()
		w.pass(time.Second)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "0 keep x", "0 finish a AC on host 0 true",
			`0 with output 0 stdout "digest of x"`, `0 with output 1 stdout ""`, `0 with output 2 stdout "digest of x"`,
			"0 observe AC", "0 done a done AC contest, waited 0s", "0 tidy 0", "0 attempt done", "0 leave 0")
		w.idle()
	})
}

// TestOutputsAreStoredFirst checks that storing is repeated, and that the slot takes no other job meanwhile: its outputs
// would wait in memory, too.
func TestOutputsAreStoredFirst(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.work("b", nil)
		w.failNext("keep", errors.New("disk full"))
		w.failNext("keep", errors.New("disk full"))
		w.judge = keeping("x")
		w.run()
		w.pass(time.Minute)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "0 keep x", "1 keep x", "3 keep x",
			"3 finish a AC on host 0 true", `3 with output 0 stdout "digest of x"`,
			"3 observe AC", "3 done a done AC contest, waited 0s", "3 tidy 0", "3 attempt done", "3 leave 0",
			"3 take b for 0 of pool", "3 judge /blobs/b on 0", "3 keep x", "3 finish b AC on host 0 true",
			`3 with output 0 stdout "digest of x"`, "3 observe AC", "3 done b done AC contest, waited 0s", "3 tidy 0",
			"3 attempt done", "3 leave 0")
	})
}

// TestOutputThatIsNeverStored checks that a job ends although an output can never be stored.
func TestOutputThatIsNeverStored(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.d.o.Keep = func(context.Context, string) (string, error) { return "", blobs.ErrTooBig }
		w.judge = keeping("x")
		w.run()
		w.pass(time.Second)
		if w.count(`with output 0 stdout ""`) != 1 || w.count("finish") != 1 {
			t.Errorf("calls: %q", w.calls)
		}
	})
}
