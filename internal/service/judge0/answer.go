package judge0

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/jobs"
)

// view says how the caller wants submissions to be shown.
type view struct {
	fields  []string
	encoded bool                                // strings are in base64
	read    func(digest string) ([]byte, error) // returns the content of a blob
}

// defaultFields are the members that are shown by default.
var defaultFields = []string{"token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status"}

// A getter returns the value of one member of a submission.
type getter func(s submission) (any, error)

// submission is a job, seen as a submission.
type submission struct {
	jobs.Record
	view    view
	known   catalogue // provides the name of the language
	asked   asked
	decided bool // the job has ended
}

// getters maps the members of a submission to their getters.
var getters = map[string]getter{
	"token":                        plainly(func(s submission) any { return tokenOf(s.ID) }),
	"language_id":                  plainly(func(s submission) any { return s.asked.Language }),
	"language":                     plainly(func(s submission) any { return s.language() }),
	"status":                       plainly(func(s submission) any { return statusOf(s.Report) }),
	"status_id":                    plainly(func(s submission) any { return statusOf(s.Report).ID }),
	"compiler_options":             plainly(func(s submission) any { return s.asked.CompilerOptions }),
	"command_line_arguments":       plainly(func(s submission) any { return s.asked.Arguments }),
	"number_of_runs":               plainly(func(s submission) any { return s.asked.Runs }),
	"cpu_time_limit":               plainly(func(s submission) any { return seconds(s.asked.CPUTime) }),
	"cpu_extra_time":               plainly(func(s submission) any { return seconds(s.asked.ExtraTime) }),
	"wall_time_limit":              plainly(func(s submission) any { return seconds(s.asked.WallTime) }),
	"memory_limit":                 plainly(func(s submission) any { return s.asked.Memory }),
	"stack_limit":                  plainly(func(s submission) any { return s.asked.Stack }),
	"max_processes_and_or_threads": plainly(func(s submission) any { return s.asked.Processes }),
	"enable_per_process_and_thread_time_limit":   plainly(func(s submission) any { return s.asked.PerProcessTime }),
	"enable_per_process_and_thread_memory_limit": plainly(func(s submission) any { return s.asked.PerProcessMemory }),
	"max_file_size":             plainly(func(s submission) any { return s.asked.FileSize }),
	"redirect_stderr_to_stdout": plainly(func(s submission) any { return s.asked.Redirect }),
	"callback_url":              plainly(func(s submission) any { return s.asked.Callback }),
	"enable_network":            plainly(func(s submission) any { return s.asked.Network }),
	"created_at":                plainly(func(s submission) any { return timeText(s.Report.CreatedAt) }),
	"queued_at":                 plainly(func(s submission) any { return timeText(s.Report.CreatedAt) }),
	"started_at":                plainly(func(s submission) any { return timeText(s.Report.StartedAt) }),
	"finished_at":               plainly(func(s submission) any { return timeText(s.Report.FinishedAt) }),
	"updated_at":                plainly(submission.updatedAt),
	"queue_host":                plainly(submission.host),
	"execution_host":            plainly(submission.host),
	"time":                      plainly(submission.time),
	"wall_time":                 plainly(submission.wallTime),
	"memory":                    plainly(submission.memory),
	"exit_code":                 plainly(submission.exitCode),
	"exit_signal":               plainly(func(s submission) any { return signalNumber(testOf(s.Report).Exit) }),
	"stdout":                    submission.stdout,
	"stderr":                    submission.stderr,
	"compile_output":            submission.compileOutput,
	"message":                   submission.message,
	"source_code":               submission.source,
	"stdin":                     func(s submission) (any, error) { return s.file(s.test().Input) },
	"expected_output":           func(s submission) (any, error) { return s.file(s.test().Answer) },
	"additional_files":          submission.files,
}

// byName are the members that * omits: Judge0's Python client 0.0.8 requests * and fails on them.
var byName = []string{"execution_host", "queue_host", "queued_at", "started_at", "updated_at"}

func plainly(get func(submission) any) getter {
	return func(s submission) (any, error) { return get(s), nil }
}

// fieldsOf returns the fields that a parameter names, each once, or the unknown ones.
func fieldsOf(parameter string) (fields, unknown []string) {
	for name := range strings.SplitSeq(parameter, ",") {
		if name == "*" {
			fields = slices.DeleteFunc(slices.Collect(maps.Keys(getters)),
				func(name string) bool { return slices.Contains(byName, name) })
		} else if _, ok := getters[name]; ok {
			fields = append(fields, name)
		} else if name != "" {
			unknown = append(unknown, name)
		}
	}
	if len(fields) == 0 {
		return defaultFields, unknown
	}
	slices.Sort(fields)
	return slices.Compact(fields), unknown
}

// errNotText means that a text is not UTF-8 and the caller did not request base64.
var errNotText = errors.New("a text is not UTF-8")

// show returns the requested members of a submission.
func (s submission) show() (map[string]any, error) {
	s.decided = s.Report.State.Final()
	if err := json.Unmarshal(s.Job.Origin, &s.asked); err != nil {
		return nil, fmt.Errorf("decode the origin of job %q: %w", s.ID, err)
	}
	members := map[string]any{}
	for _, name := range s.view.fields {
		value, err := getters[name](s)
		if err != nil {
			return nil, err
		}
		members[name] = value
	}
	return members, nil
}

