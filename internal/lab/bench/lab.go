package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/engine"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/testdata"
)

// lab is a running experiment.
type lab struct {
	ExperimentOptions
	ctx    context.Context // context of the only experiment of the lab
	result ExperimentResult

	eng   *engine.Engine // currently open
	site  *Site
	files []*os.File // programs in memory
}

// settle opens an engine with slots of a width, and its placements. It closes the previous one.
func (l *lab) settle(width int) error {
	if err := l.leaveEngine(); err != nil {
		return err
	}
	c, err := l.Open(width)
	if err != nil {
		return err
	}
	l.eng = c
	l.site, err = Open(c)
	return err
}

// tooWide returns the reason why this host has no slot of a width, if err means that. A slot of one CPU is always
// possible, unless the requested CPUs are unavailable.
func tooWide(width int, err error) (reason string, ok bool) {
	var usage *engine.UsageError
	if width == 1 || !errors.As(err, &usage) {
		return "", false
	}
	return usage.Error(), true
}

func (l *lab) leaveEngine() error {
	var errs []error
	if l.site != nil {
		errs = append(errs, l.site.Close())
	}
	if l.eng != nil {
		errs = append(errs, l.eng.Close())
	}
	l.site, l.eng = nil, nil
	return errors.Join(errs...)
}

func (l *lab) close() error {
	for _, f := range l.files {
		f.Close()
	}
	return l.leaveEngine()
}

// tellHost records the host while its engine is open.
func (l *lab) tellHost() error {
	// The result of an interrupted experiment includes the host too.
	examined, err := l.eng.Doctor(context.WithoutCancel(l.ctx))
	if err != nil {
		return err
	}
	l.result.Host = new(l.eng.Host(l.eng.CPUs(), examined))
	return nil
}

// measure runs cases and keeps the results, also of the runs before an error. done and total refer to the whole
// experiment.
func (l *lab) measure(cases []Case, done, total int) ([]Outcome, error) {
	outcomes, err := l.site.Run(l.ctx, cases, Options{N: l.N, Seed: l.Seed,
		Seen: func(n int, next string) { l.Seen(done+n, total, next) }})
	l.result.Cases = append(l.result.Cases, outcomes...)
	for _, o := range outcomes {
		if failed := len(o.Runs) - o.Verdicts[api.Accepted]; failed > 0 {
			l.note("%s: %d of %d runs did not come to their end: %v", o.Case, failed, len(o.Runs), o.Verdicts)
		}
	}
	return outcomes, err
}

// missing returns the reason why programs cannot run here, or "". A sandbox sees the host's programs.
func missing(names ...string) string {
	for _, name := range names {
		if _, ok := initproc.Find(name); !ok {
			return fmt.Sprintf("there is no %s in %s; install it", name, initproc.Path)
		}
	}
	return ""
}

// limits returns limits that no program of an experiment reaches.
func limits() api.Limits {
	return api.Limits{CPUTimeMS: time.Hour.Milliseconds(), WallTimeMS: (2 * time.Hour).Milliseconds(), Memory: 4 << 30,
		Output: 64 << 20, Stack: 64 << 20, Processes: 256}
}

// script returns a task that runs a Python source with arguments.
func (l *lab) script(name string, args ...string) (judge.Task, error) {
	source, err := l.hold(name)
	if err != nil {
		return judge.Task{}, err
	}
	return task(append([]string{"python3", name}, args...), source)
}

// program returns a task that runs a compiled source with arguments.
func program(binary sandbox.File, args ...string) (judge.Task, error) {
	return task(append([]string{"./" + binary.Name}, args...), binary)
}

func task(args []string, file sandbox.File) (judge.Task, error) {
	c, err := checker.Parse("tokens")
	return judge.Task{Args: args, Files: []sandbox.File{file}, Tests: []problem.Test{{Name: "1"}}, Checker: c,
		Limits: limits()}, err
}

// hold puts an embedded source into memory, from which sandboxes copy it.
func (l *lab) hold(name string) (sandbox.File, error) {
	content, err := testdata.ReadExperiment(name)
	if err != nil {
		return sandbox.File{}, err
	}
	return l.memFile(name, bytes.NewReader(content))
}

func (l *lab) memFile(name string, content io.Reader) (sandbox.File, error) {
	f, err := linux.Memfd(name)
	if err != nil {
		return sandbox.File{}, err
	}
	l.files = append(l.files, f)
	if _, err := io.Copy(f, content); err != nil {
		return sandbox.File{}, fmt.Errorf("keep %q: %w", name, err)
	}
	// Opened for every run, because each needs its own offset.
	return sandbox.File{Name: name, Path: fmt.Sprintf("/proc/self/fd/%d", f.Fd())}, nil
}

// compile compiles a C source in a sandbox, whose output is the program.
func (l *lab) compile(name string) (binary sandbox.File, err error) {
	source, err := l.hold(name)
	if err != nil {
		return sandbox.File{}, err
	}
	out := strings.TrimSuffix(name, ".c")
	q := measure.Request{
		Name: "compile", Files: []sandbox.File{source}, Limits: limits(), Head: 4 << 10,
		Args:    []string{"sh", "-c", "gcc -O2 -pthread -o program " + name + " && cat program"},
		Repeats: api.Repeats{Min: 1, Max: 1, Policy: api.Single},
		Check: func(_ context.Context, output *os.File) (api.CheckReport, error) {
			binary, err = l.memFile(out, output)
			binary.Exec = true
			return api.CheckReport{Verdict: api.Accepted}, err
		},
	}
	r, err := l.eng.Worker(l.eng.Slots()[0]).Test(l.ctx, q)
	if err != nil {
		return sandbox.File{}, fmt.Errorf("compile %s: %w", name, err)
	}
	if r.Verdict != api.Accepted {
		return sandbox.File{}, fmt.Errorf("compile %s: %s %s", name, r.Verdict, textOf(r.StderrHead))
	}
	return binary, nil
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return strings.TrimSpace(*s)
}
