package judgehost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestFaults: whichever call fails, in whichever way, each task ends with one result, and nothing is disabled.
func TestFaults(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"register": "POST judgehosts", "config": "GET config", "fetch-work": "POST judgehosts/fetch-work",
		"source": "GET judgehosts/get_files/source", "compile script": "GET judgehosts/get_files/compile",
		"run script": "GET judgehosts/get_files/run", "compare script": "GET judgehosts/get_files/compare",
		"test case": "GET judgehosts/get_files/testcase", "versions": "GET judgehosts/get_version_commands",
		"compilation": "PUT judgehosts/update-judging", "result": "POST judgehosts/add-judging-run",
	}
	faults := map[string]domserver.Fault{
		"500":                {Status: 500, Body: `{"code":500,"message":"x"}`},
		"500 after the work": {Status: 500, Body: "<html>", Handle: true},
		"504 of a proxy":     {Status: 504, Body: "<html>", Handle: true},
		"401":                {Status: 401},
		"302 of a proxy":     {Status: 302, Body: "<html>"},
		"404 of a proxy":     {Status: 404, Body: "404 page not found"},
		"429 of a proxy":     {Status: 429, Body: `{"message":"slow down"}`},
		"cut before":         {CutBefore: true},
		"cut after the work": {CutBefore: true, Handle: true},
		"truncated":          {Truncate: 1},
		"slow":               {Wait: time.Hour},
		"not JSON":           {Corrupt: func(s string) string { return "<" + s }},
	}
	for what, call := range calls {
		for how, fault := range faults {
			switch {
			case how == "not JSON" && what == "compilation": // the response is ignored
				continue
			case testing.Short() && how != "500" && how != "429 of a proxy" && how != "cut after the work" &&
				how != "truncated":
				continue
			case how == "slow" && what != "fetch-work" && what != "test case" && what != "result": // takes long
				continue
			}
			t.Run(what+" "+how, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				if fault.Wait > 0 {
					w.idle = shortIdle
				}
				var mu sync.Mutex
				left := 7 // more than the tries of one call
				if how == "500" || strings.HasSuffix(how, "of a proxy") {
					left = 18 // and more than those of all failed attempts at a task
				}
				started := make(chan struct{})
				w.Fault = func(method, path string) *domserver.Fault {
					select {
					case <-started:
					default:
						return nil
					}
					if !matches(call, method, path) {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					if left--; left < 0 {
						return nil
					}
					return &fault
				}
				id := w.submit(w.problem("1", "2", "3"), "3 WA")
				stop := w.start(newFakeEngine(2))
				close(started)
				w.await(id)
				stop()
				j := w.Judging(id)
				if j.Result != "wrong-answer" || len(w.Errors()) > 0 || len(w.Unfinished()) > 0 {
					t.Errorf("result %q, errors %+v, unfinished %v", j.Result, w.Errors(), w.Unfinished())
				}
				for _, x := range j.Tasks {
					for _, r := range x.Results {
						if r.Values["runresult"] != x.Results[0].Values["runresult"] {
							t.Errorf("task %d: %q", x.ID, results(j))
						}
					}
				}
				w.clean()
			})
		}
	}
}

