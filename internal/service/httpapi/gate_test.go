package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
)

func TestGate(t *testing.T) {
	type step struct {
		do    string        // take and have it, take and be "refused", put, leave
		depth int           // that the queue tells from now on
		after time.Duration // the step before
	}
	for _, tt := range []struct {
		name  string
		steps []step // where two jobs may wait
	}{
		{"up to the bound", []step{{"take", 0, 0}, {"take", 0, 0}, {"refused", 0, 0}, {"leave", 0, 0}, {"take", 0, 0}, {"refused", 0, 0}}},
		{"the queue has jobs", []step{{"take", 1, 0}, {"refused", 1, 0}}},
		{"an answer is believed", []step{{"take", 0, 0}, {"take", 2, gateAge - 1}, {"refused", 2, 0}}},
		{"but not for long", []step{{"take", 0, 0}, {"refused", 2, gateAge}}},
		{"places outlive an answer", []step{{"take", 0, 0}, {"take", 0, 0}, {"refused", 0, time.Hour}}},
		{"a job is counted once", []step{{"take", 0, 0}, {"put", 1, gateAge - 1}, {"leave", 1, 0}, {"take", 1, 1}, {"refused", 1, 0}}},
		{"a job that the queue does not count yet", []step{{"take", 1, 0}, {"put", 1, 0}, {"leave", 1, 0}, {"refused", 1, hearsay}, {"take", 1, 1}}},
		{"others fill the queue", []step{{"take", 0, 0}, {"put", 1, 0}, {"leave", 1, 0}, {"refused", 2, gateAge}}},
		{"jobs leave the queue", []step{{"refused", 2, 0}, {"take", 1, 0}, {"refused", 1, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, depth := noon, 0
			g := gate{depth: func(context.Context) (int, error) { return depth, nil }, most: 2, now: func() time.Time { return now }}
			for i, s := range tt.steps {
				now, depth = now.Add(s.after), s.depth
				switch s.do {
				case "put":
					g.put()
				case "leave":
					g.leave()
				default:
					if ok, err := g.take(t.Context()); ok != (s.do == "take") || err != nil {
						t.Fatalf("step %d: %v, %v; want %s", i, ok, err, s.do)
					}
				}
			}
		})
	}
	g := gate{depth: func(context.Context) (int, error) { return 0, io.ErrUnexpectedEOF }, most: 2, now: time.Now}
	if ok, err := g.take(t.Context()); ok || !errors.Is(err, io.ErrUnexpectedEOF) || g.taken != 0 {
		t.Errorf("without an answer: %v, %v, %d places", ok, err, g.taken)
	}
}

// together is a body that comes once all callers have begun theirs.
type together struct {
	io.Reader
	all   *sync.WaitGroup
	begin sync.Once
}

// Read waits for the others.
func (b *together) Read(p []byte) (int, error) {
	b.begin.Do(func() { b.all.Done(); b.all.Wait() })
	return b.Reader.Read(p)
}

// lateQueue takes its time, in a bubble: whoever gets that far is there before the
// first job is in the queue.
type lateQueue struct{ Queue }

// Put puts later.
func (q lateQueue) Put(ctx context.Context, id string, p job.Priority) error {
	<-time.After(time.Second)
	return q.Queue.Put(ctx, id, p)
}

// TestQueueBoundUnderLoad holds that no more jobs wait than may however many
// callers come at once, that jobs which are there are never refused, and that
// every place which was not used is given back.
func TestQueueBoundUnderLoad(t *testing.T) {
	synctest.Test(t, testQueueBoundUnderLoad)
}

func testQueueBoundUnderLoad(t *testing.T) {
	const callers, most = 30, 3
	f := newFixture(t, func(o *Options) {
		o.Queue, o.Log = lateQueue{o.Queue}, nil // the log's buffer is for one request at a time
	})
	if w := f.submit("PUT", "/v1/jobs/there", small); w.Code != http.StatusAccepted {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	var begun, done sync.WaitGroup
	begun.Add(2 * callers)
	status := make([]int, 2*callers)
	for i := range status {
		id := "there"
		if i < callers {
			id = fmt.Sprintf("new-%d", i)
		}
		done.Go(func() {
			body := &together{Reader: strings.NewReader(small), all: &begun}
			r := httptest.NewRequest("PUT", "/v1/jobs/"+id, body)
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			status[i] = w.Code
			body.begin.Do(begun.Done) // refused before it was read
		})
	}
	done.Wait()
	fresh, again := map[int]int{}, map[int]int{}
	for i := range callers {
		fresh[status[i]]++
		again[status[callers+i]]++
	}
	if n := fresh[202]; n > most-1 || n+fresh[429] != callers || n+1 != len(f.queue.put) {
		t.Errorf("new jobs: statuses %v, put %v", fresh, f.queue.put)
	}
	if diff := cmp.Diff(map[int]int{200: callers}, again); diff != "" {
		t.Errorf("a job that is there (-want +got):\n%s", diff)
	}
	fill(t, f, most)
}

// TestPlacesAreGivenBack sends jobs that get as far as to a place and no further.
func TestPlacesAreGivenBack(t *testing.T) {
	f := newFixture(t)
	if w := f.submit("PUT", "/v1/jobs/there", small); w.Code != http.StatusAccepted {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	for range 5 {
		wantProblem(t, f.submit("PUT", "/v1/jobs/there", strings.Replace(small, `"1"`, `"2"`, 1)), "conflict")
		wantProblem(t, f.submit("PUT", "/v1/jobs/broken", "{"), "invalid-job")
		if w := f.submit("PUT", "/v1/jobs/there", small); w.Code != http.StatusOK {
			t.Errorf("status %d %s", w.Code, w.Body)
		}
		f.queue.fail = io.ErrUnexpectedEOF
		wantProblem(t, f.submit("PUT", "/v1/jobs/failed", small), "temporary-failure")
		f.queue.fail = nil
	}
	fill(t, f, 3)
}

// fill sends jobs until one is refused, which is when exactly most wait.
func fill(t *testing.T, f *fixture, most int) {
	t.Helper()
	for i := range most + 1 {
		w := f.submit("PUT", fmt.Sprintf("/v1/jobs/fill-%d", i), small)
		if w.Code == http.StatusAccepted {
			continue
		}
		if wantProblem(t, w, "queue-full"); len(f.queue.put) != most {
			t.Errorf("refused with %v put, want %d", f.queue.put, most)
		}
		return
	}
	t.Errorf("put %v, want %d and a refusal", f.queue.put, most)
}
