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

// brokeStatus is the exit status of an attack that got through: BROKE_STATUS of
// attack.h.
const brokeStatus = 86

// brokeMessage is part of what is said of a compiler, or of a checker that uses testlib, that has ended with brokeStatus.
const brokeMessage = "status 86"

// Canary is the text of a file of the host that nobody may read.
const Canary = "nobody has read or written this"

// Attack is one attack with what must come of it.
type Attack struct {
	Name   string `json:"-"` // 006-daemonize; the number is that of the catalogue
	Source string `json:"-"` // path of this host

	Title     string        `json:"attack"` // what is tried, one line
	Class     string        `json:"class"`
	StoppedBy string        `json:"stopped_by"` // the mechanism, one line
	Verdicts  []api.Verdict `json:"verdict"`    // in the whole sandbox; several where the kernel leaves it open
	Signal    string        `json:"signal"`     // that ended the first process; "" says nothing

	Args     []string   `json:"args"`
	Stdin    string     `json:"stdin"`
	Phases   [][]string `json:"phases"`   // further arguments of runs one after the other, each in its own sandbox
	Together bool       `json:"together"` // the phases run at once
	Limits   api.Limits `json:"limits"`
	CPUs     int        `json:"cpus"` // of the slot, at least 1

	// Language is that of an attack on the compiler: judged compiles its source. "" is a program that gcc has compiled.
	Language  string            `json:"language"`
	Files     map[string]string `json:"files"`      // further files next to the source, by name
	AsChecker bool              `json:"as_checker"` // it is the checker of a program that writes nothing
	// Interactor and Checker are what programs of the jury do that the attack has to do with: arguments of talker.c and
	// checker.c of testdata/jury.
	Interactor []string `json:"interactor"`
	Checker    []string `json:"checker"`
	Says       string   `json:"says"` // part of the message of the report
	// OutputFile, Answer and Passes are those of the job and its test: a named output file, what it must hold, and how
	// many passes there may be.
	OutputFile string `json:"output_file"`
	Answer     string `json:"answer"`
	Passes     int    `json:"passes"`
	// GivenTo names programs of the jury that are given what it tries to get: "checker", "compiler".
	GivenTo []string `json:"given_to"`
	Testlib bool     `json:"-"` // of a checker: it uses testlib

	CC      []string `json:"cc"` // further flags of gcc
	Dynamic bool     `json:"dynamic"`
	Arch    []string `json:"arch"`   // GOARCHs that it is meant for; empty is all
	Native  bool     `json:"native"` // leans on what an emulated processor does otherwise, so no guest tries it

	CPUTimeMS     *Range `json:"cpu_time_ms"`
	MemoryBytes   *Range `json:"memory_bytes"`
	UnsafeWithout Layers `json:"unsafe_without"`

	// Open says that nothing stops it for certain, and SECURITY.md that this is
	// not promised. It may get through; what it may not is do harm.
	Open bool `json:"open"`
	// OpenWithHost says so of a root that shows the host's own files.
	OpenWithHost bool `json:"open_with_host"`
}

// Range is what a counter must show, both ends included.
type Range [2]int64

// Layers are layers of the sandbox, in JSON a list of their names.
type Layers initproc.Layers

// UnmarshalJSON refuses names that are no layer's.
func (l *Layers) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	all, err := initproc.ParseLayers(strings.Join(names, ","))
	*l = Layers(all)
	return err
}

// Classes are what attacks are after, in the order of the table.
func Classes() []string {
	return []string{"time", "memory", "output", "processes", "files", "identity", "kernel", "network", "ipc", "judge"}
}

var attackName = regexp.MustCompile(`^[0-9]{3}-[a-z0-9][a-z0-9-]*$`)

// Read reads all attacks of a folder, ordered by name, and validates them as a
// set: each has its program, each program its data. Unknown keys are errors.
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
	case a.Together && len(a.Phases) != 2:
		return fmt.Errorf("together asks for two phases and it has %d", len(a.Phases))
	}
	for _, v := range a.Verdicts {
		if v.JudgementType() == "" {
			return fmt.Errorf("a run cannot get verdict %q", v)
		}
	}
	for _, r := range []*Range{a.CPUTimeMS, a.MemoryBytes} {
		if r != nil && r[0] > r[1] {
			return fmt.Errorf("range %v ends before it begins", *r)
		}
	}
	return nil
}

// ForJury returns the attack as a checker and as a compiler of a language make it, where they can: one run that tries to
// reach something.
func (a Attack) ForJury(language string) (made []Attack) {
	reaches := !slices.Contains([]string{"time", "memory", "output", "processes"}, a.Class)
	aimed := a.Language != "" || a.AsChecker || a.Interactor != nil || a.Checker != nil || a.OutputFile != ""
	if !reaches || aimed || !slices.Equal(a.Verdicts, []api.Verdict{api.Accepted}) || len(a.Phases) > 0 ||
		a.CPUs > 1 || a.Open || a.OpenWithHost {
		return nil
	}
	// The arguments of a checker come after those of its protocol.
	if !slices.Contains(a.GivenTo, "checker") && len(a.Args) == 0 {
		c := a
		c.Name, c.AsChecker, c.Testlib = a.Name+"-checker", true, true // accepts by the status of held
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

// CheckerKind is the protocol of an attack that is a checker.
func (a Attack) CheckerKind() string {
	if a.Testlib {
		return "testlib"
	}
	return "icpc"
}

func line(s string) bool { return s != "" && !strings.ContainsAny(s, "\n|`") }

// distinct refuses two attacks of one number: the table is ordered by it.
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

// Runs are the argument lists of the runs that the attack is made of, without
// the program. replace fills in what only the driver knows.
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

// Differences says in what the report of one run is not as it must be, one line
// each. slack widens the upper end of times: an emulated processor is slow.
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
	return all
}

// Expects reports whether the verdict is one that the whole sandbox may give.
func (a Attack) Expects(v api.Verdict) bool { return slices.Contains(a.Verdicts, v) }

// GotThrough reports whether an attack says so of itself, or the report quotes what nobody may read.
func GotThrough(r api.Report) bool {
	e := r.Tests[0].Exit
	text, err := json.Marshal(r)
	return e != nil && e.Code != nil && *e.Code == brokeStatus || strings.Contains(message(r), brokeMessage) ||
		err != nil || bytes.Contains(text, []byte(Canary))
}

// maxMessage is more than all messages of a report with one test have together, in bytes.
const maxMessage = 32 << 10

// message is what a report says of why.
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
