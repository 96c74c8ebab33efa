package intake

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/checker"
	"judged/internal/jobs/blobs"
)

// Limits of a job that no configuration changes: they keep records, argument vectors and event subjects within the
// limits of the kernel and the store.
const (
	minMemory  = 1 << 20   // bytes; with less, the kernel cannot start a program
	minStack   = 128 << 10 // bytes; twice a command of maxCommand, which is on the stack
	maxName    = 255       // bytes of a test or file name; NAME_MAX
	maxCommand = 64 << 10  // bytes of the whole command including pointers; half of what execve always accepts
	maxValue   = 255       // bytes of a label's value
	maxPasses  = 100       // of a test
	maxURL     = 2048      // bytes of the URL of a callback
	// An environment of 32 variables takes less than maxCommand, so both fit together.
	maxVariables = 32  // of the environment
	maxVariable  = 255 // characters of a variable's name, and of its value
	slotCPUs     = 1   // of a job that does not set cpus
	itself       = "{program}"
)

// maxOptions and maxOption limit the options of a compiler, and the length of each in bytes. The language knows which
// are allowed.
const maxOptions, maxOption = 32, 100

// MaxLabels is the maximum number of labels of a job.
const MaxLabels = 32

// maxHeads is the maximum number of bytes of output that all tests of a job may quote together: a report is read and
// written as a whole. In the database they take up to 1.9 times that: control characters are six bytes of JSON each,
// which s2 packs into two.
const maxHeads = 12 << 20

// argPointer is the stack space in bytes that execve needs for an argument in addition to its text.
const argPointer = 8

// boxInodes is the number of folders in the file system of a run.
const boxInodes = 4

var (
	variable = text.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelKey = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
)

// Complete returns j with all defaults filled in, or everything that is wrong with it as Errors. Maps and slices that
// it changed are not shared with j.
func Complete(c config.Config, j api.Job) (api.Job, error) {
	if err := Check(c, j); err != nil {
		return api.Job{}, err
	}
	return fill(c, j), nil
}

// Check returns everything that is wrong with a job as Errors, or nil.
func Check(c config.Config, j api.Job) error {
	var e Errors
	if j.Program != (api.File{}) || needsProgram(j.Command) {
		e.file("program", &j.Program)
	}
	e.command(j.Command)
	e.check(j.Language == "" || len(j.Command) == 0, "command", "given with a language, which says how its programs "+
		"run; leave one of them out")
	e.compileOptions(j)
	e.files("files", j.Files, c.Limits.Max, e.filePath)
	if len(j.Files) > c.Limits.Max.Files {
		j.Files = nil // each test would be compared with all of them
	}
	e.folders("files", j.Files, j, nil)
	room := c.Sandbox.WorkInodes - boxInodes - 1 // minus the program
	n := len(entriesOf(j.Files))
	e.check(n <= room, "files", "%d with their folders; a working directory takes %d in addition to the program, send "+
		"fewer or raise sandbox.work_inodes", n, room)
	e.streamFile("input_file", j.InputFile, j)
	e.streamFile("output_file", j.OutputFile, j)
	e.check(j.OutputFile == "" || j.OutputFile != j.InputFile, "output_file", "is input_file, too; send another name")
	e.check(!j.StderrToStdout || j.Interactor == nil, "stderr_to_stdout",
		"given with an interactor, which reads stdout; leave one of them out")
	e.environment(j.Env)
	e.tests(j, c.Limits.Max, room)
	e.scheme(j)
	e.checker(j.Checker, c.Limits.Max)
	e.interactor(j.Interactor, c.Limits.Max)
	e.checkerAfter(j)
	e.passes(j)
	e.transcript(j)
	e.limits("limits", j.Limits, c.Limits.Max)
	e.factors(j)
	e.check(0 <= j.CPUs && j.CPUs <= c.Slots.Width, "cpus",
		"%d; slots here have %d, the value of slots.width; send at most that", j.CPUs, c.Slots.Width)
	e.repeats(j.Repeats, c.Limits.Max)
	oneOf(&e, "stop", j.Stop, api.StopFirstFailure, api.StopNever)
	e.head(j, c.Limits.Max.Head)
	e.checkKeep(j, c.Limits.Max)
	oneOf(&e, "priority", j.Priority, api.Priorities()...)
	e.check(j.Pool == "" || config.ValidPool(j.Pool), "pool", "%s is not the name of a pool; send one of GET /v1/pools, "+
		"or leave it out", text.Quoted(j.Pool))
	e.labels(j.Labels)
	e.callback(j.Callback)
	return e.err()
}

