package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/jobs/intake"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// localJob is a job whose files are on this host: its parts are paths.
type localJob struct {
	job     api.Job
	program string // as it was given
	name    string // of the program in the working directory; "" is a command of the sandbox
	set     *problem.Set
	pkg     *problem.Package // of --package
	quote   bool             // the output, because the user did not choose --head
}

// Close removes unpacked files.
func (l *localJob) Close() error {
	var errs []error
	if l.set != nil {
		errs = append(errs, l.set.Close())
	}
	if l.pkg != nil {
		errs = append(errs, l.pkg.Close())
	}
	return errors.Join(errs...)
}

// build builds a job from flags and arguments. The caller must close it.
func (f *jobFlags) build(cmd *cobra.Command, args []string) (*localJob, error) {
	j, err := f.job(cmd)
	if err != nil {
		return nil, err
	}
	l := &localJob{job: j}
	if len(args) == 0 {
		return nil, usagef("no PROGRAM; see %s --help", cmd.CommandPath())
	}
	if err := l.addProgram(args); err != nil {
		return nil, err
	}
	if err := l.setLanguage(cmd, f.language, args); err != nil {
		return nil, err
	}
	if err := l.addFiles(f.files); err != nil {
		return nil, err
	}
	if err := l.addTests(cmd, f); err != nil {
		return nil, err
	}
	return l, nil
}

// addProgram sets the program: a file of this host, or else, if PROGRAM has no slash and is not named like a source, a
// name that is looked up inside the sandbox.
func (l *localJob) addProgram(args []string) error {
	program, rest := args[0], args[1:]
	l.program = program
	err := readable(program)
	switch {
	case err == nil:
		l.name = filepath.Base(program)
		l.job.Program = api.File{Part: program}
		l.job.Command = append([]string{"{program}"}, rest...)
	case errors.Is(err, fs.ErrNotExist) && program != "" && !strings.Contains(program, "/"):
		sources, err := languagesOf(program)
		if err != nil {
			return err
		}
		if len(sources) > 0 {
			return usagef("read PROGRAM %q: no such file here; give a source that exists", program)
		}
		l.job.Command = args
	default:
		return usagef("read PROGRAM: %w; give a file, or a program of the sandbox", err)
	}
	return nil
}

// setLanguage marks PROGRAM as a source, in the language of --language or else of its extension. Without --language a
// file that can be executed is not a source.
func (l *localJob) setLanguage(cmd *cobra.Command, language string, args []string) error {
	if l.name == "" {
		if language != "" {
			return usagef("read --language: there is no file %q; give a source that exists", args[0])
		}
		return nil
	}
	if language == "" {
		var err error
		language, err = sourceLanguage(l.program)
		if _, several := errors.AsType[*languagesError](err); several {
			return usagef("read PROGRAM %q: %w; give one of them as --language", l.program, err)
		}
		if err != nil || language == "" {
			return err
		}
	}
	if len(args) > 1 && strings.HasPrefix(args[1], "-") {
		return usagef("read ARG %q: flags come before PROGRAM; write %s %s ... %s", args[1], cmd.CommandPath(), args[1],
			l.program)
	}
	if len(args) > 1 {
		return usagef("read ARG %q: a source has none; leave it out", args[1])
	}
	l.job.Language, l.job.Command = language, nil
	return nil
}

// languagesError reports a source whose extension does not determine its language.
type languagesError struct{ ids []string }

func (e *languagesError) Error() string { return "a source in " + strings.Join(e.ids, " or ") }

// sourceLanguage returns the language of a source by its extension, or "" for a file that can be executed.
func sourceLanguage(path string) (string, error) {
	if program, err := isProgram(path); err != nil || program {
		return "", err
	}
	known, err := languagesOf(path)
	if err != nil || len(known) == 0 {
		return "", err
	}
	if len(known) > 1 {
		return "", &languagesError{known}
	}
	return known[0], nil
}

