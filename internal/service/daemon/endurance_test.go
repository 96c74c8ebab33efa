package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

// endureFor is an hour in make soak.
var endureFor = flag.Duration("endure", 20*time.Second, "how long TestEndurance disturbs the daemon")

// endurance is a daemon with faults of every kind, and the platform whose jobs it judges.
type endurance struct {
	*crash
	disk       string
	programs   map[string]api.File
	mu         sync.Mutex             // guards jobs
	jobs       map[string]api.Verdict // by ID, of those that have ended
	rejudging  string                 // not ended yet
	rejudgings int
}

// endured are the kinds of jobs that the platform submits. Programs are samples or attacks.
var endured = []struct {
	name, program string
	limits        api.Limits
	want          api.Verdict
}{
	{"right", "submissions/sum/AC-sum.c", api.Limits{}, api.Accepted},
	{"wrong", "submissions/sum/AC-sum.c", api.Limits{}, api.WrongAnswer},
	{"fails", "submissions/sum/RTE-exit.c", api.Limits{}, api.RuntimeError},
	{"unwaited child", "submissions/sum/TLE-unwaited.c", api.Limits{CPUTimeMS: 100, WallTimeMS: 10_000, Processes: 16},
		api.TimeLimit},
	{"fork bomb", "attacks/040-fork-bomb.c", api.Limits{CPUTimeMS: 100, WallTimeMS: 10_000, Processes: 32}, api.TimeLimit},
	{"memory", "attacks/025-memory.c", api.Limits{CPUTimeMS: 5000, WallTimeMS: 20_000, Memory: 64 << 20},
		api.MemoryLimit},
	{"endless output", "attacks/043-endless-stdout.c", api.Limits{CPUTimeMS: 5000, WallTimeMS: 20_000, Output: 64 << 10},
		api.OutputLimit},
	{"kills itself", "attacks/021-kill-itself.c", api.Limits{}, api.RuntimeError},
	{"source", "", api.Limits{}, api.Accepted},
}

// TestEndurance judges a mixture of jobs, attacks among them, while the daemon and its PostgreSQL server are killed, the
// disk is full, the daemon is stopped for a moment, slots are drained, the configuration is reloaded, jobs are rejudged
// and cancelled, and the receiver of callbacks fails. Each accepted job ends once with the expected verdict and is
// reported, nothing is left behind, and memory and descriptors do not grow.
func TestEndurance(t *testing.T) {
	testkit.Need(t, testkit.StaticGCC)
	server := testkit.StartPostgres(t, "fsync=off") // loses nothing when processes are killed
	c := settings(t)
	c.Database.URL = server.Database(t)
	disk := smallDisk(t, 256<<20)
	c.DataDir = filepath.Join(disk, "data")
	c.HTTP.Listen = freePort(t)
	c.Queue.MaxDeliver = 100 // kills may hit the same job again
	ctx, cancel := context.WithTimeout(t.Context(), *endureFor+5*patience)
	defer cancel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	e := &endurance{disk: disk, programs: map[string]api.File{}, jobs: map[string]api.Verdict{}, crash: &crash{t: t,
		server: server, traces: watchTraces(t), ctx: ctx, random: rand.New(rand.NewPCG(seed, 0))}}
	e.platform = newPlatform(t, &c)
	e.platform.flaky = true
	e.config = c
	e.start()
	for _, kind := range endured {
		if kind.program != "" {
			digest, err := e.now.PutBlobFile(ctx, testkit.CompileC(t, filepath.Join(testkit.RepoRoot(t), "testdata",
				kind.program), true))
			if err != nil {
				t.Fatal(err)
			}
			e.programs[kind.name] = api.File{Blob: digest}
		}
	}

	var submitters errgroup.Group
	submitting, stop := context.WithCancel(ctx)
	defer stop()
	for k := range 4 {
		submitters.Go(func() error { return e.submit(submitting, k, 4) })
	}
	e.until("the first jobs to end", func() bool { return len(e.ended()) > 20 })
	e.disturb(time.Now().Add(*endureFor))
	stop()
	if err := submitters.Wait(); err != nil {
		t.Fatal(err)
	}
	e.endRejudging()
	e.checkJobs()
	e.calm()
	e.now.drain()
	e.traces.none()
	if left, _ := filepath.Glob(filepath.Join(c.DataDir, "blobs", "tmp", "*")); len(left) > 0 {
		t.Errorf("uploads were left: %q", left)
	}
}