// TestTextsOfPrograms: what a compiler prints never keeps a result or an internal error from the database of the server,
// which refuses invalid and long texts with 500. The task would come again for ever.
func TestTextsOfPrograms(t *testing.T) {
	t.Parallel()
	const detected = "#pragma message detected entry_point: "
	for name, tt := range map[string]struct {
		source      string
		entry, said string // what the server has
	}{
		"name":             {"1 WA\n" + detected + "Größe\n", "Größe", ""},
		"invalid":          {"1 WA\n" + detected + "\xff\xfe\n", "Main", ""},
		"long":             {"1 WA\n" + detected + strings.Repeat("é", 200) + "\n", "Main", ""},
		"control":          {"1 WA\n" + detected + "a\x1b[2J\n", "Main", ""},
		"error":            {"script error", "", "the compile script returned an error: no compiler here"},
		"error, invalid":   {"script error \xff", "", "no compiler here \ufffd"},
		"error, cut":       {"script error x" + strings.Repeat("é", 200), "", "éé..."},
		"error, cut other": {"script error " + strings.Repeat("é", 200), "", "éé..."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.submit(w.problem("1"), tt.source)
			stop := w.start(newFakeEngine(1))
			testkit.WaitFor(t, patience, "a result, an error or a complaint", func() bool {
				return w.Judging(id).Result != "" || len(w.Errors()) > 0 || len(w.Complaints()) > 0
			})
			stop()
			entry, said := "", ""
			for _, c := range w.Judging(id).Compiled {
				entry = c.EntryPoint
			}
			for _, e := range w.Errors() {
				said = e.Description
			}
			if entry != tt.entry || !strings.HasSuffix(said, tt.said) || tt.said == "" && said != "" {
				t.Errorf("entry point %q, want %q; internal error %q, want %q", entry, tt.entry, said, tt.said)
			}
			w.clean()
		})
	}
}

// TestErrorOfReplacedScript: the server answers null, or nothing, to an internal error of a script that has been replaced
// meanwhile. That is an answer, and the error is not sent again.
func TestErrorOfReplacedScript(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"null", "", "7"} {
		w := newWorld(t)
		var calls atomic.Int64
		w.Fault = func(method, path string) *domserver.Fault {
			if method+" "+path != "POST judgehosts/internal-error" {
				return nil
			}
			calls.Add(1)
			return &domserver.Fault{Corrupt: func(string) string { return body }}
		}
		w.submit(w.problem("1"), "script error")
		stop := w.start(newFakeEngine(1))
		testkit.WaitFor(t, patience, "the internal error", func() bool { return len(w.Errors()) > 0 })
		stop()
		if n := calls.Load(); n != 1 {
			t.Errorf("answer %q: sent %d times", body, n)
		}
		w.clean()
	}
}

// matches reports whether a request is the call, and not one below it.
func matches(call, method, path string) bool {
	rest, ok := strings.CutPrefix(method+" "+path, call)
	return ok && (rest == "" || rest[0] == '/' && call != "POST judgehosts")
}

// TestServerAway: hosts wait for a server that is unreachable before, during or after runs.
func TestServerAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	away := false
	w.Fault = func(string, string) *domserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return &domserver.Fault{CutBefore: true}
		}
		return nil
	}
	set := func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		away = on
	}
	e := newFakeEngine(1)
	e.before = func(_ context.Context, input string) {
		if input == "2" { // only once: the server is reachable later
			set(true)
			time.AfterFunc(300*time.Millisecond, func() { set(false) })
			e.before = nil
		}
	}
	ids := []int{w.submit(w.problem("1", "2", "3"), ""), w.submit(w.problem("1"), "1 TLE")}
	stop := w.start(e)
	for _, id := range ids {
		w.await(id)
	}
	stop()
	got := []string{w.Judging(ids[0]).Result, w.Judging(ids[1]).Result}
	if diff := cmp.Diff([]string{"correct", "timelimit"}, got); diff != "" || len(w.Errors()) > 0 {
		t.Errorf("errors %v, -want +got\n%s", w.Errors(), diff)
	}
	w.clean()
}

// TestRefused: wrong credentials are an error that does not contain them.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	const wrong = "another-Secret"
	var log bytes.Buffer
	c := w.client(wrong)
	c.server.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, err := Await(t.Context(), c)
	if !IsRefused(err) {
		t.Errorf("error %v", err)
	}
	if text := fmt.Sprint(err) + log.String(); strings.Contains(text, wrong) {
		t.Error(text)
	}
}

