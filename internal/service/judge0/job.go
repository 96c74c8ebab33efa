package judge0

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/shlex"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// kind is the prefix of submission IDs, and the name of the origin of their jobs.
const kind = "judge0"

// testName is the name of the only test of a submission.
const testName = "1"

// minStack is the smallest stack with which a program can start.
const minStack = 128 * kib

// jobOf returns the job of a submission. It adds what is wrong to the faults.
func jobOf(c config.Config, l language, a asked, t texts, f faults) api.Job {
	j := api.Job{Language: l.id, Program: content(t.source), Command: commands[l.number],
		Checker: &api.Checker{Kind: "lines"}, StderrToStdout: a.Redirect, Limits: limitsOf(a),
		Head: min(units.Bytes(a.FileSize)*kib, c.Limits.Max.Head),
		Keep: api.Keep{Stdout: api.KeepCut, Stderr: api.KeepCut, Bytes: units.Bytes(a.FileSize) * kib}}
	if l.id != "" {
		j.Factors = api.Factors{Time: 1, Memory: 1} // the limits of a submission apply without factors
	}
	test := api.Test{Name: testName}
	if len(t.stdin) > 0 {
		test.Input = new(content(t.stdin))
	}
	if t.expected != nil {
		test.Answer = new(content(t.expected))
	}
	test.Args = f.words("command_line_arguments", a.Arguments)
	j.CompileOptions = f.words("compiler_options", a.CompilerOptions)
	if !blank(a.Callback) {
		j.Callback = &api.Callback{URL: *a.Callback, Format: CallbackFormat}
	}
	if a.Runs > 1 {
		j.Repeats = api.Repeats{Min: int(a.Runs), Max: int(a.Runs)}
	}
	if len(t.files) > 0 {
		addFiles(a, &j, &test, t.files, f)
	}
	j.Tests = []api.Test{test}
	return j
}

// words splits a text into words like a shell, without expansions.
func (f faults) words(member string, text *string) []string {
	if blank(text) {
		return nil
	}
	words, err := shlex.Split(*text)
	if err != nil {
		f.add(member, "cannot be split into arguments: %s", err)
	}
	return words
}

// runProject makes the run script of a multi-file program the program of a job.
func runProject(j *api.Job, files map[string][]byte, f faults) {
	for _, name := range []string{"run.sh", "run"} {
		if text, found := files[name]; found {
			j.Program = content(text)
			delete(files, "run") // the program has that name
			return
		}
	}
	f.add("additional_files", "has neither run.sh nor run")
}

// addFiles adds the files of a zip file to the sources and to the working directory.
func addFiles(a asked, j *api.Job, test *api.Test, archive []byte, f faults) {
	files, err := unzip(archive)
	if err != nil {
		f.add("additional_files", "%s", err)
		return
	}
	if a.Language == multiFile {
		runProject(j, files, f)
	}
	j.Files = map[string]api.File{}
	for name, text := range files {
		j.Files[name] = content(text)
	}
	if a.Language != multiFile { // a multi-file program finds them where its compilation put them
		test.Files = j.Files
	}
}

func content(text []byte) api.File { return api.File{Text: new(string(text))} }

func limitsOf(a asked) api.Limits {
	ms := func(seconds float64) int64 { return max(1, int64(math.Round(seconds*1000))) }
	return api.Limits{CPUTimeMS: ms(a.CPUTime), WallTimeMS: ms(a.WallTime), Memory: units.Bytes(a.Memory) * kib,
		Stack: max(minStack, units.Bytes(a.Stack)*kib), Processes: int(a.Processes),
		Output: max(1, units.Bytes(a.FileSize)*kib)}
}

// mark stores the request with a job and marks it as a submission of this API.
func mark(n jobs.Submission, a asked) (jobs.Submission, error) {
	origin, err := json.Marshal(a)
	if err != nil {
		return n, fmt.Errorf("encode submission: %w", err)
	}
	n.Job.Origin = origin
	n.Job.Labels = map[string]string{jobs.OriginLabel: kind}
	return n, nil
}

// refused adds what judged rejects in a job to the faults. It returns errors that the caller did not cause.
func refused(err error, a asked, f faults) error {
	var (
		invalid intake.Errors
		missing *intake.MissingLanguageError
	)
	switch {
	case errors.As(err, &missing):
		f.add("language_id", "language with id %d is not available: %s", a.Language, missing.Err)
	case errors.As(err, &invalid):
		for _, one := range invalid {
			f.add(memberOf(one.Field), "%s", one.Detail)
		}
	default:
		return err
	}
	return nil
}

// memberOf returns the member of a submission that corresponds to a field of a job.
func memberOf(field string) string {
	for _, x := range []struct{ start, member string }{
		{"program", "source_code"}, {"files", "additional_files"}, {"tests[0].files", "additional_files"},
		{"tests[0].args", "command_line_arguments"}, {"tests[0].input", "stdin"},
		{"tests[0].answer", "expected_output"}, {"limits.cpu_time_ms", "cpu_time_limit"},
		{"limits.wall_time_ms", "wall_time_limit"}, {"limits.memory_bytes", "memory_limit"},
		{"limits.stack_bytes", "stack_limit"}, {"limits.processes", "max_processes_and_or_threads"},
		{"limits.output_bytes", "max_file_size"}, {"repeats", "number_of_runs"}, {"language", "language_id"},
		{"callback", "callback_url"}, {"compile_options", "compiler_options"},
	} {
		if strings.HasPrefix(field, x.start) {
			return x.member
		}
	}
	return "base"
}
