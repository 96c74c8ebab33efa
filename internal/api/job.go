package api

import (
	"cmp"
	"encoding/json"
	"time"

	"judged/internal/base/units"
)

// ProgramName is the name of a job's program in its working directory.
const ProgramName = "program"

// Job is a submission as a platform sends it. Its JSON is the body of POST /v1/jobs.
type Job struct {
	Program File `json:"program"`
	// Language is the ID of the language of the sources in Program, and in Files with one of its extensions; "" means
	// that Program is executed as it is.
	Language string `json:"language,omitempty"`
	// CompileOptions are added to the command that compiles the sources of the submission. Each is one that the language
	// allows.
	CompileOptions []string        `json:"compile_options,omitempty"`
	Command        []string        `json:"command,omitempty"` // "{program}" is replaced by its path; the default
	Files          map[string]File `json:"files,omitempty"`   // further files in the working directory, by name
	// InputFile and OutputFile are files in the working directory that replace stdin and stdout: stdin is then empty,
	// and stdout does not count as output. "" selects stdin and stdout.
	InputFile  string `json:"input_file,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
	// StderrToStdout makes what the program writes to stderr a part of its stdout, in the order in which it is written.
	StderrToStdout bool `json:"stderr_to_stdout,omitempty"`
	// Env adds to, or overrides, the environment that every program gets.
	Env   map[string]string `json:"env,omitempty"`
	Tests []Test            `json:"tests,omitempty"`
	// Problem is the ID of a stored problem, which has tests, checker, interactor and limits. An accepted job has them
	// too.
	Problem string `json:"problem,omitempty"`
	// ProblemVersion is the version with which the job was accepted. A caller may send it; then only that version is
	// used.
	ProblemVersion string `json:"problem_version,omitempty"`
	// Scheme defines how the problem is scored. Callers cannot send it.
	Scheme  *Scheme  `json:"scheme,omitempty" from:"judged"`
	Checker *Checker `json:"checker,omitempty"`
	// Interactor communicates with the program and judges it. After a testlib interactor, a checker that is a program
	// checks what the interactor has written.
	Interactor *Interactor `json:"interactor,omitempty"`
	// Passes is how often the program of a multi-pass problem runs on a test at most; 0 means one run without passes.
	Passes     int    `json:"passes,omitempty"`
	Transcript bool   `json:"transcript,omitempty"` // record the conversation with the interactor, if any
	Limits     Limits `json:"limits,omitzero"`
	// Factors multiply the limits. They take precedence over ProblemFactors and over those of the operator. Scaling is what
	// follows from them.
	Factors        Factors           `json:"factors,omitzero"`
	ProblemFactors Factors           `json:"problem_factors,omitzero" from:"judged"`
	Scaling        *Scaling          `json:"scaling,omitempty" from:"judged"`
	CPUs           int               `json:"cpus,omitempty"` // width of the slot; 0 means 1
	Repeats        Repeats           `json:"repeats,omitzero"`
	Stop           Stop              `json:"stop,omitempty"`
	Head           units.Bytes       `json:"head_bytes,omitempty"` // how much of stdout and stderr the report quotes
	Keep           Keep              `json:"keep,omitzero"`
	Collect        []string          `json:"collect,omitempty"` // files of the working directory, kept after each test
	Priority       Priority          `json:"priority,omitempty"`
	Pool           string            `json:"pool,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	// Origin is the request of another interface that judged serves, in the form of that interface, which shows it again.
	// Callers cannot send it.
	Origin   json.RawMessage `json:"origin,omitempty" from:"judged"`
	Callback *Callback       `json:"callback,omitempty"` // where judged reports the end of the job
}

// File names the source of a file's content: exactly one member is set. An accepted job has only blobs.
type File struct {
	Blob   string  `json:"blob,omitempty"` // SHA-256 of the content, lower-case hex
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
	Part   string  `json:"part,omitempty"` // a part of the same multipart body
}