// TestCredentialsAreNotLogged: the log contains neither the password nor the header with it, regardless of the failure.
func TestCredentialsAreNotLogged(t *testing.T) {
	t.Parallel()
	var log safeBuffer
	for _, fault := range []domserver.Fault{{Status: 500, Body: "x"}, {CutBefore: true}, {Truncate: 1}, {Status: 401},
		{Status: 302}, {Wait: time.Hour}} {
		w := newWorld(t)
		if fault.Wait > 0 {
			w.idle = shortIdle
		}
		n := 0
		w.Fault = func(string, string) *domserver.Fault {
			if n++; n > 3 && n < 10 {
				return &fault
			}
			return nil
		}
		c := w.client(domserver.Password)
		c.server.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		config, err := Await(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(t.Context(), Options{Client: c, Config: config, Engine: newFakeEngine(1),
			Pool: slots.NewPool(newFakeEngine(1).slots, time.Now), Name: "host", Folder: t.TempDir(),
			Work: Work{Bytes: 1 << 20, Files: 10}, Log: c.server.Log})
		if err != nil {
			t.Fatal(err)
		}
		id := w.submit(w.problem("1"), "")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx, t.Context())
		}()
		w.await(id)
		cancel()
		<-ended
	}
	text := log.String()
	if !strings.Contains(text, "retrying") {
		t.Error("the log is empty")
	}
	for _, secret := range []string{domserver.Password, "Basic ", "Authorization"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestDisabledHost: a host that is not enabled gets no work, and gets work once it is enabled.
func TestDisabledHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.EnableHosts = false
	id := w.submit(w.problem("1"), "")
	w.start(newFakeEngine(2))
	testkit.WaitFor(t, patience, "requests", func() bool { return w.Requests("judgehosts/fetch-work") > 10 })
	if r := w.Judging(id).Result; r != "" {
		t.Errorf("result %q", r)
	}
	if diff := cmp.Diff(map[string]bool{"host-0": false, "host-1": false}, w.Hosts()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	said := func(first, second string) {
		t.Helper()
		testkit.WaitFor(t, patience, "hosts that are "+first+" and "+second, func() bool {
			got := []string{"unknown", "unknown"}
			for i := range got {
				if on := w.service.Enabled(i); on != nil {
					got[i] = map[bool]string{true: "enabled", false: "disabled"}[*on]
				}
			}
			return got[0] == first && got[1] == second
		})
	}
	said("disabled", "disabled")
	w.Enable("host-1", true)
	if got := w.await(id).Tasks[0].Results[0].Host; got != "host-1" {
		t.Errorf("judged by %s", got)
	}
	said("disabled", "enabled")
	w.Enable("host-1", false) // while there is no work
	said("disabled", "disabled")
	w.clean()
}

// TestDrainedSlot: a slot out of use gets nothing, works once it is in use again, and ends the batch that it has.
func TestDrainedSlot(t *testing.T) {
	w := newWorld(t)
	e := newFakeEngine(2)
	pool := slots.NewPool(e.slots, time.Now)
	hold := func(i int) {
		t.Helper()
		if err := pool.Hold(e.slots[i].CPUs, slots.Hold{Cause: api.HoldOperator}); err != nil {
			t.Fatal(err)
		}
	}
	begun, release := make(chan struct{}), make(chan struct{})
	e.before = func(_ context.Context, input string) {
		if input == "last" {
			close(begun)
			<-release
		}
	}
	hold(0)
	hold(1)
	w.startOn(pool, t.TempDir(), e)
	lift := func(i int, inputs ...string) (id int) {
		t.Helper()
		if err := pool.Lift(e.slots[i].CPUs); err != nil {
			t.Fatal(err)
		}
		return w.submit(w.problem(inputs...), "")
	}
	drained := func(i int) {
		t.Helper()
		testkit.WaitFor(t, patience, "the drain", func() bool { return pool.Snapshot()[i].State == slots.Drained })
	}
	for _, i := range []int{0, 0, 1, 1, 0} { // not the order in which they wait
		id := lift(i, "1")
		if got := w.await(id).Tasks[0].Results[0].Host; got != HostName("host", i) {
			t.Errorf("judged by %s, want that of slot %d", got, i)
		}
		hold(i)
		drained(i)
	}
	id := lift(1, "last", "2")
	<-begun
	hold(1)
	if got := pool.Snapshot()[1].State; got != slots.Draining {
		t.Errorf("the slot that judges is %s", got)
	}
	close(release)
	if diff := cmp.Diff([]string{"correct", "correct"}, results(w.await(id))); diff != "" {
		t.Errorf("the batch of a slot that was drained meanwhile (-want +got)\n%s", diff)
	}
	drained(1)
	w.clean()
}

// TestLost: the client knows whether the server answers, by what the last request met.
func TestLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	missing := &domserver.Fault{Status: 404, Body: `{"message":"no such page"}`}
	var fault atomic.Pointer[domserver.Fault]
	w.Fault = func(string, string) *domserver.Fault { return fault.Load() }
	c := w.client("wrong")
	for _, step := range []struct {
		what  string
		fault *domserver.Fault
		use   string // password
		want  string // part of the error; "" for none
	}{
		{"wrong address", missing, "wrong", "no such page"},
		{"wrong account", nil, "wrong", "refuses the credentials"},
		{"correct account", nil, domserver.Password, ""},
		{"something that is not there", missing, domserver.Password, ""},
		{"away", &domserver.Fault{CutBefore: true}, domserver.Password, "EOF"},
		{"away when something is not there", missing, domserver.Password, "no such page"},
		{"back", nil, domserver.Password, ""},
	} {
		fault.Store(step.fault)
		c.Use(Account{domserver.User, step.use})
		_, err := c.Config(t.Context())
		got := fmt.Sprint(c.Lost())
		if (got == "<nil>") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s: lost %s after %v, want %q", step.what, got, err, step.want)
		}
	}
	unasked := w.client(domserver.Password)
	if unasked.Lost() == nil {
		t.Error("a server that has not been asked answers")
	}
}