// languagesOf returns the IDs of the languages whose sources have the extension of path.
func languagesOf(path string) ([]string, error) {
	catalogue, err := languages.Load("")
	return catalogue.ByExtension(path), err
}

// isProgram reports whether a file starts with the magic bytes of an ELF program or a script.
func isProgram(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.HasPrefix(head[:n], []byte("#!")) || bytes.Equal(head, []byte("\x7fELF")), nil
}

// complete fills in the defaults of this host's configuration. It returns an error if the job cannot run here.
func (l *localJob) complete(c config.Config) (err error) {
	if l.job, err = intake.Complete(c, l.job); err != nil {
		return inFlags(err)
	}
	catalogue, err := languages.Load(c.Languages.File)
	if err != nil {
		return usagef("languages.file: %w", err)
	}
	l.job = intake.Scale(c, catalogue.Factors(), l.job)
	if err := l.findCommand(c.Sandbox.Root); err != nil {
		return err
	}
	return l.fits(c.Sandbox.WorkSize)
}

// quoteOutput makes the report quote the output of tests, so that it can show why one failed. All tests together quote
// up to 1 MiB of each stream, which every job may.
func (l *localJob) quoteOutput() {
	const each, all = 4 << 10, 1 << 20
	l.job.Head = min(each, all/units.Bytes(max(1, len(l.job.Tests))))
}

// findCommand refuses a PROGRAM that is neither a file of this host nor a program of the sandbox. A misspelt name is
// wrong usage, not the contestant's fault.
func (l *localJob) findCommand(root string) error {
	if l.name != "" {
		return nil
	}
	name := l.job.Command[0]
	if sandbox.Root(root) == sandbox.RootMinimal {
		return usagef("find PROGRAM %q: no such file, and a minimal root has no programs; give a file that "+
			"exists", name)
	}
	if _, ok := initproc.Find(name); ok {
		return nil
	}
	return usagef("find PROGRAM %q: no such file, and no such program in %s; give one that exists", name, initproc.Path)
}

// fits refuses more files than a working directory can hold.
func (l *localJob) fits(room units.Bytes) error {
	err := intake.CheckRoom(l.job, room, func(f api.File) (units.Bytes, error) {
		info, err := os.Stat(f.Part)
		if err != nil {
			return 0, err
		}
		return units.Bytes(info.Size()), nil
	})
	if err != nil {
		return inFlags(err)
	}
	return nil
}

func (l *localJob) addFiles(specs []string) error {
	files, err := namedFiles("file", specs)
	if err != nil {
		return err
	}
	if _, taken := files[l.name]; taken {
		return usagef("read --file %q: the name is that of PROGRAM; choose another one", l.name)
	}
	l.job.Files = files
	return nil
}

// namedFiles parses NAME=PATH flags.
func namedFiles(flag string, specs []string) (map[string]api.File, error) {
	pairs, err := parsePairs(flag, "NAME=PATH", specs)
	if err != nil {
		return nil, err
	}
	files := map[string]api.File{}
	for name, path := range pairs {
		if err := readable(path); err != nil {
			return nil, usagef("read --%s %q: %w; give a file that exists", flag, name, err)
		}
		files[name] = api.File{Part: path}
	}
	return files, nil
}

