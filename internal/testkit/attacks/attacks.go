package attacks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// brokeStatus is the exit status of a successful attack: BROKE_STATUS of attack.h.
const brokeStatus = 86

// brokeMessage is part of the message about a compiler, or a checker that uses testlib, that has exited with
// brokeStatus.
const brokeMessage = "status 86"

// Canary is the content of a file of the host that must not be readable.
const Canary = "nobody has read or written this"

// Attack is an attack and its expected result.
type Attack struct {
	Name   string `json:"-"` // such as 006-daemonize, with the number in the catalogue
	Source string `json:"-"` // path on this host

	Title     string        `json:"attack"` // one line
	Class     string        `json:"class"`
	StoppedBy string        `json:"stopped_by"` // the mechanism that stops it, one line
	Verdicts  []api.Verdict `json:"verdict"`    // with all layers; several if the kernel does not determine one
	Signal    string        `json:"signal"`     // the signal that ended the first process; "" accepts any

	Args  []string `json:"args"`
	Stdin string   `json:"stdin"`
	// StdinBytes is the size of an input that is made of numbers, instead of Stdin.
	StdinBytes units.Bytes `json:"stdin_bytes"`
	Phases     [][]string  `json:"phases"`   // additional arguments of consecutive runs, each in its own sandbox
	Together   bool        `json:"together"` // run the phases concurrently
	Limits     api.Limits  `json:"limits"`
	CPUs       int         `json:"cpus"` // CPUs of the slot, at least 1

	// Language is the language of an attack on a compiler: judged compiles its source. "" means a program
	// compiled by gcc.
	Language  string            `json:"language"`
	Files     map[string]string `json:"files"`      // additional files next to the source, by name
	AsChecker bool              `json:"as_checker"` // run as the checker of a program that writes nothing
	// Interactor and Checker are the arguments of the jury programs talker.c and checker.c of testdata/jury, if
	// the attack involves them.
	Interactor []string `json:"interactor"`
	Checker    []string `json:"checker"`
	Says       string   `json:"says"` // substring of the report's message
	// InputFile, OutputFile, Answer and Passes are settings of the job and its test: the names of the input and the
	// output file, the expected content of the output, and the maximum number of passes.
	InputFile  string `json:"input_file"`
	OutputFile string `json:"output_file"`
	Answer     string `json:"answer"`
	Passes     int    `json:"passes"`
	// Collect names files that the job collects, and KeptBytes is how much is kept of them together, least and most.
	Collect   []string `json:"collect"`
	KeptBytes *Range   `json:"kept_bytes"`
	// GivenTo lists jury programs that legitimately have what the attack tries to get: "checker", "compiler".
	GivenTo []string `json:"given_to"`
	Testlib bool     `json:"-"` // for a checker: it uses testlib

	CC      []string `json:"cc"` // additional flags of gcc
	Dynamic bool     `json:"dynamic"`
	Arch    []string `json:"arch"`   // GOARCH values for which it is intended; empty means all
	Native  bool     `json:"native"` // depends on a real processor, so it is not run in guests

	CPUTimeMS     *Range `json:"cpu_time_ms"`
	MemoryBytes   *Range `json:"memory_bytes"`
	UnsafeWithout Layers `json:"unsafe_without"`

	// Open means that nothing stops the attack reliably, as SECURITY.md says. It may succeed, but must do no
	// harm.
	Open bool `json:"open"`
	// OpenWithHost is like Open, for a root that shows the host's own files.
	OpenWithHost bool `json:"open_with_host"`
}

// Range is an inclusive range of a counter.
type Range [2]int64

// Layers is a set of layers of the sandbox. Its JSON is a list of names.
type Layers initproc.Layers

// UnmarshalJSON rejects unknown names.
func (l *Layers) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	all, err := initproc.ParseLayers(strings.Join(names, ","))
	*l = Layers(all)
	return err
}

// Classes returns the goals of attacks, in the order of the table.
func Classes() []string {
	return []string{"time", "memory", "output", "processes", "files", "identity", "kernel", "network", "ipc", "judge"}
}

var attackName = regexp.MustCompile(`^[0-9]{3}-[a-z0-9][a-z0-9-]*$`)

// Read reads all attacks in a folder, ordered by name, and validates them as a set: each must have a program,
// and each program must have data. Unknown keys are errors.
func Read(dir string) ([]Attack, error) {
	data, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	programs, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("read attacks: there are none in %q; name testdata/attacks of the repository", dir)
	}
	for _, path := range programs {
		if other := strings.TrimSuffix(path, ".c") + ".json"; !slices.Contains(data, other) {
			return nil, fmt.Errorf("read attack %q: it has no data; write %q", path, filepath.Base(other))
		}
	}
	var all []Attack
	for _, path := range data {
		a, err := readOne(path)
		if err != nil {
			return nil, fmt.Errorf("read attack %q: %w", path, err)
		}
		all = append(all, a)
	}
	return all, distinct(all)
}

