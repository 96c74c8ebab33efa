package judgehost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// fakeEngine is an engine without a sandbox. A submission has lines INPUT VERDICT with the verdict for the test with
// that input. The verdict NOISE is an error, and SLEEP is an accepted run with a long wall time.
type fakeEngine struct {
	slots []slots.Slot
	// before, if not nil, is called before each test with its input.
	before func(ctx context.Context, input string)

	mu       sync.Mutex // guards the fields below
	compiled int        // runs of a compile script
	env      []string   // of the last one
	built    int
	judged   []string // inputs, in their order
	jobs     []judge.Task
}

func newFakeEngine(n int) *fakeEngine {
	e := &fakeEngine{}
	for i := range n {
		e.slots = append(e.slots, slots.Slot{CPUs: cpuset.New(i)})
	}
	return e
}

func (e *fakeEngine) Slots() []slots.Slot                   { return e.slots }
func (e *fakeEngine) Tidy(slots.Slot)                       {}
func (e *fakeEngine) Jury(slots.Slot) (*jury.Runner, error) { return nil, nil }

// RunScript creates the program of a submission from its sources, or the file "run" of a build script.
func (e *fakeEngine) RunScript(_ context.Context, s languages.Script, take func(*os.Root) error) (languages.Ended, error) {
	dir, err := os.MkdirTemp("", "fake")
	if err != nil {
		return languages.Ended{}, err
	}
	defer os.RemoveAll(dir)
	var text string
	for _, f := range s.Files {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			return languages.Ended{}, err
		}
		text += string(b)
		if err := os.WriteFile(filepath.Join(dir, f.Name), b, 0o700); err != nil {
			return languages.Ended{}, err
		}
	}
	made := programName
	e.mu.Lock()
	switch s.Command[0] {
	case "./build":
		e.built++
		made = runFile
	case "./version_check":
		made = ""
	default:
		e.compiled++
		e.env = s.Env
	}
	e.mu.Unlock()
	ended := languages.Ended{Output: []byte("said by " + s.Command[0] + "\n")}
	switch {
	case strings.Contains(text, "fail build") && made == runFile, strings.Contains(text, "compile error"):
		ended.Failure, ended.Code = "the compiler exited with status 1", 1
		return ended, nil
	case strings.Contains(text, "script error"):
		_, more, _ := strings.Cut(text, "script error")
		ended.Output = []byte("internal-error: no compiler here" + more + "\n")
	case made == programName:
		ended.Output = []byte("Info: detected entry_point: Main\nwarning: x\n")
		if _, said, prints := strings.Cut(text, "#pragma message "); prints {
			ended.Output = append(ended.Output, "note: "+said...)
		}
	case made == "":
		ended.Output = []byte("version 1.2 \n")
	}
	if made != "" && !strings.Contains(text, "make nothing") {
		if err := os.WriteFile(filepath.Join(dir, made), []byte(text), 0o700); err != nil {
			return languages.Ended{}, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return languages.Ended{}, err
	}
	defer root.Close()
	return ended, take(root)
}

func (e *fakeEngine) Judge(ctx context.Context, _ *slots.Lease, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	e.mu.Lock()
	e.jobs = append(e.jobs, t)
	e.mu.Unlock()
	var program string
	for _, f := range t.Files {
		if f.Name == programName {
			b, err := os.ReadFile(f.Path)
			if err != nil {
				return api.Report{}, err
			}
			program = string(b)
		}
	}
	for _, test := range t.Tests {
		b, err := os.ReadFile(test.Input)
		if err != nil {
			return api.Report{}, err
		}
		if _, err := os.Stat(test.Answer); err != nil {
			return api.Report{}, err
		}
		input := strings.TrimSpace(string(b))
		if e.before != nil {
			e.before(ctx, input)
		}
		if ctx.Err() != nil {
			return api.Report{}, context.Cause(ctx)
		}
		e.mu.Lock()
		e.judged = append(e.judged, input)
		e.mu.Unlock()
		r, err := fakeReport(test.Name, verdictIn(program, input))
		if err != nil {
			return api.Report{}, err
		}
		decided(r)
		if r.Verdict.Failed() {
			return api.Report{}, nil
		}
		if ctx.Err() != nil {
			return api.Report{}, context.Cause(ctx)
		}
	}
	return api.Report{}, nil
}

func verdictIn(program, input string) string {
	for line := range strings.Lines(program) {
		if of, verdict, _ := strings.Cut(strings.TrimSpace(line), " "); of == input {
			return verdict
		}
	}
	return "AC"
}

func fakeReport(name, verdict string) (api.TestReport, error) {
	cpu, wall, output, code := 12*time.Millisecond, 15*time.Millisecond, "out\xff\n", 0
	r := api.TestReport{Name: name, CPUTime: &cpu, WallTime: &wall, Exit: &api.Exit{Code: &code},
		Checker: &api.CheckReport{Verdict: api.Accepted, Message: "judge message", TeamMessage: "hint"}}
	word, rest, _ := strings.Cut(verdict, " ")
	r.Verdict = api.Verdict(word)
	zero := 0.0
	switch word {
	case "NOISE":
		return r, fmt.Errorf("judge test %q: %w", name, &measure.NoiseError{Test: name, Verdict: api.TimeLimit})
	case "BROKEN":
		return r, errors.New("the sandbox broke")
	case "BIG":
		r.Verdict, output = api.Accepted, strings.Repeat("x", 2*maxWaitingBytes)
	case "SLEEP":
		r.Verdict, wall = api.Accepted, 3*time.Second
	case "WA", "PE":
		r.Checker.Verdict = api.WrongAnswer
		if rest == "empty" {
			output = ""
		}
	case "ZERO":
		r.Verdict, r.Checker.Verdict, r.Checker.Score = api.WrongAnswer, api.WrongAnswer, &zero
	case "PC":
		half := 2.5
		r.Checker.Verdict, r.Checker.Score = api.Partial, &half
	case "IE":
		r.Fail(api.Fault(rest), "it failed")
	case "RTE":
		code = 3
	}
	r.Kept = []api.KeptOutput{{Output: api.Output{Stream: api.StdoutStream, Bytes: units.Bytes(len(output))},
		Content: []byte(output)}}
	r.Runs = []api.Run{{CPUTime: cpu, WallTime: wall, CPUs: "1", Kept: true}}
	return r, nil
}

