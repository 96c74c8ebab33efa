package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/testkit"
)

// childEnv makes the test binary the process to kill. Its value is a number for the names of its jobs, and the URL of a
// PostgreSQL database or the file of a SQLite one.
const childEnv = "JUDGED_JOBS_TEST_CHILD"

// childLease is short: leases of killed processes must expire within the test.
const childLease = 300 * time.Millisecond

func childOptions(database string) Options {
	o := Options{Lease: childLease, MaxDeliver: 1000}
	if strings.HasPrefix(database, "postgres://") {
		o.URL = database
	} else {
		o.File = database
	}
	return o
}

// phases are the operations on a job. The test kills a process in the middle of each.
var phases = []string{"put", "put_all", "take", "extend", "emit", "return", "recheck", "finish", "cancel", "delete"}

// child puts jobs, takes, extends, returns, finishes, cancels and deletes them. It prints each change before it makes it,
// and after it what the store has acknowledged.
func child(value string) int {
	number, database, _ := strings.Cut(value, " ")
	ctx := context.Background()
	s, err := Open(ctx, childOptions(database))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("open")
	for worker := range 3 {
		go func() {
			for {
				fmt.Println("begin take")
				w, err := s.Take(ctx, api.Want{})
				if err != nil {
					fmt.Println("error", err)
					return
				}
				judgeAtRandom(ctx, s, w, fmt.Sprint(number, "/", worker))
			}
		}()
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", number, i)
		fmt.Println("begin put")
		if _, _, err := s.Put(ctx, Submission{ID: id, Job: sampleJob()}); err != nil {
			fmt.Println("error", err)
		}
		fmt.Println("stored", id)
		if i%4 == 0 {
			putSome(ctx, s, id)
		}
		if i%8 != 0 {
			continue
		}
		fmt.Println("begin cancel")
		switch _, err := s.Cancel(ctx, id); {
		case err == nil:
			fmt.Println("cancelled", id)
		case !lost(err):
			fmt.Println("error", err)
		}
	}
}

// some is the number of jobs of putSome.
const some = 3

// putSome puts jobs in one transaction.
func putSome(ctx context.Context, s *Store, id string) {
	var list []Packed
	for n := range some {
		p, err := pack(Submission{ID: fmt.Sprintf("%s.%d", id, n), Job: sampleJob()})
		if err != nil {
			fmt.Println("error", err)
		}
		list = append(list, p)
	}
	fmt.Println("together", id)
	fmt.Println("begin put_all")
	if _, err := s.PutAll(ctx, list); err != nil {
		fmt.Println("error", err)
	}
	for _, p := range list {
		fmt.Println("stored", p.ID)
	}
}

func judgeAtRandom(ctx context.Context, s *Store, w api.Work, who string) {
	rep := sampleReport(api.Accepted)
	rep.Message, rep.CrossCheck = fmt.Sprint(who, "/", w.Attempt), w.Report.CrossCheck
	if rand.IntN(4) == 0 {
		fmt.Println("begin extend")
		if _, err := s.Extend(ctx, w.Lease); err != nil && !lost(err) {
			fmt.Println("error", err)
		}
	}
	switch rand.IntN(10) {
	case 0: // hold the job until the lease expires
	case 1, 2:
		fmt.Println("begin return")
		if err := s.Return(ctx, w.Lease, api.Returned{Uncounted: true}); err != nil && !lost(err) {
			fmt.Println("error", err)
		}
	case 3, 4:
		recheck(ctx, s, w, rep)
	default:
		fmt.Println("begin emit")
		_ = s.Emit(w.Lease, 1, rep.Tests[0])
		fmt.Println("begin finish")
		switch err := s.Finish(ctx, w.Lease, rep); {
		case err == nil:
			fmt.Println("finished", w.ID, rep.Message)
			deleteSome(ctx, s, w.ID)
		case !lost(err):
			fmt.Println("error", err)
		}
	}
}