// Test is one input with its expected result.
type Test struct {
	Name   string `json:"name"`
	Input  *File  `json:"input,omitempty"`  // absent: empty input
	Answer *File  `json:"answer,omitempty"` // absent: nothing is compared
	// Limits take precedence over those of the job. With a CPU time and no wall time here, the wall time is the default
	// for that CPU time; the same holds for memory and the stack.
	Limits Limits `json:"limits,omitzero"`
	// Args are added to the command. CheckerArgs are added to the arguments of the interactor, or of the checker if
	// there is no interactor.
	Args        []string `json:"args,omitempty"`
	CheckerArgs []string `json:"checker_args,omitempty"`
	// Files are additional files in the working directory, by name. They replace those of the job.
	Files map[string]File `json:"files,omitempty"`
}

// Checker defines how output is compared with the answer: by judged itself, or by a program of the jury.
type Checker struct {
	Kind    string `json:"kind"`              // of package checker, or a protocol of package jury
	Name    string `json:"name,omitempty"`    // of Program, in messages
	Program *File  `json:"program,omitempty"` // if Kind is a protocol
	// Language is the ID of the language of the sources in Program, and in Files with one of its extensions; "" means
	// that Program is executed as it is.
	Language string          `json:"language,omitempty"`
	Files    map[string]File `json:"files,omitempty"` // files next to Program, such as headers, by name
	Args     []string        `json:"args,omitempty"`  // arguments of the program, after those of its protocol
}

// Interactor is a program of the jury that communicates with the program.
type Interactor struct {
	Kind     string          `json:"kind"`           // its protocol: icpc, testlib, cms
	Name     string          `json:"name,omitempty"` // as in Checker
	Program  File            `json:"program"`
	Language string          `json:"language,omitempty"` // as in Checker
	Files    map[string]File `json:"files,omitempty"`    // as in Checker
	Args     []string        `json:"args,omitempty"`     // arguments after those of its protocol
	// Instances is the number of instances of the program that the manager of kind cms communicates with; 0 means 1.
	Instances int `json:"instances,omitempty"`
}

// Limits are the limits of one run. A zero member selects the default of the configuration.
type Limits struct {
	CPUTimeMS  int64       `json:"cpu_time_ms,omitempty"` // CPU time of all processes and threads together
	WallTimeMS int64       `json:"wall_time_ms,omitempty"`
	Memory     units.Bytes `json:"memory_bytes,omitempty"`
	Output     units.Bytes `json:"output_bytes,omitempty"`
	Stack      units.Bytes `json:"stack_bytes,omitempty"`
	Processes  int         `json:"processes,omitempty"` // processes and threads together
}

// Or returns the limits, with those of other for zero members.
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

// CPUTime returns the limit as a duration.
func (l Limits) CPUTime() time.Duration { return time.Duration(l.CPUTimeMS) * time.Millisecond }

// WallTime returns the limit as a duration.
func (l Limits) WallTime() time.Duration { return time.Duration(l.WallTimeMS) * time.Millisecond }

// Repeats defines how often a test is run. If Min equals Max, the number is fixed; if both are zero, the policy
// decides.
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

// Policies returns the policies, the default first.
func Policies() []Policy { return []Policy{Confirm, Single, Minimum} }

// Stop is the rule for the tests after a failed one.
type Stop string

// The stop rules.
const (
	StopFirstFailure Stop = "first-failure"
	StopNever        Stop = "never"
)

// Priority is the class of a job in the queue.
type Priority string

// The priorities, most urgent first.
const (
	Contest    Priority = "contest"
	Practice   Priority = "practice"
	Rejudge    Priority = "rejudge"
	Background Priority = "background"
)

// Audit is the priority of jobs that judged creates itself to compare hosts. They come after all others.
const Audit Priority = "audit"

// Priorities returns the priorities of submitted jobs, most urgent first.
func Priorities() []Priority { return []Priority{Contest, Practice, Rejudge, Background} }

// AllPriorities returns Priorities and Audit.
func AllPriorities() []Priority { return append(Priorities(), Audit) }

// FieldError is one error in a job.
type FieldError struct {
	Field  string `json:"field"` // as in JSON, such as tests[3].name; "" means the whole job
	Detail string `json:"detail"`
}