func (e *Errors) file(field string, f *api.File) {
	set := 0
	for _, given := range []bool{f.Blob != "", f.Text != nil, f.Base64 != nil, f.Part != ""} {
		if given {
			set++
		}
	}
	e.check(set > 0, field, "no content; send one of blob, text, base64 and part")
	e.check(set < 2, field, "%d contents; send one of blob, text, base64 and part", set)
	e.check(f.Blob == "" || blobs.ValidDigest(f.Blob), field+".blob",
		"%s is no SHA-256; send 64 lower-case hex digits", text.Quoted(f.Blob))
	e.check(f.Base64 == nil || isBase64(*f.Base64), field+".base64",
		"not base64; send the standard alphabet with padding")
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil
}

// needsProgram reports whether the command runs the program. Another command, such as python3 with a file of the job,
// works without one.
func needsProgram(command []string) bool {
	return len(command) == 0 || slices.ContainsFunc(command,
		func(arg string) bool { return strings.Contains(arg, itself) })
}

// arguments checks arguments that are added to others.
func (e *Errors) arguments(field string, args []string, others ...string) {
	size := 0
	for _, arg := range others { // of each test
		if size += len(arg) + 1 + argPointer; size > maxCommand {
			break
		}
	}
	for i, arg := range args {
		size += len(arg) + 1 + argPointer
		e.check(!strings.ContainsRune(arg, 0), fmt.Sprintf("%s[%d]", field, i), "has a NUL; no argument can")
	}
	e.check(size <= maxCommand, field, "%d bytes, %d of them for each argument in addition to its text; send at "+
		"most %d", size, 1+argPointer, maxCommand)
}

func (e *Errors) command(command []string) {
	e.arguments("command", command)
	e.check(len(command) == 0 || command[0] != "", "command[0]", "empty; send %q or the name of a program", itself)
}

func (e *Errors) compileOptions(j api.Job) {
	e.check(len(j.CompileOptions) == 0 || j.Language != "", "compile_options", "there is no language; send one or leave "+
		"them out")
	e.check(len(j.CompileOptions) <= maxOptions, "compile_options", "%d; send at most %d", len(j.CompileOptions),
		maxOptions)
	for i, o := range j.CompileOptions {
		e.check(len(o) <= maxOption && strings.HasPrefix(o, "-"), fmt.Sprintf("compile_options[%d]", i),
			"%s is not an option; send one such as -O2, of up to %d bytes", text.Quoted(o), maxOption)
	}
}

// files checks files and, by named, their names.
func (e *Errors) files(member string, files map[string]api.File, most config.MaxLimits,
	named func(field, name string)) {
	e.check(len(files) <= most.Files, member, "%d; send at most %d, the bound of limits.max.files", len(files),
		most.Files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		field := member + "[" + text.Quoted(name) + "]"
		f := files[name]
		e.file(field, &f)
		named(field, name)
	}
}

// filePath checks the name of a file below the working directory.
func (e *Errors) filePath(field, name string) {
	e.name(field, name)
	e.check(name == "" || fs.ValidPath(name) && name != ".", field,
		"is no path below the working directory; send it without empty parts, . and ..")
	e.check(name != api.ProgramName, field, "is where the program goes; send another name")
}

// folders checks that no folder of files has the name of something else: of one of them, of others, or of the program.
func (e *Errors) folders(member string, files map[string]api.File, j api.Job, others map[string]api.File) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if len(name) > maxName { // an error already, and it may have a million folders
			continue
		}
		for _, folder := range foldersOf(name) {
			_, taken := files[folder]
			_, other := others[folder]
			e.check(!taken && !other && !slices.Contains([]string{api.ProgramName, j.InputFile, j.OutputFile}, folder),
				member+"["+text.Quoted(name)+"]", "is in a folder %s, which is a file; send another name",
				text.Quoted(folder))
		}
	}
}

// foldersOf returns the folders that a file is in.
func foldersOf(name string) (folders []string) {
	for i, c := range name {
		if c == '/' {
			folders = append(folders, name[:i])
		}
	}
	return folders
}

// entriesOf returns the files and folders that a working directory has for files, except for those whose names are too
// long.
func entriesOf(files map[string]api.File) map[string]bool {
	names := map[string]bool{}
	for name := range files {
		if len(name) > maxName {
			continue
		}
		names[name] = true
		for _, folder := range foldersOf(name) {
			names[folder] = true
		}
	}
	return names
}