// addTests checks whether flags are present, not whether their values are empty: an empty value comes from an unset
// variable of a script, and must not silently become a test without an answer.
func (l *localJob) addTests(cmd *cobra.Command, f *jobFlags) error {
	given := cmd.Flags().Changed
	for _, whole := range []string{"package", "problem"} {
		if !given(whole) {
			continue
		}
		for _, other := range []string{"tests", "input", "answer", "checker", "checker-arg", "interactor",
			"instances", "jury-file", "passes"} {
			if given(other) {
				return usagef("--%s cannot be combined with --%s", whole, other)
			}
		}
	}
	if given("package") {
		return l.openPackage(cmd.Context(), f)
	}
	if given("problem") || given("problem-version") {
		return l.nameProblem(f)
	}
	if given("tests") {
		if given("input") || given("answer") {
			return usagef("--tests cannot be combined with --input and --answer")
		}
		return l.openTests(cmd.Context(), f.tests, given("interactor"))
	}
	t := api.Test{Name: "1"}
	for _, x := range []struct {
		flag, path string
		to         **api.File
	}{{"input", f.input, &t.Input}, {"answer", f.answer, &t.Answer}} {
		if !given(x.flag) {
			continue
		}
		if err := readable(x.path); err != nil && !isNull(x.path) {
			return usagef("read --%s: %w; give a file that exists, or leave the flag out", x.flag, err)
		}
		*x.to = &api.File{Part: x.path}
	}
	l.job.Tests = []api.Test{t}
	return nil
}

// nameProblem refers to a problem of the daemon, which has the tests, the checker and the interactor.
func (l *localJob) nameProblem(f *jobFlags) error {
	if f.problem == "" { // --problem-version alone
		return usagef("read --problem: there is no ID; give that of a problem of the daemon")
	}
	l.job.Problem, l.job.ProblemVersion, l.job.Checker = f.problem, f.version, nil
	return nil
}

// openPackage reads tests, limits, checker and interactor from a problem package.
func (l *localJob) openPackage(ctx context.Context, f *jobFlags) (err error) {
	if l.pkg, err = problem.Open(ctx, f.pkg); err != nil {
		return unreadable(ctx, err)
	}
	l.pkg.Bound(f.max.CPUTime, f.max.Memory, f.max.Output)
	if l.job, err = l.pkg.Judging(l.job); err == nil && l.job.Limits.CPUTimeMS == 0 {
		err = errors.New("it has no time limit; give --time-limit, or see judged limit")
	}
	if err != nil {
		return errors.Join(l.pkg.Invalid(usagef("read package %q: %w", f.pkg, err)), l.Close())
	}
	return nil
}

// unreadable returns err as a usage error, unless reading was interrupted.
func unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &usageError{err}
}

func (l *localJob) openTests(ctx context.Context, path string, interactive bool) (err error) {
	if l.set, err = problem.OpenTests(ctx, path, interactive); err != nil {
		return unreadable(ctx, err)
	}
	for _, t := range l.set.Tests {
		test := api.Test{Name: t.Name}
		for _, x := range []struct {
			path string
			to   **api.File
		}{{t.Input, &test.Input}, {t.Answer, &test.Answer}} {
			if x.path == "" {
				continue
			}
			if err := readable(x.path); err != nil {
				return errors.Join(usagef("read test %q: %w; make the file readable", t.Name, err), l.Close())
			}
			*x.to = &api.File{Part: x.path}
		}
		l.job.Tests = append(l.job.Tests, test)
	}
	return nil
}

// upload uploads the job's files to the daemon and returns a job that refers to them by digest.
func (l *localJob) upload(ctx context.Context, cl client.Client) (api.Job, error) {
	return l.job.MapFiles(func(field string, f api.File) (api.File, error) {
		digest, err := cl.PutBlobFile(ctx, f.Part)
		if err != nil {
			return api.File{}, fmt.Errorf("upload %s: %w", field, err)
		}
		return api.File{Blob: digest}, nil
	})
}

// localPath returns the path of a local job's file.
func localPath(f api.File) (string, error) { return f.Part, nil }

// isNull reports whether a path is the null device, which is commonly used as an empty file.
func isNull(path string) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, null)
}

// readable returns an error if path is not a readable regular file. It checks the type first, because opening a pipe
// would block until somebody writes.
func readable(path string) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%q is a folder", path)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", path)
	}
	if size := units.Bytes(info.Size()); size > problem.MaxUnpacked { // a sparse file of a terabyte is quickly made
		return fmt.Errorf("%q has %s, more than %s", path, size, problem.MaxUnpacked)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
