package problem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"judged/internal/api"

	"judged/internal/api/scoring"
	"judged/internal/base/units"
)

// The formats. Packages of the ICPC are legacy ones without points.
const (
	Legacy  api.ProblemFormat = "legacy"
	Draft23 api.ProblemFormat = "2023-07"
	Kattis  api.ProblemFormat = "2025-09"
	Polygon api.ProblemFormat = "polygon"
	CMS     api.ProblemFormat = "cms"
	DMOJ    api.ProblemFormat = "dmoj"
	Sinol   api.ProblemFormat = "sinol"
)

// Package is a problem package.
type Package struct {
	Format  api.ProblemFormat
	Name    string
	Version string // digest of the content: SHA-256 in hex
	Limits  Limits
	// TimeRule derives a time limit from the times of the jury's solutions.
	TimeRule TimeRule
	Tests    []Test // in the order in which they run
	// Recipes make files of tests that the package does not have, in their order. Until then no test can be run.
	Recipes []Recipe
	Scheme  scoring.Scheme
	Checker Checker
	// Interactor communicates with submissions and judges them; it may be nil. If it uses testlib, the checker checks
	// its output file.
	Interactor *Checker
	// InputFile and OutputFile are the files that submissions read and write in place of stdin and stdout.
	InputFile, OutputFile string
	Validators            []Validator // of inputs
	// InvalidInputs are inputs that at least one validator must reject.
	InvalidInputs []Test
	// Outputs are sample outputs for the checker, with their verdicts.
	Outputs     []Output
	Includes    map[string][]File // files that are added to each submission, by language; "" is every language
	Languages   []string          // allowed ones; empty is all
	Submissions []Submission
	// NotPrograms is the number of files next to submissions that are not programs.
	NotPrograms int
	// SubmitAnswer says that submissions are outputs, one for each test: files with the names in the arguments of the
	// tests, which the program cat prints.
	SubmitAnswer bool
	// Factors multiply the limits, by language.
	Factors map[string]api.Factors
	// Findings describe features of the package that judged does not support, each once, up to maxFindings.
	Findings []string

	found map[string]bool // the findings
	temp  string          // folder of the copies
}

// Limits bound submissions. Zero members take the defaults of the configuration.
type Limits struct {
	Time           time.Duration // 0: comes from the jury's solutions
	Memory, Output units.Bytes
	Passes         int // of a multi-pass problem; else 0
}

// TimeRule is the rule of a format for time limits: the slowest accepted solution times Accepted is at most the
// limit, and the limit times Rejected at most the time of the fastest solution that has to be too slow. Without a
// limit in the package it is the smallest multiple of Resolution.
type TimeRule struct {
	Accepted, Rejected float64
	Resolution         time.Duration
}

// Limit returns the smallest time limit that a solution with that CPU time allows.
func (r TimeRule) Limit(slowest time.Duration) time.Duration {
	steps := math.Ceil(float64(slowest) * r.Accepted / float64(r.Resolution))
	return time.Duration(max(steps, 1)) * r.Resolution
}

// File is a file of the package.
type File struct {
	Name string // in the folder of its program
	Path string // on this host
}

// Program is a program of the package: sources, a script or a binary.
type Program struct {
	Name     string // path in the package
	Language string // ID in configs/languages.toml, by the names of the files; "" is unknown
	Files    []File
	Entry    string // a file or a class with the entry point, as submissions.yaml names it; "" leaves it open
}

// Checker describes how output is judged. Program is nil for a built-in comparison.
type Checker struct {
	Kind      string // of the comparison, or the protocol of the program
	Program   *Program
	Args      []string
	Instances int // of a submission that a manager of CMS talks with; 0 means 1
}

// Validator checks inputs. It reads one from stdin and exits with OK.
type Validator struct {
	Program Program
	OK      int
}

// Output is an output with the verdict that the checker must give.
type Output struct {
	Test  Test
	Path  string
	Valid bool
}

// The exit status of validators of a valid input.
const (
	kattisValid  = 42
	testlibValid = 0
	grammarValid = 0
)