// fileName checks the name of a file next to the program.
func (e *Errors) fileName(field, name string) {
	e.name(field, name)
	e.check(!strings.Contains(name, "/") && name != "." && name != "..", field,
		"is no plain file name; send it without directories")
	e.check(name != api.ProgramName, field, "is where the program goes; send another name")
}

// streamFile checks the name of a file that replaces stdin or stdout.
func (e *Errors) streamFile(field, name string, j api.Job) {
	if name == "" {
		return
	}
	e.fileName(field, name)
	_, taken := j.Files[name]
	e.check(!taken, field, "is one of files, too; send another name")
	e.check(j.Interactor == nil, field, "given with an interactor, which uses stdin and stdout; leave one of them out")
}

// juryNames are the files that programs of the jury find in their directory.
var juryNames = []string{"checker", "interactor", "input", "answer", "output", "feedback"}

// besides checks the files in the directory of a program of the jury.
func (e *Errors) besides(member string, files map[string]api.File, most config.MaxLimits) {
	e.files(member, files, most, e.fileName)
	for _, name := range juryNames {
		_, taken := files[name]
		e.check(!taken, member+"["+text.Quoted(name)+"]", "is the name of something else there; send another name")
	}
}

// tests checks the tests of a job. room is the number of files that a working directory can hold in addition to the
// program.
func (e *Errors) tests(j api.Job, most config.MaxLimits, room int) {
	tests := j.Tests
	e.check(len(tests) > 0, "tests", "none; send at least one")
	e.check(len(tests) <= most.Tests, "tests", "%d; send at most %d, the bound of limits.max.tests", len(tests),
		most.Tests)
	first := map[string]int{}
	shared := entriesOf(j.Files)
	for i, t := range tests[:min(len(tests), most.Tests)] {
		field := fmt.Sprintf("tests[%d]", i)
		e.name(field+".name", t.Name)
		if other, taken := first[t.Name]; taken && t.Name != "" {
			e.add(field+".name", "%s is the name of tests[%d] already; send another", text.Quoted(t.Name), other)
		} else {
			first[t.Name] = i
		}
		if t.Input != nil {
			e.file(field+".input", t.Input)
		}
		if t.Answer != nil {
			e.file(field+".answer", t.Answer)
		}
		e.limits(field+".limits", t.Limits, most)
		if len(t.Args) > 0 {
			e.arguments(field+".args", t.Args, j.Command...)
		}
		e.files(field+".files", t.Files, most, e.filePath)
		e.folders(field+".files", t.Files, j, j.Files)
		own := entriesOf(t.Files)
		maps.DeleteFunc(own, func(name string, _ bool) bool { return shared[name] })
		n := len(shared) + len(own)
		e.check(len(t.Files) == 0 || n <= room, field+".files",
			"%d with those of the job and their folders; a working directory takes %d in addition to the program, send "+
				"fewer or raise sandbox.work_inodes", n, room)
		for _, name := range []string{j.InputFile, j.OutputFile} {
			_, taken := t.Files[name]
			e.check(!taken, field+".files["+text.Quoted(name)+"]", "is input_file or output_file, too; send another name")
		}
		e.checkerArgs(field+".checker_args", t.CheckerArgs, j)
	}
}

// checkerArgs checks the arguments of a test for the checker or the interactor.
func (e *Errors) checkerArgs(field string, args []string, j api.Job) {
	c := cmp.Or(j.Checker, &api.Checker{Kind: checker.DefaultKind})
	_, isProgram := api.CheckerProtocol(c.Kind)
	switch {
	case len(args) == 0:
	case j.Interactor != nil:
		e.arguments(field, args, j.Interactor.Args...)
	case isProgram, len(c.Args)+len(args) > maxCommand/argPointer: // too many for any checker
		e.arguments(field, args, c.Args...)
	default:
		if _, err := checker.Parse(c.Kind, c.Args...); err == nil { // otherwise checker has the error
			_, err = checker.Parse(c.Kind, slices.Concat(c.Args, args)...)
			e.check(err == nil, field, "%.400v", err)
		}
	}
}

// scheme checks the groups of a problem. An earlier version may have stored it.
func (e *Errors) scheme(j api.Job) {
	if j.Scheme == nil || len(j.Tests) == 0 {
		return
	}
	names := make([]string, len(j.Tests))
	for i, t := range j.Tests {
		names[i] = t.Name
	}
	if err := j.Scheme.Check(names); err != nil {
		e.add("problem", "%v; change the package and send it again", err)
	}
}