// deleteSome deletes one of four jobs that have ended, but not those of putSome.
func deleteSome(ctx context.Context, s *Store, id string) {
	if rand.IntN(4) > 0 || strings.Contains(id, ".") {
		return
	}
	fmt.Println("deleting", id)
	fmt.Println("begin delete")
	if err := s.Delete(ctx, id); err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("deleted", id)
}

// recheck passes a job to another host, and adds the report to the list of its cross-check.
func recheck(ctx context.Context, s *Store, w api.Work, rep api.Report) {
	rec, err := s.Get(ctx, w.ID)
	if err != nil {
		if !lost(err) {
			fmt.Println("error", err)
		}
		return
	}
	rec.Lease = w.Lease
	check := api.CrossCheck{Hosts: []api.CrossCheckedHost{{Node: "one", Verdict: rep.Verdict, Job: RecheckID(w.Lease)}}}
	if before := w.Report.CrossCheck; before != nil {
		check.Hosts = append(before.Hosts, check.Hosts...)
	}
	fmt.Println("begin recheck")
	if err := s.Recheck(ctx, rec, rep, check, time.Time{}); err != nil && !lost(err) {
		fmt.Println("error", err)
	}
}

// lost reports whether the job was cancelled, or the lease expired on a busy machine: the job may have ended since, and
// may have been deleted.
func lost(err error) bool {
	return errors.Is(err, api.ErrStale) || errors.Is(err, api.ErrFinal) || errors.Is(err, api.ErrNotFound)
}

// testKill kills processes that work on a database, at least twice in the middle of each phase, until they have stored
// 500 jobs. It checks that the database has everything that was acknowledged.
func testKill(t *testing.T, b backend) {
	testkit.Need(t, testkit.Time)
	o := b.fresh(t)
	database := o.URL + o.File
	// If several processes create a SQLite database at the same time, SQLite refuses one: entering WAL mode needs
	// exclusive access to the file and does not wait for it.
	first, err := Open(t.Context(), childOptions(database))
	if err == nil {
		err = first.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	promised := &promises{message: map[string]string{}, deleted: map[string]bool{}}
	kills := 0
	for ; promised.stored() < 500 || kills < 2*len(phases); kills += 2 {
		// Two processes run at the same time, like two fronts; one of them outlives the other.
		var pair sync.WaitGroup
		for i := range 2 {
			pair.Go(func() { killOne(t, fmt.Sprint(kills+i, " ", database), phases[(kills+i)%len(phases)], promised) })
		}
		pair.Wait()
	}
	t.Logf("%d processes were killed", kills)
	promised.check(t, childOptions(database))
}

// promises holds what processes have acknowledged: for each job ID the message of its report, "" before the report, or
// wasCancelled if there will be none.
type promises struct {
	mu       sync.Mutex // guards the fields below
	message  map[string]string
	together []string        // IDs of calls of putSome
	deleted  map[string]bool // jobs that were to be deleted, and whether that was acknowledged
}

const wasCancelled = "cancelled"

func (p *promises) stored() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.message)
}

func (p *promises) note(t *testing.T, line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := strings.Fields(line); f[0] {
	case "open", "begin":
	case "together":
		p.together = append(p.together, f[1])
	case "deleting", "deleted":
		p.deleted[f[1]] = f[0] == "deleted"
	case "stored":
		if _, finished := p.message[f[1]]; !finished { // another process may have been faster
			p.message[f[1]] = ""
		}
	case "cancelled":
		if before := p.message[f[1]]; before != "" {
			t.Errorf("job %s was cancelled after %s", f[1], before)
		}
		p.message[f[1]] = wasCancelled
	case "finished":
		if before := p.message[f[1]]; before != "" {
			t.Errorf("job %s finished twice: %s and %s", f[1], before, f[2])
		}
		p.message[f[1]] = f[2]
	default:
		t.Error(line)
		return false
	}
	return true
}

