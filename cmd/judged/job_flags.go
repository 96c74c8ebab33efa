package main

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/engine/checker"
	"judged/internal/jobs/intake"
)

// jobFlags are the flags that describe a job, the same for run and submit.
type jobFlags struct {
	input, answer, tests  string
	inputFile, outputFile string
	language              string
	compileOptions        []string
	pkg                   string           // --package of run
	max                   config.MaxLimits // that the limits of a package are lowered to
	problem, version      string           // --problem and --problem-version of submit
	checker               string
	checkerArgs           []string
	interactor            string
	interactorArgs        []string
	instances             int
	juryFiles             []string
	passes                int
	timeLimit, wallLimit  time.Duration
	memory, output, stack units.Bytes
	processes, cpus       int
	repeats, policy, stop string
	head                  units.Bytes
	files                 []string
	env                   []string
}

// add declares the flags. Flags whose default is in the configuration are empty, so that the judging side fills them in.
func (f *jobFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	// Arguments after PROGRAM belong to the program.
	fl.SetInterspersed(false)
	fl.StringVar(&f.input, "input", "", "input `FILE` of a single test; without it the input is empty")
	fl.StringVar(&f.answer, "answer", "", "answer `FILE` of a single test; without it nothing is compared")
	fl.StringVar(&f.tests, "tests", "", "`DIR|ARCHIVE` with tests NAME.in and NAME.ans, or in another common layout")
	fl.StringVar(&f.inputFile, "input-file", "",
		"`NAME` of a file in the working directory that PROGRAM reads instead of stdin")
	fl.StringVar(&f.outputFile, "output-file", "", "`NAME` of the file in the working directory that is compared "+
		"instead of stdout")
	fl.StringVar(&f.checker, "checker", checker.DefaultKind, "`KIND` of comparison: "+checker.Usage()+"; or a program: "+
		api.ProtocolUsage(api.CheckerProtocols()))
	fl.StringArrayVar(&f.checkerArgs, "checker-arg", nil,
		"additional `ARG` of a checker that is a program, or flag of kattis; repeatable")
	fl.StringVar(&f.interactor, "interactor", "", "program that communicates with PROGRAM and judges it: "+
		api.ProtocolUsage(api.InteractorProtocols()))
	fl.StringArrayVar(&f.interactorArgs, "interactor-arg", nil, "additional `ARG` of the interactor; repeatable")
	fl.IntVar(&f.instances, "instances", 0,
		"number of instances of PROGRAM that a manager, --interactor cms:PATH, "+
			"communicates with (default 1)")
	fl.StringArrayVar(&f.juryFiles, "jury-file", nil, "additional file next to the checker and the interactor, such as "+
		"a header of their sources, `NAME=PATH`; repeatable")
	fl.IntVar(&f.passes, "passes", 0, "maximum number `N` of passes of a multi-pass problem: PROGRAM runs again "+
		"on the nextpass.in of a checker or interactor icpc:PATH")
	fl.StringVar(&f.language, "language", "", "`ID` of the language of PROGRAM, if it is a source, such as cpp or python; "+
		"by default detected by the extension if PROGRAM cannot be executed")
	fl.StringArrayVar(&f.compileOptions, "compile-option", nil, "additional `OPTION` of the compiler that the language "+
		"allows, such as --compile-option=-O3; repeatable")
	f.addLimits(cmd)
	fl.StringVar(&f.repeats, "repeats", "", "run every test `N|MIN-MAX` times and report the dispersion")
	fl.StringVar(&f.policy, "policy", "", "`POLICY` that decides time verdicts near the limit: confirm, single or min "+
		"(default confirm)")
	fl.StringVar(&f.stop, "stop", "first-failure", "`RULE` that stops the tests: first-failure or never")
	sizeFlag(cmd, &f.head, "head", "include the first bytes of stdout and stderr in the report, a `SIZE` such as 4KiB")
	f.addFiles(cmd)
	fl.StringArrayVar(&f.env, "env", nil, "environment variable of PROGRAM, `NAME=VALUE`; repeatable")
}

// addLimits declares the flags that limit a run.
func (f *jobFlags) addLimits(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.DurationVar(&f.timeLimit, "time-limit", 0,
		"limit of the CPU `TIME` of all processes and threads, such as 1.5s (default 2s)")
	fl.DurationVar(&f.wallLimit, "wall-limit", 0, "limit of the wall `TIME` (default twice the CPU time limit plus 1s)")
	sizeFlag(cmd, &f.memory, "memory-limit", "limit of the memory without output, a `SIZE` such as 256MiB "+
		"(default 256MiB)")
	sizeFlag(cmd, &f.output, "output-limit", "limit of the `SIZE` of stdout and stderr together (default 64MiB)")
	sizeFlag(cmd, &f.stack, "stack-limit", "limit of the `SIZE` of a stack (default the memory limit)")
	fl.IntVar(&f.processes, "processes", 0, "maximum `NUMBER` of processes and threads (default 64)")
	fl.IntVar(&f.cpus, "cpus", 1, "width of the slot: the `NUMBER` of CPUs that the program gets")
}

