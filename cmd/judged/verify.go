package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/host/slots"
	"judged/internal/service/render"
)

// verifier judges the programs of a problem package.
type verifier struct {
	a       *app
	c       config.Config
	pkg     *problem.Package
	eng     *engine.Engine
	repeats api.Repeats // of submissions that bound the time limit
	line    render.Line
	done    int // programs judged; guarded by mu
	mu      sync.Mutex
}

func (a *app) verifyCommand() *cobra.Command {
	var cpuList string
	var jobs, repeats int
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "verify [flags] PACKAGE",
		Short: "Judge a problem package's own submissions",
		Long: `Judge a problem package's own submissions. It needs root.

PACKAGE is a folder or an archive in a format of ICPC, Kattis or Polygon. Each
submission is judged on all tests; its verdicts have to be those that its
folder, its tags, submissions.yaml or problem.xml expect. Input validators read
all inputs, and the checker judges the outputs in the package.

Exit codes: 0 all is as expected, 1 something differs, 2 wrong usage or an
unusable package, 3 judged itself could not do its work.`,
		Example: `  judged verify problem/
  judged verify --jobs 4 --json problem.zip
  judged verify --out pictures problem/`,
		Args: exactly(1, "one PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := makeFolder(out); err != nil {
				return err
			}
			v, err := a.openVerifier(cmd, args[0], verifyOptions{cpuList, jobs, repeats})
			if err != nil {
				return err
			}
			r, err := v.verify(cmd.Context())
			if err := errors.Join(err, v.close()); err != nil {
				return err
			}
			if err := r.writeFiles(out); err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(r)
			} else {
				err = r.print(a.out)
			}
			if err == nil && !r.OK {
				err = errNo
			}
			return err
		},
	}
	verifyFlags(cmd, a, &cpuList, &jobs, &repeats)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&out, "out", "",
		"also write verify.json and verify.svg, a picture of all runs against the time "+
			"limit, into the folder `DIR`")
	return cmd
}

type verifyOptions struct {
	cpuList       string
	jobs, repeats int
}

func verifyFlags(cmd *cobra.Command, a *app, cpuList *string, jobs, repeats *int) {
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(jobs, "jobs", 1, "`NUMBER` of submissions that are judged at once, each on its own slot")
	cmd.Flags().IntVar(repeats, "repeats", 3, "`NUMBER` of runs of each test of submissions that bound the time limit")
	a.configFlag(cmd)
	cpuListFlag(cmd, cpuList)
}

// compiledBytes is the size of the compile cache during verification.
const compiledBytes = 1 << 30

// openVerifier reads the package and opens an engine. The caller must close the verifier.
func (a *app) openVerifier(cmd *cobra.Command, name string, o verifyOptions) (_ *verifier, err error) {
	if o.jobs < 1 || o.repeats < 1 {
		return nil, usagef("read --jobs and --repeats: want at least 1")
	}
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	if err := overlaySlots(&c, cmd, o.cpuList); err != nil {
		return nil, err
	}
	v := &verifier{a: a, c: c, repeats: api.Repeats{Min: o.repeats, Max: o.repeats}, line: render.Line{W: a.err}}
	if v.pkg, err = problem.Open(cmd.Context(), name); err != nil {
		return nil, unreadable(cmd.Context(), err)
	}
	options, err := engineOptions(c, a, cmd.Name()+" "+name)
	if err == nil {
		options.Languages.CacheBytes = compiledBytes
		options.Languages.Catalogue, err = languages.Load("")
	}
	if err == nil {
		options.Count = o.jobs
		if v.eng, err = engine.Open(options); err != nil {
			err = asUsage(err)
		} else {
			err = v.eng.Fit(v.eng.CPUs())
		}
	}
	if err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *verifier) close() error {
	var errs []error
	if v.eng != nil {
		errs = append(errs, v.eng.Close())
	}
	return errors.Join(append(errs, v.pkg.Close())...)
}

// submission judges a program of the package on a slot. It calls change on the job first.
func (v *verifier) submission(ctx context.Context, slot slots.Slot, p problem.Program,
	change func(*api.Job)) (api.Report, error) {
	l := &localJob{program: p.Name}
	var err error
	if l.job, l.name, err = v.pkg.Start(p, api.Job{}); err != nil {
		return api.Report{}, err
	}
	if l.job, err = v.pkg.Judging(l.job); err != nil {
		return api.Report{}, &usageError{err}
	}
	change(&l.job)
	return v.judge(ctx, slot, l)
}

