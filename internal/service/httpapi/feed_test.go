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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// short returns the fields of an event of the feed that do not depend on time.
func short(text string) (id, event string) {
	id, rest, _ := strings.Cut(strings.TrimPrefix(text, "id: "), "\n")
	kind, data, _ := strings.Cut(strings.TrimPrefix(rest, "event: "), "\n")
	_, job, _ := strings.Cut(data, `"job":"`)
	job, _, _ = strings.Cut(job, `"`)
	return id, job + " " + kind
}

// TestFeed checks the events of all jobs with the real store: by tenant, label and type, resumed, and refused.
func TestFeed(t *testing.T) {
	f := newTenantFixture(t)
	server := httptest.NewServer(f)
	defer server.Close()
	read := func(token, query string, n int) (ids, events []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for text := range followAs(ctx, t, server.URL+"/v1/events"+query, token) {
			if !strings.Contains(text, "data: ") {
				continue // a position
			}
			id, event := short(text)
			if ids, events = append(ids, id), append(events, event); len(ids) == n {
				break
			}
		}
		return ids, events
	}
	all := []string{"ann queued", "ann running", "ann done", "bob queued", "bob running", "bob done", "ops queued",
		"ops running", "ops done"}
	ids, got := read("ops", "?after=0", len(all))
	if diff := cmp.Diff(all, got); diff != "" {
		t.Fatalf("all events (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		name, token, query string
		want               []string
	}{
		{"tenant", "bob", "?after=0", all[3:6]},
		{"types", "ops", "?after=0&type=done&type=queued", []string{"ann queued", "ann done", "bob queued", "bob done",
			"ops queued", "ops done"}},
		{"resumed", "ops", "?after=" + ids[3], all[4:]},
	} {
		if _, got := read(c.token, c.query, len(c.want)); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if w := f.as("ops", "HEAD", "/v1/events", ""); w.Code != http.StatusOK || w.Body != "" {
		t.Errorf("HEAD: %+v", w)
	}
	for query, want := range map[string]string{
		"?after=1": "gone", "?after=" + ids[0] + "0": "gone", "?after=x": "bad-request", "?after=-1": "bad-request",
		"?after=1.": "bad-request", "?type=all": "bad-request", "?label=x": "bad-request", "?state=done": "bad-request",
		"?after=0.1": "gone",
	} {
		w := f.as("ops", "GET", "/v1/events"+query, "")
		if !strings.Contains(w.Body, `"urn:judged:`+want+`"`) {
			t.Errorf("%s: %+v, want %s", query, w, want)
		}
	}
}

// TestFeedIsLive checks that a reader gets each test before the end of the job, with the labels of the job, and that its
// stream ends when the daemon stops.
func TestFeedIsLive(t *testing.T) {
	store := openStore(t)
	f := newFixture(t, func(o *Options) { o.Jobs = store })
	server := httptest.NewServer(f)
	defer server.Close()
	defer server.CloseClientConnections() // for which Close waits
	put := func(id, team string) {
		if _, _, err := store.Put(t.Context(), jobs.Submission{ID: id,
			Job: api.Job{Labels: map[string]string{"team": team}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("before", "7")
	lines := follow(t, server.URL+"/v1/events?label=team%3D7", "")
	next := func() string {
		for late := time.After(time.Minute); ; {
			select {
			case text, open := <-lines:
				if !open {
					return "the end"
				}
				if strings.Contains(text, "data: ") {
					return text
				}
			case <-late:
				return "nothing for a minute"
			}
		}
	}
	put("other", "8")
	put("a", "7")
	if position := <-lines; !strings.HasPrefix(position, "id: ") || strings.Contains(position, "data: ") {
		t.Errorf("at first %q, want the position", position)
	}
	if text := next(); !strings.Contains(text, `"job":"a","type":"queued"`) ||
		!strings.Contains(text, `"labels":{"team":"7"}`) {
		t.Errorf("first event %q", text)
	}
	for range 2 { // the older ones
		if err := playJudge(context.WithoutCancel(t.Context()), store); err != nil {
			t.Fatal(err)
		}
	}
	w, err := store.Take(t.Context(), api.Want{})
	if err := errors.Join(err, store.Emit(w.Lease, 1, api.TestReport{Name: "sample"})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"before","type":"running"`, `"before","type":"done"`, `"a","type":"running"`,
		`"a","type":"test"`} {
		if text := next(); !strings.Contains(text, want) {
			t.Errorf("got %q, want %s", text, want)
		}
	}
	f.EndStreams()
	if text := next(); text != "the end" {
		t.Errorf("after the end of all streams: %q", text)
	}
}

// followAs is like follow with a token.
func followAs(ctx context.Context, t *testing.T, url, token string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return eventsOf(t, r)
}

// BenchmarkFollowers measures jobs from submission to report with and without 1,000 followers of all events, in turns.
// The ratios say what the followers cost.
func BenchmarkFollowers(b *testing.B) {
	const followers, perTurn = 1000, 100
	store := openStore(b)
	f := newFixture(b, func(o *Options) { o.Jobs, o.Log = store, nil })
	server := httptest.NewServer(f)
	defer server.Close()
	var took, used [2]time.Duration
	n := 0
	for b.Loop() {
		for i, readers := range []int{0, followers} {
			ctx, cancel := context.WithCancel(b.Context())
			events, done := fanOut(ctx, b, server.URL, readers)
			start, cpu := time.Now(), cpuTime(b)
			for range perTurn {
				n++
				cycleJob(b, store, fmt.Sprint("job", n))
			}
			took[i] += time.Since(start)
			testkit.WaitFor(b, time.Minute, "all followers to have all events", func() bool {
				return events.Load() == int64(readers*perTurn)
			})
			used[i] += cpuTime(b) - cpu
			cancel()
			done.Wait()
		}
	}
	jobs := float64(b.N * perTurn)
	b.ReportMetric(jobs/took[0].Seconds(), "jobs/s-alone")
	b.ReportMetric(jobs/took[1].Seconds(), "jobs/s-followed")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "time-ratio")
	b.ReportMetric(used[0].Seconds()*1e3/jobs, "cpu-ms/job-alone")
	b.ReportMetric(used[1].Seconds()*1e3/jobs, "cpu-ms/job-followed")
	b.ReportMetric((used[1]-used[0]).Seconds()*1e6/jobs/followers, "cpu-us/job/follower")
}

func cycleJob(b *testing.B, store *jobs.Store, id string) {
	b.Helper()
	_, _, err := store.Put(b.Context(), jobs.Submission{ID: id, Job: api.Job{Labels: map[string]string{"team": "7"}}})
	w, failed := store.Take(b.Context(), api.Want{})
	report := api.Report{Verdict: api.Accepted, Tests: []api.TestReport{{Name: "1", Verdict: api.Accepted}}}
	if err := errors.Join(err, failed, store.Emit(w.Lease, 1, report.Tests[0]), store.Finish(b.Context(), w.Lease,
		report)); err != nil {
		b.Fatal(err)
	}
}

// fanOut starts readers, and counts the final events that they get. Their CPU time is that of this process too, so they
// only search the text.
func fanOut(ctx context.Context, b *testing.B, url string, readers int) (events *atomic.Int64, done *sync.WaitGroup) {
	b.Helper()
	events, done = &atomic.Int64{}, &sync.WaitGroup{}
	var begun sync.WaitGroup
	for range readers {
		r, err := http.NewRequestWithContext(ctx, "GET", url+"/v1/events", nil)
		if err != nil {
			b.Fatal(err)
		}
		begun.Add(1)
		done.Go(func() {
			res, err := http.DefaultClient.Do(r)
			begun.Done()
			if err != nil {
				b.Error(err)
				return
			}
			defer res.Body.Close()
			buffer, rest := make([]byte, 64<<10), ""
			for {
				n, err := res.Body.Read(buffer)
				text := rest + string(buffer[:n])
				events.Add(int64(strings.Count(text, "event: done\n")))
				rest = text[strings.LastIndex(text, "\n")+1:]
				if err != nil {
					if ctx.Err() == nil && !errors.Is(err, io.EOF) {
						b.Error(err)
					}
					return
				}
			}
		})
	}
	begun.Wait()
	return events, done
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