func (f *jobFlags) addFiles(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.files, "file", nil,
		"additional file in the working directory, `NAME=PATH`; repeatable")
}

// sizeFlag declares a size flag whose help does not show the default 0.
func sizeFlag(cmd *cobra.Command, p *units.Bytes, name, usage string) {
	cmd.Flags().Var(p, name, usage)
	cmd.Flags().Lookup(name).DefValue = ""
}

// job returns the job that the flags describe, without files and without the defaults of the configuration.
func (f *jobFlags) job(cmd *cobra.Command) (api.Job, error) {
	if err := f.refuseZero(cmd); err != nil {
		return api.Job{}, err
	}
	repeats, err := parseRepeats(f.repeats, f.policy)
	if err != nil {
		return api.Job{}, err
	}
	check, err := f.checkerOf()
	if err != nil {
		return api.Job{}, err
	}
	talk, err := f.interactorOf()
	if err != nil {
		return api.Job{}, err
	}
	var env map[string]string
	if len(f.env) > 0 {
		if env, err = parsePairs("env", "NAME=VALUE", f.env); err != nil {
			return api.Job{}, err
		}
	}
	return api.Job{
		CompileOptions: f.compileOptions, Env: env, InputFile: f.inputFile, OutputFile: f.outputFile, Checker: check,
		Interactor: talk, Passes: f.passes, CPUs: f.cpus, Repeats: repeats, Stop: api.Stop(f.stop), Head: f.head,
		Limits: api.Limits{CPUTimeMS: f.timeLimit.Milliseconds(), WallTimeMS: f.wallLimit.Milliseconds(),
			Memory: f.memory, Output: f.output, Stack: f.stack, Processes: f.processes},
	}, nil
}

// checkerOf parses --checker: a kind, or the protocol and the path of a program.
func (f *jobFlags) checkerOf() (*api.Checker, error) {
	c := &api.Checker{Kind: f.checker, Args: f.checkerArgs}
	kind, path, named := strings.Cut(f.checker, ":")
	if _, isProgram := api.CheckerProtocol(kind); !isProgram {
		return c, nil
	}
	if !named {
		return nil, usagef("read --checker %q: no program; want %s:PATH", f.checker, kind)
	}
	if err := readable(path); err != nil {
		return nil, usagef("read --checker %q: %w; give a program that exists", f.checker, err)
	}
	c.Kind, c.Name, c.Program = kind, filepath.Base(path), &api.File{Part: path}
	var err error
	if c.Language, err = sourceLanguage(path); err != nil {
		return nil, usagef("read --checker %q: %w; begin it with a #! line", f.checker, err)
	}
	c.Files, err = f.filesOfJury()
	return c, err
}

// filesOfJury parses --jury-file.
func (f *jobFlags) filesOfJury() (map[string]api.File, error) {
	if len(f.juryFiles) == 0 {
		return nil, nil
	}
	return namedFiles("jury-file", f.juryFiles)
}

// interactorOf parses --interactor.
func (f *jobFlags) interactorOf() (*api.Interactor, error) {
	if f.interactor == "" {
		if len(f.interactorArgs) > 0 {
			return nil, usagef("read --interactor-arg: there is no --interactor; give one")
		}
		if f.instances != 0 {
			return nil, usagef("read --instances: there is no --interactor; give one")
		}
		return nil, nil
	}
	kind, path, named := strings.Cut(f.interactor, ":")
	if _, known := api.InteractorProtocol(kind); !known || !named {
		return nil, usagef("read --interactor %q: want %s", f.interactor, api.ProtocolUsage(api.InteractorProtocols()))
	}
	if err := readable(path); err != nil {
		return nil, usagef("read --interactor %q: %w; give a program that exists", f.interactor, err)
	}
	language, err := sourceLanguage(path)
	if err != nil {
		return nil, usagef("read --interactor %q: %w; begin it with a #! line", f.interactor, err)
	}
	files, err := f.filesOfJury()
	return &api.Interactor{Kind: kind, Name: filepath.Base(path), Program: api.File{Part: path}, Language: language,
		Files: files, Args: f.interactorArgs, Instances: f.instances}, err
}

// leastMemory is less than any program needs, and more than the kernel charges a run before execve.
const leastMemory = 1 << 20

