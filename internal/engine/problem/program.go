package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
)

// maxPrograms is the maximum number of submissions of a package. Each is matched with all globs of submissions.yaml,
// and has the headers of a Polygon package.
const maxPrograms = 1000

// ProgramError means that judged cannot run a program of a package.
type ProgramError struct{ Name, Reason string }

func (e *ProgramError) Error() string { return fmt.Sprintf("%q %s", e.Name, e.Reason) }

// started is how a program of a package is run: program is a source in a language, or is executed directly.
type started struct {
	name     string // of program
	program  api.File
	language string
	files    map[string]api.File
}

// Start sets the program of a job and returns its name in the package.
func (p *Package) Start(program Program, j api.Job) (_ api.Job, name string, err error) {
	if program.Language == grammarLanguage {
		j, err := startGrammar(program, j, initproc.Path)
		return j, "", err
	}
	if program.Language == answersLanguage {
		return startAnswers(program, j), "", nil
	}
	x, err := program.start()
	if err != nil {
		return j, "", err
	}
	j.Program, j.Language, j.Files = x.program, x.language, x.files
	if x.language == "" {
		j.Command = []string{"{program}"}
	}
	return j, path.Base(x.name), nil
}

// include adds the package's code for submissions in the language of a job. It replaces files with the same names.
func (p *Package) include(j api.Job) api.Job {
	files := maps.Clone(j.Files)
	for _, language := range []string{"", j.Language} {
		for _, f := range p.Includes[language] {
			if files == nil {
				files = map[string]api.File{}
			}
			files[f.Name] = api.File{Part: f.Path}
		}
	}
	j.Files = files
	return j
}

// start finds the file with the entry point.
func (p Program) start() (started, error) {
	entry, err := p.executable()
	if err != nil {
		return started{}, err
	}
	x := started{}
	if entry != nil && entry.Name == buildScript {
		x.language = api.BuildLanguage
	} else if entry == nil {
		if p.Language == "" {
			return x, &ProgramError{p.Name, "has sources in an unknown language, or in several languages; " +
				"put each program into its own folder"}
		}
		x.language = p.Language
		if entry, err = p.entry(); err != nil {
			return x, err
		}
	}
	x.name, x.program = entry.Name, api.File{Part: entry.Path}
	for _, f := range p.Files {
		switch {
		case f == *entry:
			continue
		case strings.Contains(f.Name, "/"):
			return x, &ProgramError{p.Name, "has files in subfolders, such as " + f.Name + "; put all files into one folder"}
		case x.files == nil:
			x.files = map[string]api.File{}
		}
		x.files[f.Name] = api.File{Part: f.Path}
	}
	return x, nil
}

// Scripts of a program that define how it is built and run.
const (
	buildScript = "build"
	runScript   = "run"
)

// isProgram reports whether a program can be compiled or executed.
func (p Program) isProgram() (bool, error) {
	for _, f := range p.Files {
		if languageByEnding[path.Ext(f.Name)] != "" {
			return true, nil
		}
	}
	found, err := p.executable()
	return found != nil || p.Language != "", err
}

// removeNonPrograms removes files that are not programs, such as a README next to the submissions.
func (p *Package) removeNonPrograms() error {
	submissions, err1 := filterPrograms(p, p.Submissions, func(s Submission) Program { return s.Program })
	validators, err2 := filterPrograms(p, p.Validators, func(v Validator) Program { return v.Program })
	p.NotPrograms += len(p.Submissions) - len(submissions)
	p.Submissions, p.Validators = submissions, validators
	return errors.Join(err1, err2)
}

// filterPrograms returns the entries that are programs, and adds findings for the others.
func filterPrograms[T any](p *Package, all []T, program func(T) Program) (kept []T, err error) {
	for _, x := range all {
		is, err := program(x).isProgram()
		if err != nil {
			return nil, err
		}
		if !is {
			p.find("%s is not a program: not a source in a known language, a binary, or a script that begins with #!",
				program(x).Name)
			continue
		}
		kept = append(kept, x)
	}
	return kept, nil
}

// executable returns the file that is executed directly, or nil: build (which creates run), run, a binary, or a script
// with a #! line in no known language, in this order.
func (p Program) executable() (*File, error) {
	var found *File
	for i, f := range p.Files {
		if f.Name == buildScript {
			return &p.Files[i], nil
		}
		head, err := readHead(f.Path, len(elfMagic))
		if err != nil {
			return nil, err
		}
		isBinary := bytes.Equal(head, []byte(elfMagic))
		if !isBinary && !bytes.HasPrefix(head, []byte("#!")) {
			continue
		}
		if f.Name == runScript || found == nil && (isBinary || p.Language == "") {
			found = &p.Files[i]
		}
	}
	return found, nil
}

const elfMagic = "\x7fELF"

// entry returns the source with the entry point: the only source in the language, the one named main, or in Java the
// one with the main method.
func (p Program) entry() (*File, error) {
	if p.Entry != "" {
		return p.declaredEntry()
	}
	if p.Files[0].Name == path.Base(p.Name) { // a single file, possibly with headers
		return &p.Files[0], nil
	}
	var sources, others []*File
	for i, f := range p.Files {
		switch languageByEnding[path.Ext(f.Name)] {
		case p.Language:
			sources = append(sources, &p.Files[i])
		case "":
		default:
			others = append(others, &p.Files[i])
		}
	}
	if len(sources) == 0 { // the language comes from submissions.yaml
		sources = others
	}
	for _, f := range sources {
		if len(sources) == 1 || isMain(f.Name) {
			return f, nil
		}
	}
	for _, f := range sources {
		head, err := readHead(f.Path, maxTagged)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(head, []byte("static void main(")) {
			return f, nil
		}
	}
	if len(sources) == 0 || slices.Contains(startedByName, p.Language) {
		return nil, &ProgramError{p.Name, "has several files; rename the one with the entry point to main" +
			"; languages such as C++ do not need this"}
	}
	return sources[0], nil
}

// isMain reports whether a source has the name of the one with the entry point: main or __main__.
func isMain(name string) bool {
	return strings.EqualFold(strings.Trim(strings.TrimSuffix(name, path.Ext(name)), "_"), "main")
}

// startedByName are the languages whose programs start in a file that must be named. The formats define the name for
// some of them: __main__.py or main.py, main.js, main.php.
var startedByName = []string{"awk", "bash", "javascript", "lua", "perl", "php", "python", "python2", "ruby", "rust"}

// isPython2 reports whether a source has a #! line of Python 2, which has the same extension as Python 3.
func isPython2(f File) bool {
	const longest = 100
	head, err := readHead(f.Path, longest)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return err == nil && bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("python2"))
}

// readHead reads the first bytes of a file.
func readHead(name string, most int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(most)))
}