// job returns the n-th job and its expected verdict. Inputs repeat, so that the disk does not fill by itself.
func (e *endurance) job(n int) (string, api.Job, api.Verdict) {
	kind := endured[n%len(endured)]
	sum := 1 + n%50
	if kind.name == "wrong" {
		sum++
	}
	j := api.Job{
		Program: e.programs[kind.name], Limits: kind.limits, Priority: api.Priorities()[n%4],
		Tests:  []api.Test{{Name: "1", Input: text(fmt.Sprintf("2\n1 %d\n", n%50)), Answer: text(strconv.Itoa(sum))}},
		Labels: map[string]string{"kind": kind.name},
		Keep:   api.Keep{Stdout: api.KeepAlways, Stderr: api.KeepFailed, Bytes: 8 << 10},
	}
	if kind.name == "source" {
		j.Language, j.Program = "c", *text(fmt.Sprintf("#include <stdio.h>\nint main(void)\n{\n\tint n, a, b;\n"+
			"\treturn scanf(\"%%d %%d %%d\", &n, &a, &b) != 3 || printf(\"%%d\\n\", a + b) < 0; /* %d */\n}\n", n%20))
	}
	if n%3 == 0 {
		j.Callback = &api.Callback{URL: e.platform.URL}
	}
	return fmt.Sprintf("job-%06d", n), j, kind.want
}

// submit submits every step-th job until ctx ends, waits for it, and checks its verdict. It cancels some.
func (e *endurance) submit(ctx context.Context, first, step int) error {
	platform := newClient(e.t, "http://"+e.config.HTTP.Listen)
	for n := first; ctx.Err() == nil; n += step {
		id, j, want := e.job(n)
		var r api.Report
		for _, request := range []func() (api.Report, error){
			func() (api.Report, error) { return platform.Submit(e.ctx, id, j) },
			func() (api.Report, error) {
				if n%17 > 0 {
					return api.Report{}, nil
				}
				r, err := platform.Cancel(e.ctx, id)
				if p, ok := errors.AsType[*client.Problem](err); ok && p.Status == http.StatusConflict {
					err = nil // it has ended
				}
				return r, err
			},
			func() (api.Report, error) { return platform.Wait(e.ctx, id) },
		} {
			for {
				var err error
				if r, err = request(); err == nil {
					break
				}
				if client.ClassOf(err) != client.Passing || e.ctx.Err() != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				select {
				case <-e.ctx.Done():
				case <-time.After(20 * time.Millisecond): // as a platform does
				}
			}
		}
		if r.Verdict != want && (n%17 > 0 || r.Verdict != api.Cancelled) {
			return fmt.Errorf("%s (%s): verdict %s, want %s: %s", id, j.Labels["kind"], r.Verdict, want, r.Message)
		}
		e.mu.Lock()
		e.jobs[id] = r.Verdict
		e.mu.Unlock()
	}
	return nil
}

// ended returns the IDs of the jobs that have ended.
func (e *endurance) ended() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := make([]string, 0, len(e.jobs))
	for id := range e.jobs {
		ids = append(ids, id)
	}
	return ids
}