// TestFullDisk: a file that cannot be written says nothing about the server, and is not fetched again at once.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	c := w.client(domserver.Password)
	if _, err := c.Config(t.Context()); err != nil {
		t.Fatal(err)
	}
	fetched := 0
	full := &os.PathError{Op: "write", Path: "input", Err: syscall.ENOSPC}
	err := c.do(t.Context(), request{method: "GET", path: "config", limit: smallAnswer, take: func(io.Reader) error {
		fetched++
		return full
	}})
	if !errors.Is(err, full) || errors.As(err, new(*serverError)) || fetched != 1 || c.Lost() != nil {
		t.Errorf("fetched %d times: %v; lost %v", fetched, err, c.Lost())
	}
}

// TestUnlistedHost: a host that the server does not list is distinguished from a disabled one.
func TestUnlistedHost(t *testing.T) {
	w := newWorld(t)
	on, err := w.client(domserver.Password).enabled(t.Context(), "stranger")
	const want = `the server does not list judgehost "stranger"; restart judged to register it`
	if err == nil || err.Error() != want {
		t.Errorf("enabled %t, %v; want %s", on, err, want)
	}
}

// TestUnknownSpace: free space that cannot be read is a fault of the host.
func TestUnknownSpace(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	w.startIn(folder, newFakeEngine(1))
	if err := os.RemoveAll(filepath.Join(folder, "scratch")); err != nil {
		t.Fatal(err)
	}
	w.submit(w.problem("1"), "") // the space is read at the start, which may be over, and after work
	testkit.WaitFor(t, patience, "an internal error", func() bool { return len(w.Errors()) > 0 })
	e := w.Errors()[0]
	if e.Kind != "judgehost" || e.ID != "host-0" || !strings.Contains(e.Description, "read the free space") {
		t.Errorf("internal error %+v", e)
	}
}

// TestConnectionsAreKept: a server with PHP ends a response some time after its content. Requests nevertheless share a
// few connections.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Fault = func(string, string) *domserver.Fault { return &domserver.Fault{Linger: 5 * time.Millisecond} }
	w.start(newFakeEngine(1))
	w.await(w.submit(w.problem(strings.Fields(strings.Repeat("1 ", 50))...), ""))
	// Two at a time are enough, but net/http may open one before another is back.
	if n := w.Opened(); n > 10 {
		t.Errorf("%d connections, want at most 10", n)
	}
	w.clean()
}