// check finishes the remaining jobs, and checks that every job is done once.
func (p *promises) check(t *testing.T, o Options) {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	left := 0
	for {
		unfinished := 0
		for _, err := range s.Unfinished(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			unfinished++
		}
		if unfinished == 0 {
			break
		}
		for range unfinished {
			patience, cancel := context.WithTimeout(ctx, time.Minute)
			w, err := s.Take(patience, api.Want{})
			cancel()
			if err != nil {
				t.Fatalf("%d unfinished jobs cannot be taken: %v", unfinished, err)
			}
			if p.message[w.ID] != "" {
				t.Errorf("job %s is taken in attempt %d, its report was stored", w.ID, w.Attempt)
			}
			rep := sampleReport(api.Accepted)
			rep.CrossCheck = w.Report.CrossCheck
			if err := s.Finish(ctx, w.Lease, rep); err != nil {
				t.Error(err)
			}
			left++
		}
	}
	rechecked, deleted := 0, 0
	for id, message := range p.message {
		rec, err := s.Get(ctx, id)
		acknowledged, asked := p.deleted[id]
		if gone := errors.Is(err, api.ErrNotFound); asked && gone || acknowledged {
			if deleted++; !gone {
				t.Errorf("job %s was deleted, and is %s, %v", id, rec.Report.State, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("job %s was promised: %v", id, err)
			continue
		}
		rechecked += checkRecheck(t, s, id, rec.Report.CrossCheck)
		kept := rec.Report.State == api.Done && (message == "" || rec.Report.Message == message)
		if rec.Report.State == api.CancelledState { // before the process could print it
			kept = message == wasCancelled || message == ""
		}
		if !kept {
			t.Errorf("job %s is %s with %q; promised was %q", id, rec.Report.State, rec.Report.Message, message)
		}
	}
	p.checkTogether(t, s)
	for _, of := range []string{"labels", "events", "feed"} {
		rows := 0
		err := s.read.QueryRow(`SELECT COUNT(*) FROM ` + of + ` WHERE job > 0 AND job NOT IN (SELECT seq FROM jobs)`).Scan(&rows)
		if rows > 0 || err != nil {
			t.Errorf("%d rows of %s belong to no job, %v", rows, of, err)
		}
	}
	t.Logf("%d jobs, %d of them judged after the last kill, %d deleted, %d reports of other hosts", len(p.message), left,
		deleted, rechecked)
}

// checkTogether checks that the jobs of one transaction are all stored, or none of them.
func (p *promises) checkTogether(t *testing.T, s *Store) {
	for _, id := range p.together {
		stored := 0
		for n := range some {
			if _, err := s.Head(t.Context(), fmt.Sprintf("%s.%d", id, n)); err == nil {
				stored++
			} else if !errors.Is(err, api.ErrNotFound) {
				t.Error(err)
			}
		}
		if stored != 0 && stored != some {
			t.Errorf("%d of the %d jobs of %s are stored", stored, some, id)
		}
	}
}

// checkRecheck checks that the report of each host that a cross-check names exists, and returns their number.
func checkRecheck(t *testing.T, s *Store, id string, c *api.CrossCheck) int {
	if c == nil {
		return 0
	}
	for _, h := range c.Hosts {
		rec, err := s.Get(t.Context(), h.Job)
		if err != nil || rec.Report.State != api.Done || rec.Report.Labels[RecheckLabel] != id {
			t.Errorf("job %s names %s, which is %+v, %v", id, h.Job, rec.Report, err)
		}
	}
	return len(c.Hosts)
}

// killOne starts a process and kills it during a change of the phase.
func killOne(t *testing.T, value, phase string, promised *promises) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+value)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = cmd.Wait() }()
	left := 1 + rand.IntN(5) // changes until the kill
	kill := sync.OnceFunc(func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !promised.note(t, lines.Text()) {
			kill()
		}
		if lines.Text() != "begin "+phase {
			continue
		}
		if left--; left == 0 {
			// A change takes some tenths of a millisecond, more on a busy machine.
			time.AfterFunc(rand.N(2*time.Millisecond), kill)
		}
	}
}

