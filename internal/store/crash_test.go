package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/queue"
	"judged/internal/store"
)

// childEnv makes the test binary the process that is killed.
const childEnv = "JUDGED_STORE_TEST_CHILD"

// child creates jobs in one goroutine and judges them in another, and says on
// stdout what it was promised, after it was.
func child(dir string) int {
	ctx := context.Background()
	fail := func(err error) int { fmt.Println("error", err); return 1 }
	b, err := broker.Start(ctx, broker.Options{Dir: dir})
	if err != nil {
		return fail(err)
	}
	s, err := store.Open(ctx, b, store.Options{})
	if err != nil {
		return fail(err)
	}
	q, err := queue.Open(ctx, b, queue.Options{})
	if err != nil {
		return fail(err)
	}
	for _, id := range s.Unfinished() {
		if err := q.Put(ctx, id, job.Practice); err != nil {
			return fail(err)
		}
	}
	fmt.Println("open")
	ahead := make(chan struct{}, 20) // so that judging keeps up
	go func() {
		for i := 0; ; i++ {
			ahead <- struct{}{}
			id := fmt.Sprintf("%d-%d", os.Getpid(), i)
			if _, err := s.Create(ctx, store.Record{ID: id, Job: sampleJob()}); err != nil {
				fmt.Println("error", err)
			}
			fmt.Println("created", id)
			if err := q.Put(ctx, id, job.Practice); err != nil {
				fmt.Println("error", err)
			}
		}
	}()
	for i := 0; ; i++ {
		d, err := q.Take(ctx)
		if err != nil {
			return fail(err)
		}
		select {
		case <-ahead:
		default: // one from before the last kill
		}
		r, err := s.Begin(ctx, d.ID, d.Attempt, "1")
		if i%3 == 1 {
			continue // hold it, as a long run would
		}
		if err == nil {
			rep := sampleReport(1, 1)
			rep.Message = fmt.Sprintf("%d/%d", os.Getpid(), r.Revision)
			if err = s.Finish(ctx, r, rep); err == nil {
				fmt.Println("finished", d.ID, rep.Message)
			}
		}
		if err != nil && !strings.Contains(err.Error(), store.ErrFinal.Error()) {
			fmt.Println("error", err)
		}
		if err := d.Ack(ctx); err != nil {
			fmt.Println("error", err)
		}
	}
}

// TestKill kills a daemon's lower half ten times at random moments and holds
// it to everything it had promised until then.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	promised := map[string]string{} // id: message of its verdict, "" while it has none
	for range 10 {
		killOne(t, dir, promised)
	}
	start := time.Now()
	p := open(t, broker.Options{Dir: dir}, store.Options{})
	for id, verdict := range promised {
		rep := get(t, p, id).Report
		if verdict != "" && (rep.State != job.Done || rep.Message != verdict) {
			t.Errorf("job %s: %s with %q, promised was done with %q", id, rep.State, rep.Message, verdict)
		}
	}
	waiting := map[string]bool{}
	for _, id := range p.store.Unfinished() {
		waiting[id] = true
		if err := p.queue.Put(t.Context(), id, job.Practice); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d jobs, %d of them to be judged again", len(promised), len(waiting))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(waiting) > 0 {
		d, err := p.queue.Take(ctx)
		if err != nil {
			t.Fatalf("%d unfinished jobs cannot be taken, %v", len(waiting), err)
		}
		delete(waiting, d.ID)
		if err := d.Ack(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Logf("opened and drained in %v", time.Since(start))
}

func killOne(t *testing.T, dir string, promised map[string]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	left := 1 + rand.IntN(150) // lines until the kill
	for lines.Scan() {
		if left--; left == 0 {
			_ = cmd.Process.Kill()
		}
		switch f := strings.Fields(lines.Text()); f[0] {
		case "open":
		case "created":
			promised[f[1]] = ""
		case "finished":
			if promised[f[1]] != "" {
				t.Errorf("job %s finished twice: %s and %s", f[1], promised[f[1]], f[2])
			}
			promised[f[1]] = f[2]
		default:
			t.Error(lines.Text())
			_ = cmd.Process.Kill()
		}
	}
}