func readOne(path string) (Attack, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Attack{}, err
	}
	base := strings.TrimSuffix(path, ".json")
	a := Attack{Name: filepath.Base(base), Source: base + ".c", CPUs: 1}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return Attack{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Attack{}, errors.New("there is more after the object; remove it")
	}
	return a, a.validate()
}

func (a Attack) validate() error {
	if _, err := os.Stat(a.Source); err != nil {
		return fmt.Errorf("find its program: %w", err)
	}
	switch {
	case !attackName.MatchString(a.Name):
		return errors.New("its name is not three digits, a hyphen and words in small letters, such as 006-daemonize")
	case !line(a.Title) || !line(a.StoppedBy):
		return errors.New("attack and stopped_by are one line each, without | and `, for the table")
	case !slices.Contains(Classes(), a.Class):
		return fmt.Errorf("class %q is unknown; use one of %q", a.Class, Classes())
	case len(a.Verdicts) == 0:
		return errors.New("it has no verdict; name what must come of it")
	case a.Signal != "" && !strings.HasPrefix(a.Signal, "SIG"):
		return fmt.Errorf("invalid signal %q; write for instance SIGSYS", a.Signal)
	case a.CPUs < 1:
		return fmt.Errorf("cpus %d is no width; use at least 1", a.CPUs)
	case a.Open && a.OpenWithHost:
		return errors.New("open_with_host is for what is not open otherwise")
	case a.Language != "" && (a.AsChecker || len(a.Args)+len(a.CC) > 0), a.Language == "" && len(a.Files) > 0:
		return errors.New("files are for a language, and args, cc and as_checker for a program without one")
	case a.AsChecker && len(a.Interactor)+len(a.Checker) > 0:
		return errors.New("as_checker does not go with a checker or an interactor")
	case a.Passes > 0 && a.Checker == nil:
		return errors.New("passes are for a checker, which asks for them")
	case a.StdinBytes != 0 && (a.Stdin != "" || a.StdinBytes < 8 || a.StdinBytes%8 != 0):
		return fmt.Errorf("stdin_bytes %d: use a multiple of 8, without stdin", a.StdinBytes)
	case a.Together && len(a.Phases) != 2:
		return fmt.Errorf("together asks for two phases and it has %d", len(a.Phases))
	}
	for _, v := range a.Verdicts {
		if v.JudgementType() == "" {
			return fmt.Errorf("a run cannot get verdict %q", v)
		}
	}
	for _, r := range []*Range{a.CPUTimeMS, a.MemoryBytes, a.KeptBytes} {
		if r != nil && r[0] > r[1] {
			return fmt.Errorf("range %v ends before it begins", *r)
		}
	}
	return nil
}

// ForJury returns variants of the attack as a checker and as a compiler of a language, if possible. Each is a
// single run that tries to reach something.
func (a Attack) ForJury(language string) (made []Attack) {
	reaches := !slices.Contains([]string{"time", "memory", "output", "processes"}, a.Class)
	aimed := a.Language != "" || a.AsChecker || a.Interactor != nil || a.Checker != nil || a.InputFile != "" ||
		a.OutputFile != "" || a.Collect != nil
	if !reaches || aimed || !slices.Equal(a.Verdicts, []api.Verdict{api.Accepted}) || len(a.Phases) > 0 ||
		a.CPUs > 1 || a.Open || a.OpenWithHost {
		return nil
	}
	// The arguments of a checker follow those of its protocol.
	if !slices.Contains(a.GivenTo, "checker") && len(a.Args) == 0 {
		c := a
		c.Name, c.AsChecker, c.Testlib = a.Name+"-checker", true, true // accepts with the exit status of held
		made = append(made, c)
	}
	if !slices.Contains(a.GivenTo, "compiler") {
		c := a
		c.Name, c.Language = a.Name+"-compiler", language
		c.Verdicts, c.Says = []api.Verdict{api.CompileError}, "did not write a program"
		made = append(made, c)
	}
	return made
}

// CheckerKind returns the protocol of an attack that is a checker.
func (a Attack) CheckerKind() string {
	if a.Testlib {
		return "testlib"
	}
	return "icpc"
}

// Input returns the content of the input of all runs.
func (a Attack) Input() string {
	return a.Stdin + strings.Repeat("1 2 3 4\n", int(a.StdinBytes/8))
}

