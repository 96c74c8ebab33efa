package problem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
)

// The formats. ICPC packages have the legacy format without points.
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
	Version string // SHA-256 digest of the content in hex
	Limits  Limits
	// TimeRule derives a time limit from the times of the jury's solutions.
	TimeRule TimeRule
	Tests    []Test // in the order of execution
	// Recipes make the files of tests that the package lacks, in this order. Tests cannot be run before that.
	Recipes []Recipe
	Scheme  api.Scheme
	Checker Checker
	// Interactor communicates with submissions and judges them; it may be nil. If it uses testlib, the checker checks
	// its output file.
	Interactor *Checker
	// InputFile and OutputFile are the files that submissions use instead of stdin and stdout.
	InputFile, OutputFile string
	Validators            []Validator // check inputs
	// InvalidInputs are inputs that at least one validator must reject.
	InvalidInputs []Test
	// Outputs are sample outputs for testing the checker, with their verdicts.
	Outputs      []Output
	CheckerTests []CheckerTest
	Includes     map[string][]File // files that are added to each submission, by language; "" means all languages
	Languages    []string          // allowed languages; empty means all
	Submissions  []Submission
	// NotPrograms is the number of files among the submissions that are not programs.
	NotPrograms int
	// SubmitAnswer means that submissions are outputs, one for each test. The program cat prints the file named by the
	// arguments of the test.
	SubmitAnswer bool
	// Factors multiply the limits by language.
	Factors map[string]api.Factors
	// Findings describe features of the package that judged does not support. Each is listed once, up to maxFindings.
	Findings []string
	// Unchecked are findings that fail the verification: something is missing for a check. They do not affect the judging
	// of submissions.
	Unchecked []string

	found    map[string]bool // set of Findings
	declared []string        // languages in submissions.yaml
	temp     string          // temporary folder with the copies of the files
}

// Limits bound submissions. Zero members mean the defaults of the configuration.
type Limits struct {
	Time           time.Duration // 0 means that it is derived from the jury's solutions
	Memory, Output units.Bytes
	Passes         int // maximum number of passes of a multi-pass problem; otherwise 0
}

// TimeRule is the rule of a format for time limits: the limit is at least Accepted times the time of the slowest
// accepted solution, and at most the time of the fastest solution that must be too slow divided by Rejected. If the
// package has no limit, it is the smallest multiple of Resolution that the rule allows.
type TimeRule struct {
	Accepted, Rejected float64
	Resolution         time.Duration
}

// Limit returns the smallest time limit that allows a solution with that CPU time.
func (r TimeRule) Limit(slowest time.Duration) time.Duration {
	steps := math.Ceil(float64(slowest) * r.Accepted / float64(r.Resolution))
	return time.Duration(max(steps, 1)) * r.Resolution
}

// InvalidError is the error of a package that cannot be judged, with the findings so far, because a setter corrects all at
// once.
type InvalidError struct {
	err      error
	Findings []string
}

func (e *InvalidError) Error() string { return e.err.Error() }
func (e *InvalidError) Unwrap() error { return e.err }

// Invalid adds the findings to an error.
func (p *Package) Invalid(err error) error { return &InvalidError{err, p.Findings} }

// File is a file of the package.
type File struct {
	Name string // name in the folder of its program
	Path string // path on this host
}

// Program is a program of the package: sources, a script or a binary.
type Program struct {
	Name     string // path in the package
	Language string // ID in configs/languages.toml, determined by file names; "" if unknown
	Files    []File
	Entry    string // file or class with the entry point from submissions.yaml; "" if it is not given
}

// Checker describes how output is judged. Program is nil for a built-in comparison.
type Checker struct {
	Kind      string // name of the comparison, or protocol of the program
	Program   *Program
	Args      []string
	Instances int // number of instances of a submission that a CMS manager communicates with; 0 means 1
}

// Validator checks inputs. It reads an input from stdin and exits with status OK if the input is valid.
type Validator struct {
	Program Program
	OK      int
	// Valid and Invalid are tests of the validator itself, which it must accept or reject.
	Valid, Invalid []Test
}

// Output is an output with the verdict that the checker must return for it.
type Output struct {
	Test  Test
	Path  string
	Valid bool
}

// Exit statuses of validators for a valid input.
const (
	kattisValid  = 42
	testlibValid = 0
	grammarValid = 0
)

// Open reads a package from a folder or from an archive: ZIP, or tar with or without gzip. It unpacks an archive into a
// temporary folder, or copies the files of a folder to one. Close removes that folder. If ctx is done, Open returns its
// error. Errors of the content are of type InvalidError.
func Open(ctx context.Context, name string) (*Package, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open package: %w; give a folder or an archive with %s", err, mainFileNames())
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
		return nil, p.Invalid(errors.Join(fmt.Errorf("read package %q: %w", name, err), p.Close()))
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
	defer p.findBroken(t)
	if err := p.checkBroken(t); err != nil {
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
		isMain := func(name string) bool { return slices.Contains(mainFiles, path.Base(name)) }
		if i := slices.IndexFunc(t.names, isMain); i >= 0 {
			return fmt.Errorf("no %s at the top, but there is %q; give that folder, or an archive of it", mainFileNames(),
				t.names[i])
		}
		return fmt.Errorf("no %s; give the folder of a problem package", mainFileNames())
	}
	switch {
	case err != nil:
		return err
	case len(p.Tests) == 0:
		if p.Format == DMOJ {
			return fmt.Errorf("%s: no cases; list them in test_cases, or give patterns that match files of the archive",
				dmojFile)
		}
		return fmt.Errorf("no tests; add data/secret/NAME.in with NAME.ans%s", t.howToMake())
	}
	if err := errors.Join(p.findForeignText(), p.removeNonPrograms()); err != nil {
		return err
	}
	names := make([]string, len(p.Tests))
	for i, t := range p.Tests {
		names[i] = t.Name
	}
	if err := p.Scheme.Check(names); err != nil {
		return fmt.Errorf("%s: %w", p.placeOfGroups(), err)
	}
	return p.checkPoints()
}

