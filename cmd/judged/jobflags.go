package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/client"
	"judged/internal/config"
	"judged/internal/intake"
	"judged/internal/job"
	"judged/internal/problem"
	"judged/internal/units"
)

// jobFlags are the flags that describe a job, the same for run and submit. The
// files of the job that they make are paths of this host, as parts.
type jobFlags struct {
	input, answer, tests  string
	checker               string
	timeLimit, wallLimit  time.Duration
	memory, output, stack units.Bytes
	processes, cpus       int
	repeats, policy, stop string
	head                  units.Bytes
	files                 []string
}

func (f *jobFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "one test: its input `FILE`")
	fl.StringVar(&f.answer, "answer", "", "its answer `FILE`; without it nothing is compared")
	fl.StringVar(&f.tests, "tests", "", "`DIR|ZIP` with NAME.in and NAME.ans (or .a, .out)")
	fl.StringVar(&f.checker, "checker", "tokens", "tokens, exact, lines or float:EPS")
	fl.DurationVar(&f.timeLimit, "time-limit", 0, "CPU time of the whole run, all processes and threads (default 2s)")
	fl.DurationVar(&f.wallLimit, "wall-limit", 0, "wall time (default twice the CPU time and 1s)")
	fl.Var(&f.memory, "memory-limit", "memory of the whole run (default 256MiB)")
	fl.Var(&f.output, "output-limit", "output of the run (default 64MiB)")
	fl.Var(&f.stack, "stack-limit", "stack of a process (default the memory limit)")
	fl.IntVar(&f.processes, "processes", 0, "processes and threads (default 64)")
	fl.IntVar(&f.cpus, "cpus", 1, "width of the slot")
	fl.StringVar(&f.repeats, "repeats", "", "run every test `N|MIN-MAX` times and report the dispersion")
	fl.StringVar(&f.policy, "policy", "", "how a time verdict near the limit is decided: confirm, single or min (default confirm)")
	fl.StringVar(&f.stop, "stop", "first-failure", "first-failure or never")
	fl.Var(&f.head, "head", "put the first bytes of stdout and stderr into the report")
	fl.StringArrayVar(&f.files, "file", nil, "a further file of the working directory, `NAME=PATH`; repeatable")
}

// localJob is a job whose files are on this host.
type localJob struct {
	job  job.Job
	name string // of the program in the working directory
	set  *problem.Set
}

func (l *localJob) Close() error {
	if l.set == nil {
		return nil
	}
	return l.set.Close()
}

// upload puts the job's files where the daemon has them and returns the job
// that names them there.
func (l *localJob) upload(ctx context.Context, cl client.Client) (job.Job, error) {
	return intake.MapFiles(l.job, func(field string, f job.File) (job.File, error) {
		if f.Part == "" {
			return f, nil
		}
		digest, err := cl.PutBlobFile(ctx, f.Part)
		if err != nil {
			return job.File{}, fmt.Errorf("upload %s: %w", field, err)
		}
		return job.File{Blob: digest}, nil
	})
}

// build reads flags and arguments. PROGRAM is a file, or else a name that is
// looked up inside the sandbox.
func (f *jobFlags) build(cmd *cobra.Command, c config.Config, args []string) (*localJob, error) {
	if err := f.refuseZero(cmd); err != nil {
		return nil, err
	}
	l := &localJob{}
	l.job = job.Job{
		Checker: &job.Checker{Kind: f.checker}, CPUs: f.cpus, Stop: job.Stop(f.stop), Head: f.head, Files: map[string]job.File{},
		Limits: job.Limits{CPUTimeMS: f.timeLimit.Milliseconds(), WallTimeMS: f.wallLimit.Milliseconds(), Memory: f.memory,
			Output: f.output, Stack: f.stack, Processes: f.processes},
	}
	var err error
	if l.job.Repeats, err = parseRepeats(f.repeats, f.policy); err != nil {
		return nil, err
	}
	if err := l.addProgram(args); err != nil {
		return nil, err
	}
	for _, spec := range f.files {
		name, path, ok := strings.Cut(spec, "=")
		if !ok {
			return nil, usagef("read --file %q: want NAME=PATH", spec)
		}
		if err := readable(path); err != nil {
			return nil, usagef("read --file %q: %w", spec, err)
		}
		l.job.Files[name] = job.File{Part: path}
	}
	if err := l.addTests(f); err != nil {
		return nil, err
	}
	if l.job, err = intake.Complete(c, l.job); err != nil {
		return nil, errors.Join(&usageError{err}, l.Close())
	}
	return l, nil
}