// test returns the test of an accepted job.
func (s submission) test() api.Test {
	if len(s.Job.Tests) == 0 {
		return api.Test{}
	}
	return s.Job.Tests[0]
}

func (s submission) language() any {
	l, known := find(s.asked.Language)
	if !known {
		return nil
	}
	return s.known.show(l)
}

// text encodes a text as requested; it returns nil for an empty text.
func (s submission) text(text []byte) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if s.view.encoded {
		return encode(text), nil
	}
	if !utf8.Valid(text) {
		return nil, errNotText
	}
	return string(text), nil
}

// file returns the content of a stored file as a text.
func (s submission) file(f *api.File) (any, error) {
	if f == nil {
		return nil, nil
	}
	text, err := s.view.read(f.Blob)
	if err != nil {
		return nil, err
	}
	return s.text(text)
}

func (s submission) source() (any, error) {
	if s.asked.Language == multiFile {
		return nil, nil
	}
	return s.file(&s.Job.Program)
}

// files returns the additional files as a zip file, always in base64.
func (s submission) files() (any, error) {
	all := maps.Clone(s.Job.Files)
	if s.asked.Language == multiFile {
		if all == nil {
			all = map[string]api.File{}
		}
		all["run"] = s.Job.Program
	}
	if len(all) == 0 {
		return nil, nil
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := s.view.read(all[name].Blob)
		if err != nil {
			return nil, err
		}
		entry, err := w.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return encode(archive.Bytes()), nil
}

func (s submission) stdout() (any, error) {
	return s.output(api.StdoutStream, testOf(s.Report).StdoutHead)
}

func (s submission) stderr() (any, error) {
	return s.output(api.StderrStream, testOf(s.Report).StderrHead)
}

// message returns what the sandbox says, and which streams could not be stored.
func (s submission) message() (any, error) {
	text := messageOf(s.Report)
	for _, o := range s.Report.Outputs {
		if o.Blob == "" && o.Bytes > 0 {
			text += fmt.Sprintf("\n%d bytes of %s could not be stored", o.Bytes, o.Stream)
		}
	}
	return s.text([]byte(strings.TrimPrefix(text, "\n")))
}

// output returns what was kept of a stream, otherwise its head, which is then the whole stream unless the rest was lost.
func (s submission) output(stream api.Stream, head *string) (any, error) {
	for _, o := range s.Report.Outputs {
		switch {
		case o.Stream != stream:
		case o.Blob != "":
			return s.file(&api.File{Blob: o.Blob})
		case o.Bytes > 0:
			return nil, nil
		}
	}
	if head == nil || !s.decided {
		return nil, nil
	}
	return s.text([]byte(*head))
}

func (s submission) compileOutput() (any, error) {
	c := s.Report.Compilation
	if c == nil {
		return nil, nil
	}
	if c.Output == "" && s.Report.Verdict == api.CompileError {
		return s.text([]byte(s.Report.Message))
	}
	return s.text([]byte(c.Output))
}

// ran reports whether the program has run.
func (s submission) ran() bool { return s.decided && testOf(s.Report).CPUTime != nil }

func (s submission) time() any {
	return s.mean(testOf(s.Report).CPUTime, func(r api.Run) time.Duration { return r.CPUTime })
}

func (s submission) wallTime() any {
	return s.mean(testOf(s.Report).WallTime, func(r api.Run) time.Duration { return r.WallTime })
}

// mean returns the mean of the counted runs in seconds if several runs were requested, otherwise the value that
// decided.
func (s submission) mean(decided *time.Duration, of func(api.Run) time.Duration) any {
	if !s.ran() || decided == nil {
		return nil
	}
	value := *decided
	if runs := s.kept(); len(runs) > 0 {
		value = 0
		for _, r := range runs {
			value += of(r)
		}
		value /= time.Duration(len(runs))
	}
	return strconv.FormatFloat(value.Seconds(), 'f', 3, 64)
}

// kept returns the counted runs if several runs were requested.
func (s submission) kept() []api.Run {
	if s.asked.Runs < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(testOf(s.Report).Runs), func(r api.Run) bool { return !r.Kept })
}

// memory returns the peak memory in KiB.
func (s submission) memory() any {
	peak := testOf(s.Report).MemoryPeak
	if !s.ran() || peak == nil {
		return nil
	}
	value, n := *peak, units.Bytes(0)
	var sum units.Bytes
	for _, r := range s.kept() {
		if r.MemoryPeak != nil {
			sum, n = sum+*r.MemoryPeak, n+1
		}
	}
	if n > 0 {
		value = sum / n
	}
	return int64(value / kib)
}

// exitCode returns the exit code of the program, or 0 if a signal ended it.
func (s submission) exitCode() any {
	exit := testOf(s.Report).Exit
	switch {
	case !s.ran() || exit == nil:
		return nil
	case exit.Code != nil:
		return *exit.Code
	case exit.Signal != "":
		return 0
	}
	return nil
}

func (s submission) host() any {
	if h := s.Report.Host; h != nil {
		return h.Name
	}
	return nil
}

func (s submission) updatedAt() any {
	for _, t := range []time.Time{s.Report.FinishedAt, s.Report.StartedAt} {
		if !t.IsZero() {
			return timeText(t)
		}
	}
	return timeText(s.Report.CreatedAt)
}

// timeText formats a time like Judge0; it returns nil for the zero time.
func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// seconds formats a limit like Judge0, with at least one decimal.
func seconds(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