// TestTryAgain: the server may ask a host to repeat its request.
func TestTryAgain(t *testing.T) {
	w := newWorld(t)
	id := w.submit(w.problem("1"), "")
	w.TryAgain(3)
	w.start(newFakeEngine(1))
	w.await(id)
	if n := w.Requests("judgehosts/fetch-work"); n < 4 {
		t.Errorf("asked %d times", n)
	}
	w.clean()
}

// TestPrefetch: prefetched files are not fetched again.
func TestPrefetch(t *testing.T) {
	w := newWorld(t)
	p := w.problem("1", "2")
	w.start(newFakeEngine(1))
	testkit.WaitFor(t, patience, "registration", func() bool { return len(w.Hosts()) == 1 })
	w.Prefetch("host-0", domserver.Submission{Language: w.language, Problem: p})
	const scriptsAndTests = 5
	testkit.WaitFor(t, patience, "files", func() bool { return w.Requests("judgehosts/get_files") == scriptsAndTests })
	id := w.submit(p, "")
	w.await(id)
	if n := w.Requests("judgehosts/get_files"); n != scriptsAndTests+1 { // one for the source
		t.Errorf("fetched %d", n)
	}
	w.clean()
}

// TestVersions: versions are reported before the compilation, and a host with unwanted versions returns its tasks.
func TestVersions(t *testing.T) {
	for _, wanted := range []string{"version 1.2", "version 2"} {
		t.Run(wanted, func(t *testing.T) {
			w := newWorld(t)
			l := w.language
			l.CompilerVersion, l.RunnerVersion, l.WantedVersion = "gcc --version", "run --version", wanted
			p := w.problem("1")
			id := w.Submit(domserver.Submission{Language: l, Problem: p, Files: []domserver.File{{Name: "a.txt"}}})
			stop := w.start(newFakeEngine(1))
			testkit.WaitFor(t, patience, "versions", func() bool { return w.Versions(id) != nil })
			if wanted == "version 1.2" {
				w.await(id)
			} else {
				testkit.WaitFor(t, patience, "a disabled host", func() bool { return !w.Hosts()["host-0"] })
			}
			stop()
			want := map[string]string{"hostname": "host-0", "compiler": "version 1.2", "runner": "version 1.2"}
			if diff := cmp.Diff(want, w.Versions(id)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(w.Unfinished()) > 0 {
				t.Error(w.Unfinished())
			}
			w.clean()
		})
	}
}

// TestDrain: a drained host reports its current test and returns the other tasks.
func TestDrain(t *testing.T) {
	w := newWorld(t)
	p := w.problem("1", "2", "3")
	folder := t.TempDir()
	stop := w.startIn(folder, newFakeEngine(1)) // all test cases are cached then
	w.await(w.submit(p, ""))
	stop()
	id := w.submit(p, "text")
	e := newFakeEngine(1)
	begun, release := make(chan struct{}), make(chan struct{})
	e.before = func(_ context.Context, input string) {
		if input == "2" {
			close(begun)
			<-release
		}
	}
	stop = w.startIn(folder, e)
	<-begun
	w.drain()
	close(release)
	stop()
	j := w.Judging(id)
	if r := results(j); r[0] != "correct" || r[1] != "correct" || r[2] != "" || len(w.Unfinished()) > 0 {
		t.Errorf("results %q, unfinished %v", r, w.Unfinished())
	}
	w.clean()
}

// TestSharedJudging: several hosts share a judging and compile it once, and each test has one result.
func TestSharedJudging(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Batch = 2
	var inputs []string
	for i := range 40 {
		inputs = append(inputs, fmt.Sprint(i+1))
	}
	id := w.submit(w.problem(inputs...), "")
	e := newFakeEngine(4)
	stop := w.start(e)
	j := w.await(id)
	stop()
	by := map[string]int{}
	for _, x := range j.Tasks {
		if len(x.Results) != 1 || x.Given != 1 {
			t.Errorf("task %d: %d results, given %d times", x.ID, len(x.Results), x.Given)
		}
		by[x.Results[0].Host]++
	}
	if len(by) < 2 || e.compiled != 1 || len(e.judged) != len(inputs) {
		t.Errorf("by host %v, compiled %d times, judged %d", by, e.compiled, len(e.judged))
	}
	w.clean()
}