// refuseZero refuses limits that were given and cannot be meant: an absent one
// takes its default, a zero would too.
func (f *jobFlags) refuseZero(cmd *cobra.Command) error {
	positive := map[string]bool{"time-limit": f.timeLimit.Milliseconds() > 0, "wall-limit": f.wallLimit.Milliseconds() > 0, "memory-limit": f.memory > 0,
		"output-limit": f.output > 0, "stack-limit": f.stack > 0, "processes": f.processes > 0, "cpus": f.cpus > 0}
	for _, name := range []string{"time-limit", "wall-limit", "memory-limit", "output-limit", "stack-limit", "processes", "cpus"} {
		if cmd.Flags().Changed(name) && !positive[name] {
			return usagef("read --%s %q: want more than zero (times at least 1ms)", name, cmd.Flags().Lookup(name).Value)
		}
	}
	return nil
}

func (l *localJob) addProgram(args []string) error {
	if len(args) == 0 {
		return usagef("no PROGRAM; see judged help run")
	}
	program, rest := args[0], args[1:]
	err := readable(program)
	switch {
	case err == nil:
		l.name = filepath.Base(program)
		l.job.Program = job.File{Part: program}
		l.job.Command = append([]string{"{program}"}, rest...)
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(program, "/"):
		// Not a file here: execve says whether it is one in there.
		l.job.Command = args
	default:
		return usagef("read PROGRAM: %w", err)
	}
	return nil
}

func (l *localJob) addTests(f *jobFlags) error {
	if f.tests != "" {
		if f.input != "" || f.answer != "" {
			return usagef("read --tests: it goes without --input and --answer")
		}
		set, err := problem.OpenTests(f.tests)
		if err != nil {
			return &usageError{err}
		}
		l.set = set
		for _, t := range set.Tests {
			l.job.Tests = append(l.job.Tests, job.Test{Name: t.Name, Input: &job.File{Part: t.Input}, Answer: &job.File{Part: t.Answer}})
		}
		return nil
	}
	t := job.Test{Name: "1"}
	for _, x := range []struct {
		flag, path string
		to         **job.File
	}{{"--input", f.input, &t.Input}, {"--answer", f.answer, &t.Answer}} {
		if x.path == "" {
			continue
		}
		if err := readable(x.path); err != nil {
			return usagef("read %s: %w", x.flag, err)
		}
		*x.to = &job.File{Part: x.path}
	}
	l.job.Tests = []job.Test{t}
	return nil
}

// localPath is where the content of a local job's file lies.
func localPath(f job.File) (string, error) { return f.Part, nil }

// readable reports why a path is no file that can be read.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", path)
	}
	return nil
}

// parseRepeats reads N or MIN-MAX.
func parseRepeats(text, policy string) (job.Repeats, error) {
	r := job.Repeats{Policy: job.Policy(policy)}
	if text == "" {
		return r, nil
	}
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	var err1, err2 error
	r.Min, err1 = strconv.Atoi(low)
	r.Max, err2 = strconv.Atoi(high)
	if err1 != nil || err2 != nil || r.Min < 1 || r.Max < r.Min {
		return r, usagef("read --repeats %q: want N or MIN-MAX with 1 <= MIN <= MAX", text)
	}
	return r, nil
}