// placeOfGroups is the file or folder that defines the groups.
func (p *Package) placeOfGroups() string {
	switch p.Format {
	case Polygon:
		return "problem.xml"
	case CMS:
		return "gen/GEN or " + cmsFile
	case DMOJ:
		return dmojFile
	case Sinol:
		return sinolFile
	}
	return "data"
}

// checkPoints returns an error for a problem with points in which no submission can get any, because every result would
// match the expectation. It sets the full score that accepted submissions must get.
func (p *Package) checkPoints() error {
	byChecker := p.judging().Program != nil
	if p.Scheme.Scoring && !p.Scheme.GivesPoints(byChecker) {
		return fmt.Errorf("no test gives points; %s", p.howToGivePoints())
	}
	p.findWrongPoints(p.Scheme.Root, byChecker)
	if full, known := p.Scheme.Full(byChecker); known {
		for i := range p.Submissions {
			p.Submissions[i].full = &full
		}
	}
	return nil
}

// findWrongPoints adds findings for groups in a group that give more points than its maximum, which is an IE of each
// submission that gets them, and for groups that give none because nobody set their maximum.
func (p *Package) findWrongPoints(g *api.Group, byChecker bool) {
	if !p.Scheme.Scoring {
		return
	}
	unbounded := *g
	unbounded.MaxScore = nil
	sum := unbounded.Largest(byChecker)
	if g.MaxScore != nil && sum > *g.MaxScore+api.Rounding && !math.IsInf(sum, 1) {
		p.find("%s gives up to %g points, more than its maximum %g; a submission that gets more is an internal error",
			path.Join("data", g.Name), sum, *g.MaxScore)
	}
	for i, m := range g.Members {
		if m.Group == nil || i == 0 && g.IgnoreFirst {
			continue
		}
		p.findWrongPoints(m.Group, byChecker)
		inner := api.Scheme{Root: m.Group, Scoring: true}
		needsMaximum := p.Format == Kattis || p.Format == Draft23
		if needsMaximum && m.Group.MaxScore == nil && g.Aggregation != api.PassFail && !inner.GivesPoints(byChecker) {
			p.find("data/%s gives no points, because its %s does not set their maximum", m.Group.Name, groupFile)
		}
	}
}

// howToGivePoints is the next step for a problem whose tests give no points, in the words of its format.
func (p *Package) howToGivePoints() string {
	isSecret := func(t Test) bool { return strings.HasPrefix(t.Name, "secret/") }
	switch p.Format {
	case Polygon:
		return "set them in Polygon"
	case CMS:
		return "set them in # ST of gen/GEN, or total_value in " + cmsFile
	case DMOJ:
		return "set points in " + dmojFile
	case Sinol:
		return "group 0 never does; make the inputs of other groups by sinol-make gen, and set their scores in " + sinolFile
	}
	if !slices.ContainsFunc(p.Tests, isSecret) {
		return "data/secret has none; add NAME.in with NAME.ans, or run the generator of the package before"
	}
	return "set max_score of groups, or accept_score in legacy"
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
		text = "further findings are omitted"
	}
	if !p.found[text] {
		p.found[text] = true
		p.Findings = append(p.Findings, text)
	}
}

// cannotCheck adds a finding once that fails the verification.
func (p *Package) cannotCheck(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.find("%s", text); len(p.Unchecked) < maxFindings && !slices.Contains(p.Unchecked, text) {
		p.Unchecked = append(p.Unchecked, text)
	}
}

// maxFindings is the maximum number of findings of a package.
const maxFindings = 100

// languageOf returns the language of files by their names, or "" if they have no language or several.
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

// languageID returns the ID of the language with a code of the Kattis format.
func languageID(code string) string {
	if code == "python3" {
		return "python"
	}
	return code
}

// headerEndings are the extensions of C and C++ headers, which have no language.
var headerEndings = []string{".h", ".hh", ".hpp", ".hxx"}

// languageByEnding is the table of the Kattis format for languages of judged. It does not depend on the languages of the
// host, because a language that the host lacks must be recognized, too. As in DOMjudge, .pl is Perl; in Kattis it is
// Prolog.
var languageByEnding = map[string]string{
	".adb": "ada", ".awk": "awk", ".bash": "bash", ".c": "c", ".cc": "cpp", ".cl": "lisp", ".cob": "cobol", ".cpp": "cpp",
	".cxx": "cpp", ".c++": "cpp", ".C": "cpp", ".cs": "csharp", ".erl": "erlang", ".ex": "elixir", ".f90": "fortran",
	".go": "go", ".hs": "haskell", ".java": "java", ".js": "javascript", ".kt": "kotlin", ".lisp": "lisp", ".lua": "lua",
	".ml": "ocaml", ".pas": "pascal", ".php": "php", ".pl": "perl", ".py": "python", ".py2": "python2",
	".py3": "python", ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".sh": "bash", ".swift": "swift",
	".ts": "typescript",
}