// disturb causes faults of all kinds, in another order in each round, until the given time and at least one round.
func (e *endurance) disturb(end time.Time) {
	faults := []struct {
		name  string
		cause func()
	}{
		{"kill judged", func() { e.now.kill(); e.start() }},
		{"kill PostgreSQL", e.killServer},
		{"fill the disk", e.fillDisk},
		{"stop judged", func() {
			e.now.signal(syscall.SIGSTOP)
			e.pass(3 * time.Second)
			e.now.signal(syscall.SIGCONT)
		}},
		{"drain the slots", e.drainSlots},
		{"reload", func() { e.now.signal(syscall.SIGHUP) }},
		{"rejudge", e.rejudge},
	}
	rounds := 0
	for rounds == 0 || time.Now().Before(end) {
		e.random.Shuffle(len(faults), func(i, k int) { faults[i], faults[k] = faults[k], faults[i] })
		for _, f := range faults {
			before := len(e.ended())
			f.cause()
			e.until("jobs to end after: "+f.name, func() bool { return len(e.ended()) > before+8 })
			e.pass(time.Second)
		}
		rounds++
	}
	e.t.Logf("%d rounds of %d faults, %d jobs, %d rejudgings", rounds, len(faults), len(e.ended()), e.rejudgings)
}

func (e *endurance) until(what string, ok func() bool) {
	e.t.Helper()
	testkit.WaitFor(e.t, patience, what, ok)
}

// pass lets a random time pass, at most the given one.
func (e *endurance) pass(most time.Duration) {
	moment := time.Now().Add(time.Duration(e.random.Int64N(int64(most))))
	e.until("the moment", func() bool { return time.Now().After(moment) })
}

func (e *endurance) fillDisk() {
	fill(e.t, e.disk, "filler", []int{0, 1 << 20, 24 << 20}[e.random.IntN(3)])
	e.until("judged to notice the full disk", func() bool { return e.now.Ready(e.ctx) != nil })
	e.pass(2 * time.Second)
	if err := os.Remove(filepath.Join(e.disk, "filler")); err != nil {
		e.t.Fatal(err)
	}
	e.until("judged to be ready again", func() bool { return e.now.Ready(e.ctx) == nil })
}