// judge judges a job on a slot, with all of its tests.
func (v *verifier) judge(ctx context.Context, slot slots.Slot, l *localJob) (api.Report,
	error) {
	l.job.Stop, l.job.CPUs = api.StopNever, v.c.Slots.Width
	if err := l.complete(v.c); err != nil {
		return api.Report{}, fmt.Errorf("judge %s: %w", l.program, err)
	}
	if err := checkLanguages(ctx, v.eng, l.job); err != nil {
		return api.Report{}, err
	}
	task, err := judge.NewTask(l.job, l.name, localPath)
	if err != nil {
		return api.Report{}, err
	}
	report, err := v.eng.Judge(ctx, slot, task, func(api.TestReport) {})
	if noise := new(measure.NoiseError); errors.As(err, &noise) {
		return judge.InternalError(report, err), nil
	}
	if c := report.Compilation; err == nil && c != nil && c.Program != "" {
		err = &usageError{fmt.Errorf("judge %s: %s", l.program, problem.CompilerSaid(report))}
	}
	return report, err
}

// each calls f for each of n programs, concurrently on all slots.
func (v *verifier) each(n int, f func(i int, slot slots.Slot) error) error {
	var group sync.WaitGroup
	next := make(chan int)
	errs := make([]error, len(v.eng.Slots()))
	for s, slot := range v.eng.Slots() {
		group.Go(func() {
			for i := range next {
				if errs[s] == nil {
					errs[s] = f(i, slot)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}

func (v *verifier) progress(name string) {
	if !isTerminal(v.a.err) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done++
	v.line.Show("%d of %d  %s", v.done, len(v.pkg.Submissions), render.Printable(name))
}

// solutions judges the submissions that the filter selects, with the given time limit.
func (v *verifier) solutions(ctx context.Context, limit time.Duration,
	only func(problem.Submission) bool) ([]solution, error) {
	judged := make([]*solution, len(v.pkg.Submissions))
	err := v.each(len(judged), func(i int, slot slots.Slot) error {
		s := v.pkg.Submissions[i]
		if s.Skip || !only(s) {
			return nil
		}
		v.progress(s.Name)
		x, err := v.solution(ctx, slot, s, limit)
		judged[i] = &x
		return err
	})
	if isTerminal(v.a.err) {
		v.line.Clear()
	}
	var found []solution
	for _, x := range judged {
		if x != nil {
			found = append(found, *x)
		}
	}
	return found, err
}

// solution judges one submission. One that must be too slow is judged again with the longer limit that the format
// requires.
func (v *verifier) solution(ctx context.Context, slot slots.Slot, s problem.Submission,
	limit time.Duration) (solution, error) {
	x := solution{Name: s.Name, Language: s.Language, lower: s.Lower, upper: s.Upper}
	report, err := v.submission(ctx, slot, s.Program, func(j *api.Job) {
		j.Limits.CPUTimeMS = limit.Milliseconds()
		if s.Lower {
			j.Repeats = v.repeats
		}
	})
	if notHere(err) {
		x.Differences = []string{"not judged: " + err.Error()}
		return x, nil
	}
	if err != nil {
		return x, err
	}
	x.record(report)
	x.Differences = s.Difference(report)
	if report.Verdict == api.InternalError {
		x.Differences = append(x.Differences, "internal error: "+report.Message)
	}
	if !s.Upper || len(x.Differences) > 0 || v.pkg.TimeRule.Rejected <= 1 {
		return x, nil
	}
	wide := time.Duration(float64(limit) * v.pkg.TimeRule.Rejected)
	if wide > v.c.Limits.Max.CPUTime {
		x.unverified = fmt.Sprintf("%s was not judged with %g times the time limit, %s: limits.max.cpu_time is %s",
			s.Name,
			v.pkg.TimeRule.Rejected, units.Duration(wide), units.Duration(v.c.Limits.Max.CPUTime))
		return x, nil
	}
	report, err = v.submission(ctx, slot, s.Program, func(j *api.Job) { j.Limits.CPUTimeMS = wide.Milliseconds() })
	if err != nil {
		return x, err
	}
	x.record(report)
	if !anyTimeLimit(report) {
		x.Differences = append(x.Differences, fmt.Sprintf("within %g times the time limit; the format wants it slower",
			v.pkg.TimeRule.Rejected))
	}
	return x, nil
}

// notHere reports whether the error means that judged, or this host, cannot run a program.
func notHere(err error) bool {
	return errors.As(err, new(*problem.ProgramError)) || errors.As(err, new(*api.LanguageUnavailableError))
}

func anyTimeLimit(r api.Report) bool {
	for _, t := range r.Tests {
		if t.Verdict.JudgementType() == "TLE" {
			return true
		}
	}
	return false
}

// validators runs the input validators on all inputs and evaluates their exit status.
func (v *verifier) validators(ctx context.Context) ([]string, error) {
	var differences []string
	rejected := map[string]bool{}
	for _, x := range v.pkg.Validators {
		exits, err := v.validator(ctx, x)
		if notHere(err) {
			differences = append(differences, "input validator not run: "+err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		inputs, rejects := validated(v.pkg, x, exits)
		differences = append(differences, inputs...)
		for name := range rejects {
			rejected[name] = true
		}
	}
	for _, t := range v.pkg.InvalidInputs {
		if !rejected[t.Name] {
			differences = append(differences, fmt.Sprintf("no input validator rejects %s", t.Name))
		}
	}
	return differences, nil
}

// validated compares a validator's exit status with the expected one. It returns the differences and the invalid inputs
// that the validator rejects. An input at which it did not exit is never rejected.
func validated(pkg *problem.Package, x problem.Validator, exits map[string]int) (differences []string,
	rejects map[string]bool) {
	rejects = map[string]bool{}
	for _, t := range slices.Concat(pkg.Tests, pkg.InvalidInputs) {
		invalid := slices.ContainsFunc(pkg.InvalidInputs, func(i problem.Test) bool { return i.Name == t.Name })
		switch status, exited := exits[t.Name]; {
		case !exited:
			differences = append(differences, fmt.Sprintf("%s did not exit at the input of %s", x.Program.Name,
				t.Name))
		case invalid && status != x.OK:
			rejects[t.Name] = true
		case invalid:
		case status != x.OK:
			differences = append(differences, fmt.Sprintf("%s rejects the input of %s", x.Program.Name, t.Name))
		}
	}
	return differences, rejects
}

// validator runs one validator and returns its exit status by input. Inputs at which it did not exit are missing.
func (v *verifier) validator(ctx context.Context, x problem.Validator) (map[string]int, error) {
	l := &localJob{program: x.Program.Name}
	var err error
	if l.job, l.name, err = v.pkg.Start(x.Program, api.Job{}); err != nil {
		return nil, err
	}
	l.job.Limits = api.Limits{CPUTimeMS: v.c.Limits.Jury.CPUTime.Milliseconds()}
	for _, t := range slices.Concat(v.pkg.Tests, v.pkg.InvalidInputs) {
		l.job.Tests = append(l.job.Tests, api.Test{Name: t.Name, Input: &api.File{Part: t.Input}})
	}
	report, err := v.judge(ctx, v.eng.Slots()[0], l)
	if err != nil {
		return nil, err
	}
	if report.Verdict == api.CompileError {
		return nil, &problem.ProgramError{Name: x.Program.Name,
			Reason: "does not compile: " + problem.CompilerSaid(report)}
	}
	exits := map[string]int{}
	for _, t := range report.Tests {
		if t.Exit != nil && t.Exit.Code != nil {
			exits[t.Name] = *t.Exit.Code
		}
	}
	return exits, nil
}

// outputs runs the checker on the package's sample outputs and compares verdicts.
func (v *verifier) outputs(ctx context.Context) ([]string, error) {
	var differences []string
	for _, o := range v.pkg.Outputs {
		j, err := v.pkg.Judging(api.Job{})
		if err != nil {
			return nil, &usageError{err}
		}
		j.Scheme = nil
		j.Command, j.Files = []string{"cat", "output"}, map[string]api.File{"output": {Part: o.Path}}
		j.Tests = []api.Test{{Name: o.Test.Name, Input: &api.File{Part: o.Test.Input},
			Answer: &api.File{Part: o.Test.Answer}}}
		report, err := v.judge(ctx, v.eng.Slots()[0], &localJob{program: o.Test.Name, job: j})
		if err != nil {
			return nil, err
		}
		if d := outputDifference(o, report); d != "" {
			differences = append(differences, d)
		}
	}
	return differences, nil
}

// outputDifference returns how a report differs from the expected verdict of an output, or "". An output that the
// checker has not read, for example because it is too large, does not count as rejected.
func outputDifference(o problem.Output, r api.Report) string {
	if r.Verdict == api.InternalError {
		return fmt.Sprintf("checker at %s: %s", o.Test.Name, r.Message)
	}
	if len(r.Tests) != 1 || r.Tests[0].Checker == nil {
		return fmt.Sprintf("the checker did not judge %s: its verdict is %s", o.Test.Name, r.Verdict)
	}
	said := r.Tests[0].Checker.Verdict
	if valid := said == api.Accepted || said == api.Partial; valid != o.Valid {
		return fmt.Sprintf("the checker says %s of %s", said, o.Test.Name)
	}
	return ""
}