// Open reads a package from a folder, or from an archive: ZIP, or tar with or without gzip. It unpacks an archive into a
// temporary folder, and copies the files of a folder to one; Close removes it. It ends with the error of
// ctx when that is done.
func Open(ctx context.Context, name string) (*Package, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open package: %w; name a folder or an archive with %s", err, mainFileNames())
	}
	p := &Package{Includes: map[string][]File{}, found: map[string]bool{}}
	if p.temp, err = os.MkdirTemp("", "judged-package-"); err != nil {
		return nil, fmt.Errorf("copy package: %w", err)
	}
	dir, copies := name, p.temp
	if !info.IsDir() {
		dir, copies = p.temp, ""
		if err := unpackTree(ctx, name, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("unpack package %q: %w", name, err), p.Close())
		}
	}
	if err := p.read(ctx, dir, copies); err != nil {
		return nil, errors.Join(fmt.Errorf("read package %q: %w", name, err), p.Close())
	}
	return p, nil
}

// Close removes the temporary folder.
func (p *Package) Close() error {
	return os.RemoveAll(p.temp)
}

func (p *Package) read(ctx context.Context, dir, copies string) error {
	t, err := readTree(ctx, dir, copies)
	if err != nil {
		return err
	}
	p.Version, t.find = t.digest, p.find
	if err := p.reportBroken(t.broken); err != nil {
		return err
	}
	if err := p.readFactors(t); err != nil {
		return err
	}
	switch {
	case t.has("problem.xml") && !t.has("problem.yaml"):
		err = p.readPolygon(t)
	case t.has("problem.yaml"), t.has(domjudgeFile):
		err = p.readKattis(t)
	case t.has(cmsFile):
		err = p.readCMS(t)
	case t.has(dmojFile):
		err = p.readDMOJ(t)
	case t.has(sinolFile):
		err = p.readSinol(t)
	default:
		return fmt.Errorf("no %s; name the folder of a problem package", mainFileNames())
	}
	switch {
	case err != nil:
		return err
	case len(p.Tests) == 0:
		return errors.New("no tests; add data/secret/NAME.in with NAME.ans")
	}
	if err := p.removeNonPrograms(); err != nil {
		return err
	}
	names := make([]string, len(p.Tests))
	for i, t := range p.Tests {
		names[i] = t.Name
	}
	if err := p.Scheme.Check(names); err != nil {
		return err
	}
	return p.checkPoints()
}

// checkPoints refuses a problem with points where no submission gets any: all would be as expected. It sets the full
// score that accepted submissions have to get.
func (p *Package) checkPoints() error {
	byChecker := p.judging().Program != nil
	if p.Scheme.Scoring && !p.Scheme.GivesPoints(byChecker) {
		return errors.New("no test gives points; give the groups points, such as max_score, or accept_score in legacy")
	}
	if full, known := p.Scheme.Full(byChecker); known {
		for i := range p.Submissions {
			p.Submissions[i].full = &full
		}
	}
	return nil
}

// unsupported adds a finding once.
func (p *Package) unsupported(format string, args ...any) {
	p.find("unsupported: "+format, args...)
}

func (p *Package) find(format string, args ...any) {
	if len(p.found) > maxFindings {
		return
	}
	text := fmt.Sprintf(format, args...)
	if len(p.found) == maxFindings && !p.found[text] {
		text = "further findings are left out"
	}
	if !p.found[text] {
		p.found[text] = true
		p.Findings = append(p.Findings, text)
	}
}

// maxFindings is the maximum number of findings about a package.
const maxFindings = 100

// languageOf returns the language of files by their names, or "" if they have none or several.
func languageOf(files []File) string {
	language := ""
	for _, f := range files {
		i := strings.LastIndexByte(f.Name, '.')
		if i < 0 {
			continue
		}
		code := languageByEnding[f.Name[i:]]
		if code == "" || code == language {
			continue
		}
		if language != "" {
			return ""
		}
		language = code
	}
	return language
}

// languageID returns the ID of a language with a code of the Kattis format.
func languageID(code string) string {
	if code == "python3" {
		return "python"
	}
	return code
}

// headerEndings are the file name endings of C and C++ headers, which have no language.
var headerEndings = []string{".h", ".hh", ".hpp", ".hxx"}

// languageByEnding is the table of the Kattis format for the languages in wide use, which is not that of a host: a
// language that a host lacks has to be recognized. As in problemtools .pl is Perl.
var languageByEnding = map[string]string{
	".awk": "awk", ".bash": "bash", ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".c++": "cpp", ".C": "cpp",
	".cs": "csharp", ".go": "go", ".hs": "haskell", ".java": "java", ".js": "javascript", ".kt": "kotlin", ".lua": "lua",
	".ml": "ocaml", ".pas": "pascal", ".php": "php", ".pl": "perl", ".py": "python", ".py2": "python2",
	".py3": "python", ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".sh": "bash", ".swift": "swift",
}
