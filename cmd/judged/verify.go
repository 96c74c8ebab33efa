package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/linux"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/host/slots"
)

// verifier judges the programs of a problem package.
type verifier struct {
	a       *app
	c       config.Config
	pkg     *problem.Package
	eng     *engine.Engine
	repeats api.Repeats // of the slowest tests, which bound the time limit
	// repeatAlways also repeats tests that bound no time limit, as they are far from it.
	repeatAlways bool
	strict       bool     // findings are failures
	stop         api.Stop // when a submission has no further tests
	progress     *verifyProgress
	results      *results
	// cacheLock, if not nil, keeps other verifications away from the compiled programs.
	cacheLock *os.File
	host      hostKey
	// accepted are solutions that propose has judged, by name. A limit that follows from their times changes no verdict.
	accepted map[string]solution
	factors  map[string]api.Factors // of the operator, by language
}

func (a *app) verifyCommand() *cobra.Command {
	var o verifyOptions
	var asJSON, strict bool
	var out string
	cmd := &cobra.Command{
		Use:   "verify [flags] PACKAGE",
		Short: "Judge a problem package's own submissions",
		Long: `Judge a problem package's own submissions. It needs root.

PACKAGE is a folder or an archive in a format of ICPC, Kattis, Polygon, CMS, DMOJ or sinol-make.
Each submission is judged until its verdict is known, as in a contest: the first
test that fails decides, unless groups of tests give points. Its verdicts must
be those that its folder, its tags, submissions.yaml or problem.xml expect.
Input validators read all inputs, and the checker judges the outputs in the
package.

Files that are not programs, and submissions in a language that this host lacks
or that the problem does not allow, are not judged. Each is a finding, as are
features of the package that judged does not support.

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
			v, err := a.openVerifier(cmd, args[0], o)
			if err != nil {
				return err
			}
			v.strict = strict
			r, err := v.verify(cmd.Context())
			if err := errors.Join(err, v.close()); err != nil {
				for _, d := range r.Validators {
					if !slices.Contains(v.pkg.Findings, d) {
						v.pkg.Findings = append(v.pkg.Findings, d)
					}
				}
				return v.pkg.Invalid(err)
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
	verifyFlags(cmd, a, &o)
	cmd.Flags().BoolVar(&o.allTests, "all-tests", false,
		"judge each submission on all tests, even after its verdict is known")
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&strict, "strict", false, "also exit with 1 if there is a finding")
	cmd.Flags().StringVar(&out, "out", "",
		"also write verify.json and verify.svg, a picture of all runs against the time "+
			"limit, into the folder `DIR`")
	return cmd
}

type verifyOptions struct {
	cpuList       string
	jobs, repeats int
	allTests      bool
	fresh         bool
}

func verifyFlags(cmd *cobra.Command, a *app, o *verifyOptions) {
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&o.jobs, "jobs", 1, "`NUMBER` of submissions that are judged concurrently, each on its own slot")
	cmd.Flags().IntVar(&o.repeats, "repeats", 3,
		"`NUMBER` of runs of the slowest tests of accepted submissions, which bound the time limit; without this flag, "+
			"verify does not repeat tests that are far from the limit")
	cmd.Flags().BoolVar(&o.fresh, "fresh", false,
		"judge everything again, even if it has not changed since an earlier verification on this host")
	a.configFlag(cmd)
	cpuListFlag(cmd, &o.cpuList)
}

// hostKey holds the properties of a host that reports depend on, besides the job.
type hostKey struct {
	Judged      [2]int64 // size and time of change of the program
	Fingerprint string
	Limits      config.Limits
	Sandbox     config.Sandbox
	Slots       config.Slots
	Repeats     config.Repeats
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
	v := &verifier{a: a, c: c, repeats: api.Repeats{Min: o.repeats, Max: o.repeats}, stop: api.StopFirstFailure,
		progress: newVerifyProgress(a.err), repeatAlways: cmd.Flags().Changed("repeats")}
	if o.allTests {
		v.stop = api.StopNever
	}
	if v.pkg, err = problem.Open(cmd.Context(), name); err != nil {
		return nil, unreadable(cmd.Context(), err)
	}
	v.pkg.Bound(c.Limits.Max.CPUTime, c.Limits.Max.Memory, c.Limits.Max.Output)
	options, err := engineOptions(c, a, cmd.Name()+" "+name)
	if err == nil {
		err = v.openCaches(&options, o.fresh)
	}
	if err == nil {
		v.factors = options.Languages.Catalogue.Factors()
		err = v.pkg.CheckLanguages(func(id string) error {
			_, err := options.Languages.Catalogue.Find(id, c.Sandbox.Root)
			return err
		})
		if err != nil {
			err = &usageError{err}
		}
	}
	if err == nil {
		options.Languages.CacheBytes = compiledBytes
		options.Languages.Catalogue, err = withBuiltIn(options.Languages.Catalogue)
	}
	if err == nil {
		options.Count = o.jobs
		if v.eng, err = engine.Open(options); err != nil {
			err = asUsage(err)
		} else if err = v.eng.Fit(v.eng.CPUs()); err == nil {
			err = a.makeTests(cmd.Context(), v.eng, v.pkg)
		}
	}
	if err != nil {
		return nil, v.pkg.Invalid(errors.Join(err, v.close()))
	}
	program, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil, errors.Join(err, v.close())
	}
	v.host = hostKey{[2]int64{program.Size(), program.ModTime().UnixNano()},
		v.eng.Host(v.eng.CPUs(), api.DoctorReport{}).Fingerprint, c.Limits, c.Sandbox, c.Slots, c.Repeats}
	return v, nil
}

// withBuiltIn adds the built-in languages to those of the operator: programs of the jury, such as build scripts, may be in
// languages that contestants do not have.
func withBuiltIn(catalogue languages.Catalogue) (languages.Catalogue, error) {
	all, err := languages.Load("")
	maps.Copy(all, catalogue)
	return all, err
}

// openCaches opens the folders in which compiled programs and results are kept from one verification to the next.
// Without a cache folder that can be made nothing is kept; compiled programs are kept by one verification at a time.
func (v *verifier) openCaches(options *engine.Options, fresh bool) (err error) {
	folder := cacheFolder()
	if folder == "" || os.MkdirAll(folder, 0o700) != nil {
		v.results, err = openResults("", fresh)
		return err
	}
	if v.results, err = openResults(filepath.Join(folder, "results"), fresh); err != nil {
		return err
	}
	switch v.cacheLock, err = linux.LockFile(filepath.Join(folder, "lock")); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil
	case err != nil:
		return fmt.Errorf("lock cache folder: %w", err)
	}
	options.Languages.Folder = filepath.Join(folder, "compiled")
	return nil
}

func (v *verifier) close() error {
	var errs []error
	if v.eng != nil {
		errs = append(errs, v.eng.Close())
	}
	if v.cacheLock != nil {
		errs = append(errs, v.cacheLock.Close())
	}
	return errors.Join(append(errs, v.pkg.Close())...)
}

// submission prepares a program of the package as a job. It calls change on the job.
func (v *verifier) submission(p problem.Program, change func(*api.Job)) (*localJob, error) {
	l := &localJob{program: p.Name}
	var err error
	if l.job, l.name, err = v.pkg.Start(p, api.Job{}); err != nil {
		return nil, err
	}
	if l.job, err = v.pkg.Judging(l.job); err != nil {
		return nil, &usageError{err}
	}
	change(&l.job)
	return l, nil
}

// judging judges a task: on a slot, or on the housekeeping CPUs.
type judging func(context.Context, judge.Task, func(api.TestReport)) (api.Report, error)

// on judges on a slot.
func (v *verifier) on(slot slots.Slot) judging {
	return func(ctx context.Context, t judge.Task, decided func(api.TestReport)) (api.Report, error) {
		return v.eng.Judge(ctx, slot, t, decided)
	}
}

// judge judges a job, or returns the report of the same job from an earlier verification.
func (v *verifier) judge(ctx context.Context, run judging, l *localJob, decided func(api.TestReport)) (api.Report,
	error) {
	task, err := v.task(ctx, l)
	if err != nil {
		return api.Report{}, err
	}
	compiled, err := v.eng.Compile(ctx, task)
	if err != nil {
		return api.Report{}, err
	}
	defer compiled.Close()
	if c := compiled.Compilation; compiled.Failed != nil {
		if c == nil {
			return api.Report{}, &usageError{fmt.Errorf("judge %s: %s", l.program, problem.CompilerSaid(*compiled.Failed))}
		}
		return *compiled.Failed, nil
	}
	key, err := v.results.key(l.job, v.host, compiled.Key())
	if err != nil {
		return api.Report{}, err
	}
	report, known := v.results.get(key)
	if known {
		return report, nil
	}
	report, err = run(ctx, compiled.Task, decided)
	report.Compilation = compiled.Compilation
	if _, noise := errors.AsType[*measure.NoiseError](err); noise {
		return judge.InternalError(report, err), nil
	}
	if err != nil {
		return report, err
	}
	return report, v.results.put(key, report)
}

// compileAhead compiles all submissions, in the order in which they are judged, until ctx ends. An error is left to the
// one who judges the submission.
func (v *verifier) compileAhead(ctx context.Context) {
	for _, s := range v.pkg.Submissions {
		l, err := v.submission(s.Program, func(*api.Job) {})
		if s.Skip || err != nil {
			continue
		}
		task, err := v.task(ctx, l)
		if err != nil {
			continue
		}
		compiled, err := v.eng.Compile(ctx, task)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			compiled.Close()
		}
	}
}

// task completes a job for this host.
func (v *verifier) task(ctx context.Context, l *localJob) (judge.Task, error) {
	l.job.CPUs = v.c.Slots.Width
	if err := l.complete(v.c); err != nil {
		return judge.Task{}, fmt.Errorf("judge %s: %w", l.program, err)
	}
	for member, id := range l.job.Languages() {
		err := v.eng.CheckLanguage(ctx, "", id)
		if err != nil && member != "language" {
			err = fmt.Errorf("read %s: %w", member, err)
		}
		if err != nil {
			return judge.Task{}, err
		}
	}
	return judge.NewTask(l.job, l.name, localPath)
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