// testServerKilled kills the server eight times while a store works on 500 jobs. It checks that everything acknowledged
// is present, that errors are ErrUnavailable, and that the store recovers.
func testServerKilled(t *testing.T, server *testkit.PostgresServer) {
	o := Options{URL: server.Database(t), Lease: childLease, MaxDeliver: 1000, Timeout: 5 * time.Second}
	failures := 0
	var mu sync.Mutex // guards failures
	o.OnUnavailable = func(string) { mu.Lock(); failures++; mu.Unlock() }
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	promised := &promises{message: map[string]string{}, deleted: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	temporary := func(err error) {
		if !errors.Is(err, api.ErrUnavailable) && ctx.Err() == nil {
			t.Errorf("not marked as unavailable: %v", err)
		}
		poll.Sleep(ctx, 20*time.Millisecond)
	}
	var work sync.WaitGroup
	work.Go(func() { putUntil(ctx, s, promised, temporary) })
	for range 4 {
		work.Go(func() { finishUntil(ctx, t, s, promised, temporary) })
	}
	const kills, jobs = 8, 500
	for kill := range kills {
		testkit.WaitFor(t, time.Minute, "jobs to be stored", func() bool { return promised.stored() > jobs*kill/kills })
		server.Kill(t)
		// The other processes of the server respond until they notice.
		testkit.WaitFor(t, time.Minute, "the check to fail",
			func() bool { return errors.Is(s.Check(), api.ErrUnavailable) })
		server.Restart(t)
	}
	testkit.WaitFor(t, time.Minute, "recovery", func() bool { return s.Check() == nil })
	before := promised.stored()
	testkit.WaitFor(t, time.Minute, "jobs to be stored after the last restart",
		func() bool { return promised.stored() > max(before+20, jobs) })
	cancel()
	work.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if failures == 0 {
		t.Error("nothing failed while the server was away")
	}
	t.Logf("%d operations failed", failures)
	promised.check(t, o)
}

// testListenAgain checks that a taker that missed a notification while the server was down looks again when
// notifications are back.
func testListenAgain(t *testing.T, server *testkit.PostgresServer) {
	s := postgresBackend(server).open(t, func(o *Options) { o.poll = time.Hour })
	silent := s.again()
	silent.driver.notify = func(string) {}
	got := make(chan string, 1)
	go func() {
		for {
			w, err := s.Take(s.ctx(), api.Want{})
			if err == nil {
				got <- w.ID
				return
			}
			if !errors.Is(err, api.ErrUnavailable) {
				t.Error(err)
				got <- ""
				return
			}
		}
	}()
	testkit.WaitFor(t, time.Minute, "the store to listen and to look for a job", func() bool {
		var n int // from a connection of silent, because those of s show their last statement
		s.must(silent.read.QueryRow(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
AND (query LIKE 'LISTEN %' OR query LIKE 'UPDATE jobs SET %')`).Scan(&n))
		return n >= 3
	})
	silent.put("a", nil)
	server.Kill(t)
	server.Restart(t)
	if id := <-got; id != "a" {
		t.Errorf("took %q", id)
	}
}

func putUntil(ctx context.Context, s *Store, promised *promises, temporary func(error)) {
	for i := 0; ctx.Err() == nil; {
		id := fmt.Sprint("job", i)
		if _, _, err := s.Put(ctx, Submission{ID: id, Job: sampleJob()}); err != nil {
			temporary(err)
			continue // submit the same job again, as a platform does
		}
		promised.mu.Lock()
		if promised.message[id] == "" {
			promised.message[id] = ""
		}
		promised.mu.Unlock()
		i++
	}
}

func finishUntil(ctx context.Context, t *testing.T, s *Store, promised *promises, temporary func(error)) {
	for ctx.Err() == nil {
		w, err := s.Take(ctx, api.Want{})
		if err != nil {
			temporary(err)
			continue
		}
		rep := sampleReport(api.Accepted)
		rep.Message = fmt.Sprint(w.Attempt)
		for {
			err := s.Finish(context.WithoutCancel(ctx), w.Lease, rep)
			if err == nil {
				promised.note(t, "finished "+w.ID+" "+rep.Message)
			}
			if err == nil || errors.Is(err, api.ErrStale) || errors.Is(err, api.ErrFinal) {
				break
			}
			temporary(err) // and submit it again
		}
	}
}
