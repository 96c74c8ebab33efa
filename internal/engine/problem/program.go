package problem

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"judged/internal/api"
)

// maxPrograms bounds the submissions of a package: each is compared with each glob of submissions.yaml, and has the
// headers of a package of Polygon.
const maxPrograms = 1000

// ProgramError is a program of a package that judged cannot run.
type ProgramError struct{ Name, Reason string }

func (e *ProgramError) Error() string { return fmt.Sprintf("%q %s", e.Name, e.Reason) }

// started is how a program of a package is run: program is a source in a language, or else is executed as it is.
type started struct {
	name     string // of program
	program  api.File
	language string
	files    map[string]api.File
}

// Start sets the program of a job, and returns its name in the package.
func (p *Package) Start(program Program, j api.Job) (_ api.Job, name string, err error) {
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

// include adds the code of the package for submissions in the language of a job. It replaces files of the same name.
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

// start finds the file with the entry point. A binary and a script with a #! line are executed as they are, but Python
// is a language like others.
func (p Program) start() (started, error) {
	entry, err := p.executable()
	if err != nil {
		return started{}, err
	}
	x := started{}
	if entry == nil || p.Language == "python" && entry.Name != runScript {
		if p.Language == "" {
			return x, &ProgramError{p.Name,
				"has sources in an unknown language; compile them and put the binary in their place"}
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
			return x, &ProgramError{p.Name, "has files in folders, such as " + f.Name + "; put them next to each other"}
		case x.files == nil:
			x.files = map[string]api.File{}
		}
		x.files[f.Name] = api.File{Part: f.Path}
	}
	return x, nil
}

// The scripts of a program that says itself how it is built and run.
const (
	buildScript = "build"
	runScript   = "run"
)

// executable is the file that can be executed as it is, or nil.
func (p Program) executable() (*File, error) {
	var found *File
	for i, f := range p.Files {
		if f.Name == buildScript {
			return nil, &ProgramError{p.Name,
				"has a build script, which judged does not run; put the binary in its place"}
		}
		head, err := readHead(f.Path, len(elfMagic))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(head, []byte(elfMagic)) && !bytes.HasPrefix(head, []byte("#!")) {
			continue
		}
		if found == nil || f.Name == runScript {
			found = &p.Files[i]
		}
	}
	return found, nil
}

const elfMagic = "\x7fELF"

// entry is the source with the entry point: the only one in the language, or one that is called main, or in Java the
// one that has the method.
func (p Program) entry() (*File, error) {
	var sources []*File
	for i, f := range p.Files {
		if languageByEnding[path.Ext(f.Name)] == p.Language || len(p.Files) == 1 {
			sources = append(sources, &p.Files[i])
		}
	}
	for _, f := range sources {
		stem := strings.Trim(strings.TrimSuffix(f.Name, path.Ext(f.Name)), "_")
		if len(sources) == 1 || strings.EqualFold(stem, "main") {
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
	if len(sources) == 0 || slices.Contains([]string{"python", "javascript", "rust"}, p.Language) {
		return nil, &ProgramError{p.Name, "has several files; call the one with the entry point main" +
			"; languages such as C++ find it themselves"}
	}
	return sources[0], nil
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