// name checks the rules that names of tests and files share: they appear in terminals, logs and directories.
func (e *Errors) name(field, name string) {
	e.check(name != "", field, "empty; send a name")
	e.line(field, name, maxName)
}

// line checks a text that is shown.
func (e *Errors) line(field, s string, most int) {
	if err := text.CheckLine(s, most); err != nil {
		e.add(field, "%v", err)
	}
}

// programName checks the name of a program of the jury, which is absent or for people.
func (e *Errors) programName(field, name string) {
	if name != "" {
		e.name(field, name)
	}
}

func (e *Errors) checker(c *api.Checker, most config.MaxLimits) {
	if c == nil {
		return
	}
	if _, isProgram := api.CheckerProtocol(c.Kind); isProgram {
		e.programName("checker.name", c.Name)
		e.file("checker.program", cmp.Or(c.Program, &api.File{}))
		e.besides("checker.files", c.Files, most)
		e.arguments("checker.args", c.Args)
		return
	}
	e.arguments("checker.args", c.Args)
	_, err := checker.Parse(c.Kind)
	e.check(err == nil, "checker.kind", "%s is unknown; send %s; or, with a program, one of %s", text.Quoted(c.Kind),
		checker.Usage(), listed(api.CheckerProtocols()))
	if err == nil {
		_, err = checker.Parse(c.Kind, c.Args...)
		e.check(err == nil, "checker.args", "%.400v", err) // err quotes an argument
	}
	for _, x := range []struct {
		member string
		given  bool
	}{{"name", c.Name != ""}, {"program", c.Program != nil}, {"language", c.Language != ""}, {"files", c.Files != nil}} {
		e.check(!x.given, "checker."+x.member,
			"this checker is no program; leave it out, or send the kind icpc, testlib, cms, sio or bridged")
	}
}

func (e *Errors) interactor(i *api.Interactor, most config.MaxLimits) {
	if i == nil {
		return
	}
	_, known := api.InteractorProtocol(i.Kind)
	e.check(known, "interactor.kind", "%s is unknown; send one of %s", text.Quoted(i.Kind),
		listed(api.InteractorProtocols()))
	e.programName("interactor.name", i.Name)
	e.file("interactor.program", &i.Program)
	e.besides("interactor.files", i.Files, most)
	e.arguments("interactor.args", i.Args)
	e.instances(i)
}

// checkerAfter refuses a checker that an interactor leaves without an effect: outputs would be accepted unchecked. The
// default one is allowed, because complete jobs and problems have a checker.
func (e *Errors) checkerAfter(j api.Job) {
	c := cmp.Or(j.Checker, &api.Checker{Kind: checker.DefaultKind})
	if _, isProgram := api.CheckerProtocol(c.Kind); j.Interactor == nil || c.Kind == checker.DefaultKind ||
		isProgram && j.Interactor.Kind == string(api.Testlib) {
		return
	}
	e.add("checker.kind", "%s has no effect: the interactor judges, and only one of the kind %s leaves an output for a "+
		"checker, which must be a program; leave the checker out", text.Quoted(c.Kind), api.Testlib)
}

func (e *Errors) passes(j api.Job) {
	e.check(0 <= j.Passes && j.Passes <= maxPasses, "passes", "%d is out of range; send 0 to %d", j.Passes, maxPasses)
	judge := cmp.Or(j.Checker, &api.Checker{}).Kind
	if j.Interactor != nil {
		judge = j.Interactor.Kind
	}
	e.check(j.Passes == 0 || judge == string(api.ICPC), "passes",
		"nobody can ask for the next pass; send a checker or an interactor of the kind %s, or leave passes out", api.ICPC)
}

func (e *Errors) transcript(j api.Job) {
	if !j.Transcript {
		return
	}
	e.check(j.Interactor != nil, "transcript", "there is no interactor; send one or leave it out")
	e.check(j.Interactor == nil || j.Interactor.Kind != string(api.CMS), "transcript",
		"an interactor of the kind %s cannot be recorded; leave it out", api.CMS)
	const most = maxHeads / api.MaxTranscript
	e.check(len(j.Tests) <= most, "transcript", "those of %d tests do not fit into a report; send at most %d tests",
		len(j.Tests), most)
}