// refuseZero refuses limits that are explicitly zero: a zero would silently select the default.
func (f *jobFlags) refuseZero(cmd *cobra.Command) error {
	const times, more = "want whole milliseconds, at least 1ms", "want more than zero"
	for _, x := range []struct {
		name string
		ok   bool
		want string
	}{
		{"time-limit", wholeMilliseconds(f.timeLimit), times},
		{"wall-limit", wholeMilliseconds(f.wallLimit), times},
		{"memory-limit", f.memory >= leastMemory, "want at least 1MiB, or no program starts"},
		{"output-limit", f.output > 0, more},
		{"stack-limit", f.stack > 0, more},
		{"processes", f.processes > 0, more},
		{"cpus", f.cpus > 0, more},
	} {
		if flag := cmd.Flags().Lookup(x.name); flag.Changed && !x.ok {
			return usagef("read --%s %q: %s", x.name, flag.Value, x.want)
		}
	}
	return nil
}

// wholeMilliseconds reports whether a limit is a whole number of milliseconds, the unit of jobs.
func wholeMilliseconds(d time.Duration) bool { return d > 0 && d%time.Millisecond == 0 }

// parseRepeats parses N or MIN-MAX.
func parseRepeats(text, policy string) (api.Repeats, error) {
	r := api.Repeats{Policy: api.Policy(policy)}
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
		return api.Repeats{}, usagef("read --repeats %q: want N or MIN-MAX with 1 <= MIN <= MAX", text)
	}
	return r, nil
}

// parsePairs parses NAME=VALUE flags. A repeated name is an error, because one of its values would be lost.
func parsePairs(flag, want string, list []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usagef("read --%s %q: want %s", flag, s, want)
		}
		if _, twice := pairs[name]; twice {
			return nil, usagef("read --%s %q: %q was given before; list each once", flag, s, name)
		}
		pairs[name] = value
	}
	return pairs, nil
}

// inFlags rewrites findings about a job so that they name flags instead of members.
func inFlags(err error) error {
	var found intake.Errors
	if !errors.As(err, &found) {
		return &usageError{err}
	}
	told := make(intake.Errors, len(found))
	for i, f := range found {
		told[i] = api.FieldError{Field: flagOf(f.Field), Detail: f.Detail}
	}
	return &usageError{told}
}

// flagOf returns the flag that sets a member of a job, or else the member's name.
func flagOf(field string) string {
	name, _, _ := strings.Cut(field, "[")
	switch name {
	case "limits.cpu_time_ms":
		return "--time-limit in milliseconds"
	case "limits.wall_time_ms":
		return "--wall-limit in milliseconds"
	case "limits.memory_bytes":
		return "--memory-limit in bytes"
	case "limits.output_bytes":
		return "--output-limit in bytes"
	case "limits.stack_bytes":
		return "--stack-limit in bytes"
	case "limits.processes":
		return "--processes"
	case "head_bytes":
		return "--head in bytes"
	case "compile_options":
		return "--compile-option"
	case "keep.stdout":
		return "--keep-stdout"
	case "keep.stderr":
		return "--keep-stderr"
	case "keep.compiler":
		return "--keep-compiler"
	case "keep.bytes":
		return "--keep-bytes in bytes"
	case "keep":
		return "--keep-stdout, --keep-stderr, --collect"
	case "callback", "callback.url":
		return "--callback"
	case "collect":
		return "--collect"
	case "language":
		return "--language"
	case "problem":
		return "--problem"
	case "problem_version":
		return "--problem-version"
	case "checker.kind", "checker.program", "checker.language":
		return "--checker"
	case "checker.args":
		return "--checker-arg"
	case "interactor.kind", "interactor.program", "interactor.language":
		return "--interactor"
	case "transcript":
		return "--transcript"
	case "input_file":
		return "--input-file"
	case "output_file":
		return "--output-file"
	case "interactor.instances":
		return "--instances"
	case "interactor.args":
		return "--interactor-arg"
	case "repeats", "repeats.min", "repeats.max":
		return "--repeats"
	case "repeats.policy":
		return "--policy"
	case "cpus", "stop", "priority", "passes":
		return "--" + field
	case "checker.files", "interactor.files":
		return strings.TrimSpace("--jury-file " + strings.Trim(field[len(name):], "[]"))
	case "files":
		return strings.TrimSpace("--file " + strings.Trim(field[len(name):], "[]"))
	case "env":
		return strings.TrimSpace("--env " + strings.Trim(field[len(name):], "[]"))
	case "labels":
		return strings.TrimSpace("--label " + strings.Trim(field[len(name):], "[]"))
	}
	return field
}
