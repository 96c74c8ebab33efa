package api

import (
	"cmp"
	"time"

	"judged/internal/base/units"
)

// Job is a submission as a platform sends it. Its JSON is the body of
// POST /v1/jobs.
type Job struct {
	Program File `json:"program"`
	// Language is the id of the language that Program, and Files with one of its extensions, are sources in; "" means
	// that Program is executed as it is.
	Language string          `json:"language,omitempty"`
	Command  []string        `json:"command,omitempty"` // "{program}" stands for the program's path; default just that
	Files    map[string]File `json:"files,omitempty"`   // further files of the working directory, by name
	// InputFile and OutputFile are the files of the working directory that take the place of stdin and stdout: stdin is
	// then empty, and what is written to stdout does not count as output. "" means stdin and stdout.
	InputFile  string `json:"input_file,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
	// Env is what the program finds in its environment in addition, or in place of what every program finds there.
	Env   map[string]string `json:"env,omitempty"`
	Tests []Test            `json:"tests,omitempty"`
	// Problem is the ID of a stored problem, which has tests, checker, interactor and limits. A job that was accepted
	// has them too.
	Problem string `json:"problem,omitempty"`
	// ProblemVersion is the version that the job was accepted with. A caller may send it: then no other is used.
	ProblemVersion string `json:"problem_version,omitempty"`
	// Scheme is how the problem is scored. Callers cannot send it.
	Scheme  *Scheme  `json:"scheme,omitempty" from:"judged"`
	Checker *Checker `json:"checker,omitempty"`
	// Interactor talks with the program and judges it. After a testlib interactor a checker that is a program looks
	// at what the interactor has written.
	Interactor *Interactor `json:"interactor,omitempty"`
	// Passes is how often the program of a multi-pass problem runs on a test at most; 0 is one run without passes.
	Passes     int               `json:"passes,omitempty"`
	Transcript bool              `json:"transcript,omitempty"` // record what the program and the interactor say
	Limits     Limits            `json:"limits,omitzero"`
	CPUs       int               `json:"cpus,omitempty"` // width of the slot; 0 means 1
	Repeats    Repeats           `json:"repeats,omitzero"`
	Stop       Stop              `json:"stop,omitempty"`
	Head       units.Bytes       `json:"head_bytes,omitempty"` // how much of stdout and stderr the report quotes
	Priority   Priority          `json:"priority,omitempty"`
	Pool       string            `json:"pool,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// File says where a file's content is: exactly one member is set. A job that
// was accepted holds blobs only.
type File struct {
	Blob   string  `json:"blob,omitempty"` // SHA-256 of the content, lower-case hex
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
	Part   string  `json:"part,omitempty"` // a part of the same multipart body
}

// Test is one input with what is expected of it.
type Test struct {
	Name   string `json:"name"`
	Input  *File  `json:"input,omitempty"`  // absent: empty input
	Answer *File  `json:"answer,omitempty"` // absent: nothing is compared
	// Limits are those of the job where the test has none. With a CPU time and no wall time here, the
	// wall time is the default for that CPU time; so is the stack for a memory.
	Limits Limits `json:"limits,omitzero"`
	// Args follow the command. CheckerArgs follow the arguments of the interactor, or of the checker of a job without
	// one.
	Args        []string `json:"args,omitempty"`
	CheckerArgs []string `json:"checker_args,omitempty"`
	// Files are further files of the working directory, by name. They replace those of the job.
	Files map[string]File `json:"files,omitempty"`
}

// Checker says how output is compared with the answer: by judged itself, or by a program of the jury.
type Checker struct {
	Kind    string `json:"kind"`              // package checker lists them; or the protocol of a program, in package jury
	Program *File  `json:"program,omitempty"` // where Kind is a protocol
	// Language is the id of the language that Program, and Files with one of its extensions, are sources in; "" means
	// that Program is executed as it is.
	Language string          `json:"language,omitempty"`
	Files    map[string]File `json:"files,omitempty"` // that lie next to Program, such as headers, by name
	Args     []string        `json:"args,omitempty"`  // of the program, after those of its protocol
}

// Interactor is a program of the jury that the program talks with.
type Interactor struct {
	Kind     string          `json:"kind"` // its protocol: icpc, testlib, cms
	Program  File            `json:"program"`
	Language string          `json:"language,omitempty"` // as in Checker
	Files    map[string]File `json:"files,omitempty"`    // as in Checker
	Args     []string        `json:"args,omitempty"`     // after those of its protocol
	// Instances is how many of the program the manager of kind cms talks with; 0 means 1.
	Instances int `json:"instances,omitempty"`
}

// Limits bound one run. A zero member takes the default of the configuration.
type Limits struct {
	CPUTimeMS  int64       `json:"cpu_time_ms,omitempty"` // CPU time of all processes and threads together
	WallTimeMS int64       `json:"wall_time_ms,omitempty"`
	Memory     units.Bytes `json:"memory_bytes,omitempty"`
	Output     units.Bytes `json:"output_bytes,omitempty"`
	Stack      units.Bytes `json:"stack_bytes,omitempty"`
	Processes  int         `json:"processes,omitempty"` // processes and threads together
}

// Or takes what is left open from other limits.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		CPUTimeMS:  cmp.Or(l.CPUTimeMS, other.CPUTimeMS),
		WallTimeMS: cmp.Or(l.WallTimeMS, other.WallTimeMS),
		Memory:     cmp.Or(l.Memory, other.Memory),
		Output:     cmp.Or(l.Output, other.Output),
		Stack:      cmp.Or(l.Stack, other.Stack),
		Processes:  cmp.Or(l.Processes, other.Processes),
	}
}

// CPUTime is the limit as a duration.
func (l Limits) CPUTime() time.Duration { return time.Duration(l.CPUTimeMS) * time.Millisecond }

// WallTime is the limit as a duration.
func (l Limits) WallTime() time.Duration { return time.Duration(l.WallTimeMS) * time.Millisecond }

// Repeats says how often a test is run. Min == Max is a fixed number; both
// zero leaves it to the policy.
type Repeats struct {
	Min    int    `json:"min,omitempty"`
	Max    int    `json:"max,omitempty"`
	Policy Policy `json:"policy,omitempty"`
}

// Policy names the rule that decides a time verdict near the limit.
type Policy string

// The policies; stats.Rule implements them.
const (
	Confirm Policy = "confirm" // repeat near the limit; two runs within it accept
	Single  Policy = "single"  // one run decides
	Minimum Policy = "min"     // the fastest run decides
)

// Policies lists the policies, the default first.
func Policies() []Policy { return []Policy{Confirm, Single, Minimum} }

// Stop is the rule for the tests after a failing one.
type Stop string

// The stop rules.
const (
	StopFirstFailure Stop = "first-failure"
	StopNever        Stop = "never"
)

// Priority is the class of a job in the queue.
type Priority string

// Priorities, the most urgent first.
const (
	Contest    Priority = "contest"
	Practice   Priority = "practice"
	Rejudge    Priority = "rejudge"
	Background Priority = "background"
)

// Audit is the priority of jobs that judged makes itself, to compare hosts. They come after all others.
const Audit Priority = "audit"

// Priorities lists the classes of submitted jobs, the most urgent first.
func Priorities() []Priority { return []Priority{Contest, Practice, Rejudge, Background} }

// AllPriorities are Priorities and Audit.
func AllPriorities() []Priority { return append(Priorities(), Audit) }

// FieldError is one finding about a job.
type FieldError struct {
	Field  string `json:"field"` // as in JSON, such as tests[3].name; "" is the whole job
	Detail string `json:"detail"`
}