// CheckChanges returns what is wrong with limits and repeats that replace those of jobs, as Errors. Zero values replace
// nothing.
func CheckChanges(c config.Config, l api.Limits, r api.Repeats) error {
	var e Errors
	e.limits("limits", l, c.Limits.Max)
	r.Policy = cmp.Or(r.Policy, c.Repeats.Policy)
	e.repeats(r, c.Limits.Max)
	return e.err()
}

// limits checks the limits of a job or of a test.
func (e *Errors) limits(field string, l api.Limits, most config.MaxLimits) {
	optional(e, field+".cpu_time_ms", l.CPUTimeMS, most.CPUTime.Milliseconds(), "limits.max.cpu_time")
	optional(e, field+".wall_time_ms", l.WallTimeMS, most.WallTime.Milliseconds(), "limits.max.wall_time")
	if l.Memory != 0 {
		inRange(e, field+".memory_bytes", l.Memory, minMemory, most.Memory, "limits.max.memory")
	}
	optional(e, field+".output_bytes", l.Output, most.Output, "limits.max.output")
	if l.Stack != 0 {
		inRange(e, field+".stack_bytes", l.Stack, minStack, most.Memory, "limits.max.memory")
	}
	optional(e, field+".processes", l.Processes, most.Processes, "limits.max.processes")
}

func (e *Errors) factors(j api.Job) {
	e.check(j.Language != "" || j.Factors == api.Factors{}, "factors",
		"given without a language, whose programs they are for; send a language, or leave them out")
	for _, wrong := range j.Factors.Check() {
		e.add("factors."+wrong.Field, "%s", wrong.Detail)
	}
}

// Scale sets the scaling of a complete job in a language, with the factors of the operator by language.
func Scale(c config.Config, operator map[string]api.Factors, j api.Job) api.Job {
	j.Scaling = nil
	if j.Language != "" {
		most := c.Limits.Max
		j.Scaling = api.NewScaling(j, operator[j.Language], api.Limits{CPUTimeMS: most.CPUTime.Milliseconds(),
			WallTimeMS: most.WallTime.Milliseconds(), Memory: most.Memory})
	}
	return j
}

func (e *Errors) head(j api.Job, most units.Bytes) {
	room := maxHeads
	if j.Transcript {
		room = max(0, room-len(j.Tests)*api.MaxTranscript)
	}
	each := units.Bytes(room / 2 / max(1, len(j.Tests))) // for each of stdout and stderr
	if j.Head <= each {
		inRange(e, "head_bytes", j.Head, 0, most, "limits.max.head")
		return
	}
	e.add("head_bytes", "%d of each stream of %d tests do not fit into a report; send at most %d", int64(j.Head),
		len(j.Tests), int64(min(each, most)))
}

func (e *Errors) repeats(r api.Repeats, most config.MaxLimits) {
	optional(e, "repeats.min", r.Min, most.Repeats, "limits.max.repeats")
	optional(e, "repeats.max", r.Max, most.Repeats, "limits.max.repeats")
	e.check(r.Max == 0 || r.Min <= r.Max, "repeats", "min %d is above max %d; swap them", r.Min, r.Max)
	oneOf(e, "repeats.policy", r.Policy, api.Policies()...)
}

func (e *Errors) environment(env map[string]string) {
	e.check(len(env) <= maxVariables, "env", "%d; send at most %d", len(env), maxVariables)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		field := "env[" + text.Quoted(name) + "]"
		e.check(variable().MatchString(name) && len(name) <= maxVariable, field, "use 1 to %d letters, digits and _ for "+
			"the name, no digit first", maxVariable)
		e.check(utf8.RuneCountInString(env[name]) <= maxVariable, field, "%d characters of value; send at most %d",
			utf8.RuneCountInString(env[name]), maxVariable)
		e.check(!strings.ContainsRune(env[name], 0), field, "has a NUL; no variable can")
	}
}

func (e *Errors) labels(labels map[string]string) {
	e.check(len(labels) <= MaxLabels, "labels", "%d; send at most %d", len(labels), MaxLabels)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		e.label(k, labels[k])
	}
}

func (e *Errors) label(key, value string) {
	field := "labels[" + text.Quoted(key) + "]"
	e.check(labelKey().MatchString(key), field, "use 1 to 63 letters, digits, . _ / and - for the key, a letter or digit "+
		"first")
	e.line(field, value, maxValue)
}