func line(s string) bool { return s != "" && !strings.ContainsAny(s, "\n|`") }

// distinct rejects two attacks with the same number, because the table is ordered by it.
func distinct(all []Attack) error {
	for i := 1; i < len(all); i++ {
		if number := all[i].Name[:3]; all[i-1].Name[:3] == number {
			return fmt.Errorf("read attacks: number %s has %q and %q; give one of them another", number, all[i-1].Name,
				all[i].Name)
		}
	}
	return nil
}

func (a Attack) fits(arch string) bool { return len(a.Arch) == 0 || slices.Contains(a.Arch, arch) }

// Runs returns the arguments of each run of the attack, without the program. replace inserts values that only
// the driver knows.
func (a Attack) Runs(replace *strings.Replacer) [][]string {
	phases := a.Phases
	if len(phases) == 0 {
		phases = [][]string{nil}
	}
	var runs [][]string
	for _, p := range phases {
		var args []string
		for _, arg := range slices.Concat(a.Args, p) {
			args = append(args, replace.Replace(arg))
		}
		runs = append(runs, args)
	}
	return runs
}

// Differences describes how the report of one run differs from the expected result, one line each. slack
// extends the upper limits of times, because an emulated processor is slow.
func (a Attack) Differences(r api.Report, slack int64) []string {
	if a.Open && GotThrough(r) {
		return nil
	}
	var all []string
	t := r.Tests[0]
	if !a.Expects(r.Verdict) {
		all = append(all, fmt.Sprintf("verdict: want %v, got %v", a.Verdicts, r.Verdict))
	}
	if GotThrough(r) {
		all = append(all, "it got through")
	}
	if m := message(r); !utf8.ValidString(m) || len(m) > maxMessage {
		all = append(all, fmt.Sprintf("message: %d bytes, valid UTF-8: %t", len(m), utf8.ValidString(m)))
	}
	if !strings.Contains(message(r), a.Says) {
		all = append(all, fmt.Sprintf("message: want one with %q, got %q", a.Says, message(r)))
	}
	if got := signal(t.Exit); a.Signal != "" && got != a.Signal {
		all = append(all, fmt.Sprintf("signal: want %s, got %q", a.Signal, got))
	}
	if c := a.CPUTimeMS; c != nil && (r.CPUTime == nil ||
		!(Range{c[0], c[1] * slack}).holds(r.CPUTime.Milliseconds())) {
		all = append(all, fmt.Sprintf("CPU time: want %d to %d ms, got %v", c[0], c[1]*slack, r.CPUTime))
	}
	if m := a.MemoryBytes; m != nil && r.MemoryPeak != nil && !m.holds(int64(*r.MemoryPeak)) {
		all = append(all, fmt.Sprintf("memory peak: want %d to %d bytes, got %d", m[0], m[1],
			units.Bytes(*r.MemoryPeak)))
	}
	if k := a.KeptBytes; k != nil && !k.holds(kept(r)) {
		all = append(all, fmt.Sprintf("kept: want %d to %d bytes, got %d", k[0], k[1], kept(r)))
	}
	return all
}

// kept returns how much a report keeps of its test, in bytes.
func kept(r api.Report) (n int64) {
	for _, k := range r.Tests[0].Kept {
		n += int64(len(k.Content))
	}
	return n
}

// Expects reports whether v is an expected verdict with all layers.
func (a Attack) Expects(v api.Verdict) bool { return slices.Contains(a.Verdicts, v) }

// GotThrough reports whether an attack reports its success, or the report contains the Canary.
func GotThrough(r api.Report) bool {
	e := r.Tests[0].Exit
	text, err := json.Marshal(r)
	return e != nil && e.Code != nil && *e.Code == brokeStatus || strings.Contains(message(r), brokeMessage) ||
		err != nil || bytes.Contains(text, []byte(Canary)) ||
		slices.ContainsFunc(r.Tests[0].Kept, func(k api.KeptOutput) bool {
			return bytes.Contains(k.Content, []byte(Canary))
		})
}

// maxMessage is larger than all messages of a report with one test together, in bytes.
const maxMessage = 32 << 10

// message returns all messages of a report.
func message(r api.Report) string {
	all := []string{r.Message}
	for _, t := range r.Tests {
		if t.Checker != nil {
			all = append(all, t.Checker.Message, t.Checker.Stderr)
		}
	}
	return strings.TrimSpace(strings.Join(all, "\n"))
}

func (r Range) holds(v int64) bool { return r[0] <= v && v <= r[1] }

func signal(e *api.Exit) string {
	if e == nil {
		return ""
	}
	return e.Signal
}
