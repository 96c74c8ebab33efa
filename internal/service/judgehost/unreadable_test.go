package judgehost

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestPauseWithoutWork: a host does not ask without a pause for work that a server cannot give, although the host can
// register.
func TestPauseWithoutWork(t *testing.T) {
	for name, fault := range map[string]domserver.Fault{"500": {Status: 500}, "404": {Status: 404, Body: `{"message":"x"}`},
		"not JSON": {Status: 200, Body: "<html>"}, "no array": {Status: 200, Body: "{}"}} {
		w := newWorld(t)
		w.Fault = func(_, path string) *domserver.Fault {
			if path == "judgehosts/fetch-work" {
				return &fault
			}
			return nil
		}
		var mu sync.Mutex
		var pauses []time.Duration
		w.pause = func(ctx context.Context, d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			pauses = append(pauses, d)
		}
		stop := w.start(newFakeEngine(1))
		const asked = 20
		testkit.WaitFor(t, patience, "requests", func() bool { return w.Requests("judgehosts/fetch-work") >= asked })
		stop()
		if len(pauses) < asked-1 || slices.Max(pauses) != longestWait {
			t.Errorf("%s: %d requests for work with %d pauses, %v", name, w.Requests("judgehosts/fetch-work"), len(pauses),
				pauses)
		}
	}
}

// TestUnreadableTask: a task that judged cannot decode is reported. It would be assigned again for ever.
func TestUnreadableTask(t *testing.T) {
	for _, tt := range []struct{ member, value string }{
		{"type", "5"}, {"run_config", "{}"}, {"compile_config", "[1]"}, {"jobid", "[]"}, {"", "7"}, {"", "null"},
	} {
		w := newWorld(t)
		w.Fault = func(_, path string) *domserver.Fault {
			if path != "judgehosts/fetch-work" {
				return nil
			}
			return &domserver.Fault{Handle: true, Corrupt: func(text string) string {
				var tasks []json.RawMessage
				var one map[string]json.RawMessage
				if json.Unmarshal([]byte(text), &tasks) != nil || len(tasks) < 2 ||
					json.Unmarshal(tasks[1], &one) != nil {
					return text
				}
				if tasks[1] = json.RawMessage(tt.value); tt.member != "" {
					one[tt.member] = tasks[1]
					tasks[1], _ = json.Marshal(one)
				}
				changed, _ := json.Marshal(tasks)
				return string(changed)
			}}
		}
		w.submit(w.problem("1", "2"), "")
		stop := w.start(newFakeEngine(1))
		testkit.WaitFor(t, patience, tt.member+" "+tt.value, func() bool { return len(w.Errors()) > 0 })
		stop()
		if e := w.Errors()[0]; e.Kind != "judgehost" || !strings.Contains(e.Description, "read") {
			t.Errorf("%s %s: internal error %+v", tt.member, tt.value, e)
		}
	}
}

// TestPauseWithoutReport: a host does not ask without a pause for a task that it can neither judge nor report.
func TestPauseWithoutReport(t *testing.T) {
	w := newWorld(t)
	w.Fault = func(_, path string) *domserver.Fault {
		switch path {
		case "judgehosts/fetch-work":
			return &domserver.Fault{Status: 200, Body: `[{"judgetaskid":1,"type":"judging_run"}]`}
		case "judgehosts/internal-error":
			return &domserver.Fault{Status: 400, Body: `{"message":"no","retry":false}`}
		}
		return nil
	}
	var pauses atomic.Int64
	w.pause = func(context.Context, time.Duration) { pauses.Add(1) }
	stop := w.start(newFakeEngine(1))
	const asked = 20
	testkit.WaitFor(t, patience, "requests", func() bool { return w.Requests("judgehosts/fetch-work") >= asked })
	stop()
	if n := pauses.Load(); n < asked-1 {
		t.Errorf("%d requests for work with %d pauses", w.Requests("judgehosts/fetch-work"), n)
	}
}
