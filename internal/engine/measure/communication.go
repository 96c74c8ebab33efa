package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
)

// errOther stops the remaining instances when one has failed.
var errOther = errors.New("another instance of the program failed")

// instances are the concurrent runs of a program that communicate with one manager, on the CPUs of one slot.
type instances struct {
	w      *Worker
	q      Request
	talk   *jury.Communication
	boxes  []*sandbox.Sandbox
	order  *linux.Order // order in which they ended
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below while they run
	results []sandbox.Result
	started []bool
	first   time.Time // start of the first one; zero if none started
	last    time.Time // end of the last one
	decided bool      // the manager has rejected them and stopped those that ran
	err     error

	failed int // first one that failed by itself, or negative; set when all have ended
}

// runInstances is like runOnce for a program that communicates with a manager.
func (w *Worker) runInstances(ctx context.Context, t test) (_ outcome, err error) {
	r := &instances{w: w, q: t.Request, results: make([]sandbox.Result, t.Instances),
		started: make([]bool, t.Instances)}
	if r.boxes, err = w.acquireInstances(t.Instances); err != nil {
		return outcome{}, err
	}
	defer func() {
		for _, box := range r.boxes {
			w.discard(box)
		}
	}()
	if r.talk, err = t.Communicate(); err != nil {
		return outcome{}, err
	}
	defer r.talk.Close()
	var before evidence.Snapshot
	if err := r.load(t, &before); err != nil {
		return outcome{}, err
	}
	if t.Ready != nil {
		if err := t.Ready(); err != nil {
			return outcome{}, err
		}
	}
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	if r.order, err = sandbox.NewOrder(r.boxes); err != nil {
		return outcome{}, err
	}
	defer r.order.Close()
	before = w.reader.Snapshot()
	if err := r.run(ctx); err != nil {
		return outcome{}, err
	}
	after := w.reader.SnapshotAfter(before)
	switch {
	case r.err != nil:
		return outcome{}, r.err
	case ctx.Err() != nil:
		return outcome{}, context.Cause(ctx)
	}
	o, err := r.judge(ctx)
	if err != nil {
		return outcome{}, err
	}
	o.run = w.describe(o.result, before, after)
	o.run.Instances = r.reports()
	o.gain = evidence.FrequencyGain(o.run.Evidence, o.result.CPUTime, *w.thresholds.Load())
	for _, box := range r.boxes {
		o.run.Overhead += box.Overhead()
	}
	return o, nil
}

// load loads all instances without starting them.
func (r *instances) load(t test, before *evidence.Snapshot) error {
	var glance sync.Mutex // the reader is not safe for concurrent use
	for i, box := range r.boxes {
		spec, err := r.w.spec(t)
		if err != nil {
			return err
		}
		if len(r.boxes) > 1 {
			spec.Args = append(slices.Clone(spec.Args), strconv.Itoa(i)) // as in CMS
		}
		spec.Stdin, spec.Stdout = r.talk.Stdin(i), r.talk.Stdout(i)
		spec.Others = slices.Delete(slices.Clone(r.boxes), i, i+1)
		spec.Explained = func(p sandbox.Progress) sandbox.Allowance {
			glance.Lock()
			defer glance.Unlock()
			x := r.w.explained(before, p)
			x.WallTime += r.talk.Delay()
			r.talk.AtLimit(i, p.WallTime-t.Limits.WallTime(), x.WallTime)
			return x
		}
		if err := box.Load(spec); err != nil {
			return err
		}
	}
	return nil
}

// run runs each instance from the time when the manager has opened its pipes. The first one that fails stops the
// others.
func (r *instances) run(outer context.Context) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	r.cancel = cancel
	if err := r.talk.Start(outer, r.boxes, func() { cancel(errDecided) }); err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := range r.boxes {
		all.Go(func() {
			if r.talk.Await(ctx, i) {
				r.begin(i)
				result, err := r.boxes[i].Run(ctx)
				r.talk.Ended(i)
				r.finish(i, result, err)
			}
		})
	}
	all.Wait()
	r.decided = context.Cause(ctx) == errDecided
	return nil
}

func (r *instances) begin(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started[i] = true
	if r.first.IsZero() {
		r.first = time.Now()
	}
}

func (r *instances) finish(i int, result sandbox.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[i], r.last, r.err = result, time.Now(), errors.Join(r.err, err)
	if err != nil || failedAlone(result, r.q.Limits) {
		r.cancel(errOther)
	}
}

// firstFailed returns the instance that failed first, or a negative number. If judged stopped an instance, it is that
// one: the end of another right after it, which may be reported earlier, can only be a consequence. ended is the order
// of the others' ends, without those that could not be executed.
func firstFailed(results []sandbox.Result, ended []int, l api.Limits) int {
	first := -1
	for i := range results {
		if !slices.Contains(ended, i) {
			ended = append(ended, i)
		}
	}
	for _, i := range ended {
		if !failedAlone(results[i], l) {
			continue
		}
		if first < 0 || results[i].Stop != sandbox.StopNone && results[first].Stop == sandbox.StopNone {
			first = i
		}
	}
	return first
}

// failedAlone reports whether an instance failed in a way that no manager causes. A run that exited by itself after
// exceeding its CPU time did not: its exact time counts.
func failedAlone(r sandbox.Result, l api.Limits) bool {
	if r.Stop == sandbox.StopCancelled || r.Signal == syscall.SIGPIPE {
		return false
	}
	v := verdictOf(r, l)
	return v != "" && (v != api.TimeLimit || r.Stop != sandbox.StopNone)
}