// The scripts of the tests. They follow the conventions of the protocol.
const (
	redirectScript = "#!/bin/sh\n# runs it\nIN=\"$1\"; shift\nOUT=\"$1\"; shift\nexec \"$@\" < \"$IN\" > \"$OUT\"\n"
	noBuild        = "#!/bin/sh\n# nothing to build\n"
)

// patience is how long a busy machine may take.
const patience = time.Minute

// shortIdle is for servers that never answer. On a busy machine others take longer, too.
const shortIdle = 100 * time.Millisecond

// world is a server with all that submissions need.
type world struct {
	*domserver.Server
	t        *testing.T
	language domserver.Language
	run      domserver.Executable
	compare  domserver.Executable
	service  *Service                             // the last one that start has started
	drain    context.CancelFunc                   // drains it
	idle     time.Duration                        // of its client; 0 means that of judged
	pause    func(context.Context, time.Duration) // of its client, if not nil
	outage   time.Duration                        // of its client; 0 means that of judged
}

func newWorld(t *testing.T) *world {
	w := &world{Server: domserver.New(t), t: t}
	w.run = w.AddExecutable(domserver.File{Name: "build", Content: noBuild, Exec: true},
		domserver.File{Name: "run", Content: redirectScript, Exec: true})
	w.compare = w.AddExecutable(domserver.File{Name: "build", Content: "#!/bin/sh\ngcc compare.c\n", Exec: true},
		domserver.File{Name: "compare.c", Content: "int main;"})
	w.language = domserver.Language{Extensions: []string{"txt"},
		Compile: w.AddExecutable(domserver.File{Name: "run", Content: "#!/bin/sh\n", Exec: true})}
	return w
}

// problem returns a problem with a test for each input.
func (w *world) problem(inputs ...string) domserver.Problem {
	p := domserver.Problem{TimeLimit: 1, Run: w.run, Compare: w.compare}
	for _, in := range inputs {
		p.Tests = append(p.Tests, w.AddTestcase(in+"\n", "answer "+in+"\n"))
	}
	return p
}

func (w *world) submit(p domserver.Problem, text string) int {
	return w.Submit(domserver.Submission{Language: w.language, Problem: p,
		Files: []domserver.File{{Name: "main.txt", Content: text}}})
}

// slotEngine is an Engine that knows its slots.
type slotEngine interface {
	Engine
	Slots() []slots.Slot
}

// start runs a service until the test ends or stop is called.
func (w *world) start(e slotEngine) (stop func()) {
	w.t.Helper()
	return w.startIn(w.t.TempDir(), e)
}

func (w *world) startIn(folder string, e slotEngine) (stop func()) {
	w.t.Helper()
	return w.startOn(slots.NewPool(e.Slots(), time.Now), folder, e)
}

func (w *world) startOn(pool *slots.Pool, folder string, e Engine) (stop func()) {
	w.t.Helper()
	c := w.client(domserver.Password)
	config, err := Await(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := New(w.t.Context(), Options{Client: c, Config: config, Engine: e, Pool: pool, Name: "host",
		Folder: folder, Work: Work{Bytes: 1 << 20, Files: 100}, Log: w.log()})
	if err != nil {
		w.t.Fatal(err)
	}
	drain, cancel := context.WithCancel(context.Background())
	w.service, w.drain = s, cancel
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(drain, context.Background())
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *world) log() *slog.Logger { return slog.New(slog.NewTextHandler(w.t.Output(), nil)) }

// client returns a client with short pauses.
func (w *world) client(password string) *Client {
	s := quickServer(w.Base(), password, w.log())
	s.Idle, s.Outage = w.idle, w.outage
	if w.pause != nil {
		s.Pause = w.pause
	}
	c, err := NewClient(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// quickServer is a server whose clients make short pauses.
func quickServer(url, password string, log *slog.Logger) Server {
	return Server{URL: url, Account: Account{domserver.User, password}, Log: log,
		Pause: func(ctx context.Context, d time.Duration) {
			select {
			case <-time.After(min(d/50, 20*time.Millisecond)):
			case <-ctx.Done():
			}
		}}
}

// await waits until a judging has a result and nothing is assigned.
func (w *world) await(id int) domserver.Judging {
	w.t.Helper()
	testkit.WaitFor(w.t, patience, fmt.Sprintf("judging %d", id), func() bool { return w.Judging(id).Result != "" })
	return w.Judging(id)
}

// clean fails the test if the server has recorded a violation of the protocol.
func (w *world) clean() {
	w.t.Helper()
	for _, c := range w.Complaints() {
		w.t.Error(c)
	}
}

// results returns the results of the tests of a judging, "" for those without.
func results(j domserver.Judging) (list []string) {
	for _, t := range j.Tasks {
		r := ""
		for i, x := range t.Results {
			if i > 0 {
				r += "+"
			}
			r += x.Values["runresult"]
		}
		list = append(list, r)
	}
	return list
}