func (e *endurance) drainSlots() {
	slots, err := e.now.Slots(e.ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, s := range slots {
		if _, err := e.now.Drain(e.ctx, s.CPUs, "endurance"); err != nil {
			e.t.Fatal(err)
		}
	}
	e.until("the slots to be drained", func() bool {
		all, err := e.now.Slots(e.ctx)
		return err == nil && !slices.ContainsFunc(all, func(s api.SlotStatus) bool { return s.State != "drained" })
	})
	for _, s := range slots {
		if _, err := e.now.Undrain(e.ctx, s.CPUs); err != nil {
			e.t.Fatal(err)
		}
	}
}

// rejudge ends the last rejudging and begins one of up to 20 jobs. Other faults happen while they are judged.
func (e *endurance) rejudge() {
	e.endRejudging()
	ids := e.ended()
	slices.Sort(ids)
	e.random.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	e.rejudgings++
	e.rejudging = fmt.Sprint("rejudging-", e.rejudgings)
	q := api.RejudgingRequest{ID: e.rejudging, Reason: "endurance", Jobs: ids[:min(20, len(ids))]}
	if _, err := client.Post[api.Rejudging](e.ctx, e.now.Client, "/v1/rejudgings", q, 0); err != nil {
		e.t.Fatal(err)
	}
}

// endRejudging waits until all jobs of the rejudging have been judged, and applies every other one.
func (e *endurance) endRejudging() {
	e.t.Helper()
	if e.rejudging == "" {
		return
	}
	path := "/v1/rejudgings/" + e.rejudging
	var v api.Rejudging
	reach := func(want api.RejudgingState) {
		e.t.Helper()
		e.until(fmt.Sprintf("%s to be %s", e.rejudging, want), func() bool {
			now, err := client.Get[api.Rejudging](e.ctx, e.now.Client, path)
			if err == nil {
				v = now
			}
			return v.State == want
		})
	}
	reach(api.RejudgingReady)
	if v.Changed != 0 || v.Judged != v.Jobs || v.Judged == 0 {
		e.t.Errorf("%s: %d jobs, %d judged, %d skipped, %d changed; want no change", e.rejudging, v.Jobs, v.Judged,
			v.SkippedN, v.Changed)
	}
	if e.rejudgings%2 == 0 {
		if _, err := client.Delete[api.Rejudging](e.ctx, e.now.Client, path); err != nil {
			e.t.Fatal(err)
		}
		reach(api.RejudgingCancelled)
	} else {
		if _, err := client.Post[api.Rejudging](e.ctx, e.now.Client, path+"/apply", struct{}{}, 0); err != nil {
			e.t.Fatal(err)
		}
		reach(api.RejudgingApplied)
	}
	e.rejudging = ""
}

// checkJobs checks that each job is listed once, has its verdict and one final event, and that its callback has arrived.
func (e *endurance) checkJobs() {
	listed := map[string]int{}
	for f := (client.Filter{Limit: 100}); ; {
		page, err := e.now.List(e.ctx, f)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, r := range page.Jobs {
			listed[r.ID]++
			if want, known := e.jobs[r.ID]; known && r.Verdict != want {
				e.t.Errorf("job %s is %s with verdict %s, want %s", r.ID, r.State, r.Verdict, want)
			}
		}
		if f.After = page.Next; page.Next == "" {
			break
		}
	}
	for id := range e.jobs {
		if listed[id] != 1 {
			e.t.Errorf("job %s is listed %d times", id, listed[id])
		}
	}
	for _, id := range e.ended()[:min(100, len(e.jobs))] {
		types := e.now.feed(id, 0).types()
		if got := count(types); got["queued"] != 1 || got["done"]+got["cancelled"] != 1 {
			e.t.Errorf("job %s: events %q", id, types)
		}
	}
	missing := func() (ids []string) {
		for id, want := range e.jobs {
			n, err := strconv.Atoi(id[len("job-"):])
			if err != nil {
				e.t.Fatal(err)
			}
			got := e.platform.got(id)
			if (n%3 == 0) != (len(got) > 0) {
				ids = append(ids, id)
			} else if len(got) > 0 && got[0].Data.Verdict != want {
				e.t.Errorf("job %s: callback %+v, want %s", id, got[0], want)
			}
		}
		return ids
	}
	e.until("all callbacks", func() bool { return len(missing()) == 0 })
}

// calm judges jobs without faults in a new process. It checks that its memory and its descriptors do not grow.
func (e *endurance) calm() {
	jobs := max(200, 50*int(endureFor.Minutes()))
	e.now.kill()
	e.start()
	work := func(round string) (kib, fds int) {
		for n := range jobs {
			_, j, want := e.job(n)
			j.Callback = nil
			if n%len(endured) > 2 { // the others take long
				j, want = e.now.sum(n%50, false), api.Accepted
			}
			if r, err := e.now.Judge(e.ctx, fmt.Sprintf("calm-%s-%d", round, n), j); err != nil || r.Verdict != want {
				e.t.Fatalf("calm job %d: %s, %v; want %s", n, r.Verdict, err, want)
			}
		}
		e.now.idle()
		pid := e.now.cmd.Process.Pid
		e.until("the descriptors of the last job to be closed", func() bool {
			was := fds
			open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
			if err != nil {
				e.t.Fatal(err)
			}
			fds = len(open)
			return fds == was
		})
		return e.now.memoryKiB("RssAnon"), fds
	}
	kib, fds := work("first")
	for n := range 3 {
		later, laterFDs := work(fmt.Sprint(n))
		e.t.Logf("after %d jobs %d descriptors and %d KiB, after %d %d and %d", jobs, fds, kib, (n+2)*jobs,
			laterFDs, later)
		if laterFDs <= fds+4 && later <= kib+kib/4 {
			return
		}
	}
	e.t.Error("memory or descriptors grow with every job")
}