// judge decides a run from the results of its instances and the manager's result.
func (r *instances) judge(ctx context.Context) (outcome, error) {
	ended, err := r.order.All()
	if err != nil {
		return outcome{}, err
	}
	r.failed = firstFailed(r.results, ended, r.q.Limits)
	o := outcome{result: r.joined(), talked: true, delay: r.talk.Delay()}
	if r.failed >= 0 {
		o.wall = r.results[r.failed].WallTime
	}
	o.verdict = verdictOf(o.result, r.q.Limits)
	said, err := r.talk.Finish(ctx, r.results, r.failed, r.q.Limits.Output)
	if err != nil {
		return outcome{}, fmt.Errorf("talk of test %q: %w", r.q.Name, err)
	}
	if said.Verdict != "" {
		o.check = &said.CheckReport
		o.verdict = talkVerdict(o.verdict, said)
	}
	if said.Verdict == api.OutputLimit && o.verdict == api.IdlenessLimit {
		o.verdict = said.Verdict // it waited for a manager that keeps reading from another one
	}
	return o, o.copyOutput(r.q, r.boxes[max(r.failed, 0)])
}

// joined returns one result for all instances: the sum of their CPU times, the largest of their memory and output, and
// the end and wait of the one that failed, in which all of them waited. RunDelay is that of one instance, and counts as far
// as it exceeds the CPU time of the others: their waiting for each other is not noise.
func (r *instances) joined() sandbox.Result {
	var all sandbox.Result
	if r.failed >= 0 {
		f := r.results[r.failed]
		all = sandbox.Result{Stop: f.Stop, Idle: f.Idle, Late: f.Late, Code: f.Code, Signal: f.Signal,
			ExecError: f.ExecError, Lacks: f.Lacks, Waited: f.Waited}
	}
	if !r.first.IsZero() {
		all.WallTime = r.last.Sub(r.first)
	}
	for _, one := range r.results {
		all.CPUTime += one.CPUTime
		all.UserTime, all.SystemTime = sum(all.UserTime, one.UserTime), sum(all.SystemTime, one.SystemTime)
		all.OOMKills, all.Memory.OOMs = all.OOMKills+one.OOMKills, sum(all.Memory.OOMs, one.Memory.OOMs)
		all.OutputBytes = max(all.OutputBytes, one.OutputBytes)
		if p := one.MemoryPeak; p != nil && (all.MemoryPeak == nil || *p > *all.MemoryPeak) {
			all.MemoryPeak = p
		}
		all.Throttled = sum(all.Throttled, one.Throttled)
		all.Migrations = sum(all.Migrations, one.Migrations)
		all.VoluntarySwitches = sum(all.VoluntarySwitches, one.VoluntarySwitches)
		all.InvoluntarySwitches = sum(all.InvoluntarySwitches, one.InvoluntarySwitches)
		all.MinorFaults, all.MajorFaults = sum(all.MinorFaults, one.MinorFaults), sum(all.MajorFaults, one.MajorFaults)
	}
	if r.failed >= 0 {
		for _, one := range r.results {
			all.RunDelay = longer(all.RunDelay, beyond(one.RunDelay, all.CPUTime-one.CPUTime))
		}
	}
	return all
}

// longer returns the longer of two times, which may be unknown.
func longer(a, b *time.Duration) *time.Duration {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// beyond returns by how much a time, which may be unknown, exceeds another one.
func beyond(d *time.Duration, other time.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return new(max(*d-other, 0))
}

func sum[T ~int64](a, b *T) *T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

// reports returns the instances' parts of the report.
func (r *instances) reports() []api.InstanceReport {
	var all []api.InstanceReport
	for i, one := range r.results {
		report := api.InstanceReport{CPUTime: one.CPUTime, WallTime: one.WallTime, MemoryPeak: one.MemoryPeak,
			Output: one.OutputBytes}
		if r.started[i] && (one.Stop != sandbox.StopCancelled || r.decided) {
			report.Exit = exitOf(one)
		}
		all = append(all, report)
	}
	return all
}

// acquireInstances returns count sandboxes, each with its own network and files.
func (w *Worker) acquireInstances(count int) (boxes []*sandbox.Sandbox, err error) {
	defer func() {
		if err != nil {
			for _, box := range boxes {
				w.discard(box)
			}
			boxes = nil
		}
	}()
	first, err := w.acquire()
	if err != nil {
		return nil, err
	}
	boxes = append(boxes, first)
	for i := 1; i < count; i++ {
		slot, err := w.further(i)
		if err != nil {
			return boxes, err
		}
		box, err := w.launcher.Prepare(slot)
		if err != nil {
			return boxes, err
		}
		boxes = append(boxes, box)
	}
	return boxes, nil
}

// further returns the resources of an additional concurrent run, counted from 1.
func (w *Worker) further(i int) (sandbox.Resources, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.more) < i {
		slot := w.slot
		var err error
		if slot.Network, err = sandbox.NewNetwork(); err != nil {
			return sandbox.Resources{}, err
		}
		slot.Trees = w.launcher.NewTrees(slot)
		w.more = append(w.more, slot)
	}
	return w.more[i-1], nil
}