// CheckLabel returns an error for a label that no job can have. Labels that judged sets begin with @.
func CheckLabel(key, value string) error {
	var e Errors
	e.label(strings.TrimPrefix(key, "@"), value)
	return e.err()
}

func (e *Errors) callback(c *api.Callback) {
	if c == nil {
		return
	}
	const field = "callback.url"
	e.check(len(c.URL) <= maxURL, field, "%d bytes; send at most %d", len(c.URL), maxURL)
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		e.add(field, "not a URL of http or https with a host; send one such as https://platform.example.org/hook")
		return
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "1"), 10, 16)
	e.check(err == nil && port > 0 && !strings.HasSuffix(u.Host, ":"), field, "the port is no number from 1 to 65535")
	e.check(u.User == nil, field, "has a user or password, which logs would show; send a secret in the path or the query")
	e.check(!strings.Contains(c.URL, "#"), field, "has a fragment, which is not sent; leave it out")
	e.check(!strings.ContainsFunc(c.URL, func(r rune) bool { return r <= ' ' || r > '~' }), field,
		"has characters that a URL cannot have; encode them")
}

// oneOf accepts the empty value, which selects the default.
func oneOf[T ~string](e *Errors, field string, got T, known ...T) {
	if got == "" || slices.Contains(known, got) {
		return
	}
	e.add(field, "%s is unknown; send one of %s", text.Quoted(string(got)), listed(known))
}

// listed joins names for a message.
func listed[T ~string](all []T) string {
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// inRange checks a value and names the setting that limits it: the sender may also be the operator.
func inRange[T int | int64 | units.Bytes](e *Errors, field string, got, low, high T, setting string) {
	e.check(low <= got && got <= high, field, "%d is out of range; send %d to %d, the bound of %s", int64(got),
		int64(low), int64(high), setting)
}

// optional is like inRange for an optional value: 0 selects the default.
func optional[T int | int64 | units.Bytes](e *Errors, field string, got, high T, setting string) {
	if got != 0 {
		inRange(e, field, got, 1, high, setting)
	}
}

// fill fills in the defaults of a job that Check accepts.
func fill(c config.Config, j api.Job) api.Job {
	if len(j.Command) == 0 && j.Language == "" {
		j.Command = []string{itself}
	}
	if j.Checker == nil {
		j.Checker = &api.Checker{Kind: checker.DefaultKind}
	}
	j.Interactor = fillInteractor(j.Interactor)
	j.Limits = fillLimits(c.Limits, j.Limits)
	j.Tests = slices.Clone(j.Tests)
	for i := range j.Tests {
		j.Tests[i].Limits = fillTest(c.Limits, j.Tests[i].Limits, j.Limits)
	}
	setDefault(&j.CPUs, slotCPUs)
	setDefault(&j.Repeats.Policy, c.Repeats.Policy)
	if j.Repeats.Min > 0 {
		setDefault(&j.Repeats.Max, j.Repeats.Min)
	}
	if j.Repeats.Max > 0 {
		setDefault(&j.Repeats.Min, 1)
	}
	j.Keep = fillKeep(c.Limits.Max, j)
	setDefault(&j.Stop, api.StopFirstFailure)
	setDefault(&j.Priority, api.Practice)
	setDefault(&j.Pool, c.Slots.Pool)
	return j
}

func fillLimits(c config.Limits, l api.Limits) api.Limits {
	setDefault(&l.CPUTimeMS, c.Default.CPUTime.Milliseconds())
	wall := c.Default.WallTime
	if wall <= l.CPUTime() { // not set, or solutions within the limit of CPU time would be WTL
		wall = min(2*l.CPUTime()+time.Second, c.Max.WallTime)
	}
	setDefault(&l.WallTimeMS, wall.Milliseconds())
	setDefault(&l.Memory, c.Default.Memory)
	setDefault(&l.Output, c.Default.Output)
	stack := c.Default.Stack
	if stack == 0 {
		stack = l.Memory
	}
	setDefault(&l.Stack, stack)
	setDefault(&l.Processes, c.Default.Processes)
	return l
}

// fillTest completes the limits of a test, if it has any, with those of its job.
func fillTest(c config.Limits, own, whole api.Limits) api.Limits {
	if own == (api.Limits{}) {
		return own
	}
	if own.CPUTimeMS != 0 {
		whole.WallTimeMS = 0 // follows from the CPU time
	}
	if own.Memory != 0 {
		whole.Stack = 0 // follows from the memory
	}
	return fillLimits(c, own.Or(whole))
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
