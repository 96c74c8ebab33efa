package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

var (
	linearJobs = flag.Int("linear-jobs", 500, "jobs of TestLinearizable")
	linearSeed = flag.Uint64("linear-seed", 0, "seed of TestLinearizable; 0 is a new one")
)

// call is a request of a client. Its result is the state of the job as text.
type call struct{ verb, id string }

// The states of a job as clients see them. The state of a finished job is its verdict.
const (
	absent  = "absent"
	open    = "open"  // queued or running
	final   = "final" // finished, with a verdict that the response did not have
	unknown = "unknown"
)

// jobModel defines which results a job may give: absent, then open, then the same verdict for ever. Judges finish a job
// at any moment. A request without a response may have been executed.
var jobModel = porcupine.NondeterministicModel{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byID := map[string][]porcupine.Operation{}
		for _, o := range all {
			byID[o.Input.(call).id] = append(byID[o.Input.(call).id], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byID {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{absent} },
	Step: func(state, input, output any) []any {
		now, verb, answer := state.(string), input.(call).verb, output.(string)
		cancelled := string(api.Cancelled)
		switch {
		case answer == unknown && verb == "submit" && now == absent:
			return []any{absent, open}
		case answer == unknown && verb == "cancel" && now == open:
			return []any{open, cancelled}
		case answer == unknown, answer == now:
			return []any{now}
		case now == absent && verb == "submit" && answer == open:
			return []any{open}
		case now == open && answer == cancelled && verb != "cancel": // no one has cancelled it
			return nil
		case now == open && answer != absent: // a judge has finished it before, or this call cancels it
			return []any{answer}
		case now != absent && now != open && answer == final:
			return []any{now}
		case now == final && verb != "cancel" && answer != absent && answer != open && answer != cancelled:
			return []any{answer}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// answerOf translates a response for the model.
func answerOf(r api.Report, err error) (string, error) {
	p := (*client.Problem)(nil)
	switch {
	case err == nil && r.State.Final():
		return string(r.Verdict), nil
	case err == nil:
		return open, nil
	case errors.As(err, &p) && p.Status == http.StatusNotFound:
		return absent, nil
	case errors.As(err, &p) && p.Status == http.StatusConflict:
		return final, nil
	case errors.As(err, new(*client.Unreachable)):
		return unknown, nil
	}
	return "", err
}

// TestLinearizable submits, reads and cancels the same jobs from many clients at two fronts, one of which is killed
// meanwhile. It uses porcupine to search for an order of the requests that explains all responses.
func TestLinearizable(t *testing.T) {
	t.Parallel() // measures nothing
	const clients, window = 8, 12
	seed := *linearSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-linear-seed %d", seed)
	ca, cb := twoFronts(t, "file://"+t.TempDir())
	a, b := serving(t, ca), serving(t, cb)
	serving(t, nodeSettings(t, ca, "judge-1"))
	begun := time.Now()
	var mu sync.Mutex // guards history
	var history []porcupine.Operation
	var progress atomic.Int64
	bases := []string{a.Base, b.Base}
	var work errgroup.Group
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	do := func(number int, platform client.Client, c call, n int) error {
		start := time.Since(begun)
		var r api.Report
		var err error
		switch c.verb {
		case "submit":
			r, err = platform.Submit(ctx, c.id, echo(n%9))
		case "get":
			r, err = platform.Job(ctx, c.id, 0)
		case "cancel":
			r, err = platform.Cancel(ctx, c.id)
		}
		answer, err := answerOf(r, err)
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.verb, c.id, err)
		}
		end := time.Since(begun).Nanoseconds()
		if answer == unknown {
			end = math.MaxInt64
		}
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: number, Input: c, Call: start.Nanoseconds(),
			Output: answer, Return: end})
		return nil
	}
	for number := range clients {
		work.Go(func() error {
			random := rand.New(rand.NewPCG(seed, uint64(number)))
			var platforms []client.Client
			for _, base := range bases {
				platforms = append(platforms, newClient(t, base))
			}
			for {
				base := int(progress.Add(1)) / 6
				if base >= *linearJobs {
					return nil
				}
				n := max(0, base-random.IntN(window))
				verb := []string{"submit", "submit", "get", "get", "get", "cancel"}[random.IntN(6)]
				id := fmt.Sprint("job-", n)
				if err := do(number, platforms[random.IntN(2)], call{verb, id}, n); err != nil {
					return err
				}
			}
		})
	}
	testkit.WaitFor(t, 30*time.Minute, "half of the jobs", func() bool {
		return int(progress.Load())/6 >= *linearJobs/2 || ctx.Err() != nil
	})
	b.kill()
	b = serving(t, cb)
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	// Read all jobs once more at the end, when each has ended.
	for n := range *linearJobs {
		id := fmt.Sprint("job-", n)
		if _, err := a.Job(ctx, id, 0); client.NotFound(err) {
			continue
		}
		if _, err := a.Wait(ctx, id); err != nil {
			t.Fatal(err)
		}
		if err := do(clients, b.Client, call{"get", id}, n); err != nil {
			t.Fatal(err)
		}
	}
	answers := map[string]int{}
	for _, o := range history {
		answers[o.Input.(call).verb+" "+o.Output.(string)]++
	}
	t.Logf("%d requests: %v", len(history), answers)
	for _, part := range jobModel.Partition(history) {
		if got := porcupine.CheckOperationsTimeout(jobModel.ToModel(), part, time.Minute); got != porcupine.Ok {
			t.Errorf("the answers about a job are not linearizable (-linear-seed %d): %s", seed, got)
			for _, o := range part {
				t.Logf("%12d to %20d  client %d: %s %s", o.Call, o.Return, o.ClientId, o.Input, o.Output)
			}
		}
	}
}

// TestJobModel checks that the model refuses histories that must never occur.
func TestJobModel(t *testing.T) {
	type steps = [][2]string
	ac, ca := string(api.Accepted), string(api.Cancelled)
	for name, tt := range map[string]struct {
		answers steps // verb and result of successive calls
		want    porcupine.CheckResult
	}{
		"judged":              {steps{{"get", absent}, {"submit", open}, {"get", ac}, {"get", ac}}, porcupine.Ok},
		"cancelled":           {steps{{"submit", open}, {"cancel", ca}, {"get", ca}, {"cancel", final}}, porcupine.Ok},
		"finished unseen":     {steps{{"submit", open}, {"cancel", final}, {"get", ac}}, porcupine.Ok},
		"lost answer":         {steps{{"submit", unknown}, {"get", ac}}, porcupine.Ok},
		"lost request":        {steps{{"submit", unknown}, {"get", absent}}, porcupine.Ok},
		"submitted again":     {steps{{"submit", open}, {"get", ac}, {"submit", ac}}, porcupine.Ok},
		"cancelled by nobody": {steps{{"submit", open}, {"get", ca}}, porcupine.Illegal},
		"lost cancel":         {steps{{"submit", open}, {"cancel", unknown}, {"get", ca}}, porcupine.Ok},
		"lost job":            {steps{{"submit", open}, {"get", absent}}, porcupine.Illegal},
		"another verdict":     {steps{{"submit", open}, {"cancel", ca}, {"get", ac}}, porcupine.Illegal},
		"open again":          {steps{{"submit", open}, {"get", ac}, {"get", open}}, porcupine.Illegal},
		"never submitted":     {steps{{"get", ac}}, porcupine.Illegal},
		"judged, cancelled":   {steps{{"submit", open}, {"get", ac}, {"cancel", ca}}, porcupine.Illegal},
		"cancelled, judged":   {steps{{"submit", open}, {"cancel", ca}, {"get", ac}}, porcupine.Illegal},
		"submitted and ended": {steps{{"submit", open}, {"cancel", final}, {"get", open}}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, a := range tt.answers {
				o := porcupine.Operation{Input: call{a[0], "1"}, Call: int64(2 * i), Output: a[1], Return: int64(2*i + 1)}
				if a[1] == unknown {
					o.Return = math.MaxInt64
				}
				history = append(history, o)
			}
			if got := porcupine.CheckOperationsTimeout(jobModel.ToModel(), history, time.Minute); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
