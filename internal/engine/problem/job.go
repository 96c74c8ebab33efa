package problem

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"

	"judged/internal/base/job"
)

// Judging is a job with what the package says: tests, limits that j leaves open, checker and interactor. Files are parts
// that name paths of this host.
func (p *Package) Judging(j job.Job) (job.Job, error) {
	if p.MultiPass {
		return j, fmt.Errorf("problem %q is multi-pass, which judged does not judge yet", p.Name)
	}
	for _, t := range p.Tests {
		j.Tests = append(j.Tests, job.Test{Name: t.Name, Input: &job.File{Part: t.Input},
			Answer: &job.File{Part: t.Answer}})
	}
	j.Limits = j.Limits.Or(job.Limits{CPUTimeMS: p.Limits.Time.Milliseconds(), Memory: p.Limits.Memory,
		Output: p.Limits.Output})
	j.Checker, j.Interactor = &job.Checker{Kind: "tokens"}, nil
	if p.Checker.Kind != "" {
		j.Checker = &job.Checker{Kind: p.Checker.Kind, Args: p.Checker.Args}
	}
	if program := p.Checker.Program; program != nil {
		file, err := program.executable()
		if err != nil {
			return j, fmt.Errorf("use checker: %w", err)
		}
		j.Checker.Program = &job.File{Part: file}
	}
	if p.Interactor != nil {
		file, err := p.Interactor.Program.executable()
		if err != nil {
			return j, fmt.Errorf("use interactor: %w", err)
		}
		j.Interactor = &job.Interactor{Kind: p.Interactor.Kind, Program: job.File{Part: file}, Args: p.Interactor.Args}
	}
	return j, nil
}

// Job is a job without a program, for a daemon, which has nothing but jobs: the error names what no job has.
func (p *Package) Job() (job.Job, error) {
	for _, x := range []struct {
		uses bool
		what string
	}{
		{p.Scheme.Scoring, "points"},
		{!p.Scheme.FirstFailure(), "groups of tests whose verdict is not that of the first failing test"},
		{len(p.Includes) > 0, "code that is added to submissions"},
		{len(p.Languages) > 0, "a list of allowed languages"},
	} {
		if x.uses {
			return job.Job{}, fmt.Errorf("problem %q uses %s, which a job does not have; judged run --package and "+
				"judged verify know more", p.Name, x.what)
		}
	}
	return p.Judging(job.Job{})
}

// executable is the only file of a program that can be executed as it is: a binary, or a script with a #! line.
func (p Program) executable() (string, error) {
	for _, f := range p.Files {
		head := make([]byte, len(elfMagic))
		file, err := os.Open(f.Path)
		if err != nil {
			return "", err
		}
		n, _ := file.Read(head) // a file that cannot be read is not executable either
		file.Close()
		if bytes.Equal(head[:n], []byte(elfMagic)) || bytes.HasPrefix(head[:n], []byte("#!")) {
			return f.Path, nil
		}
	}
	return "", &SourceError{p.Name, p.Language}
}

// IsSource reports whether a program has to be compiled before it can be run.
func (p Program) IsSource() bool {
	_, err := p.executable()
	return err != nil && p.Language != "" && p.Language != "python3"
}

const elfMagic = "\x7fELF"

// SourceError is a program that has to be compiled first.
type SourceError struct{ Name, Language string }

func (e *SourceError) Error() string {
	language := e.Language
	if language == "" {
		language = "an unknown language"
	}
	return fmt.Sprintf("%q is a source in %s; compile it and put the binary in its place", e.Name, language)
}

// Start sets the program of a job, and returns its name in the working directory: a binary or a script with a #! line, or
// Python with its interpreter, which needs none.
func (p *Package) Start(program Program, j job.Job) (_ job.Job, name string, err error) {
	j.Files = map[string]job.File{}
	for _, include := range [][]File{p.Includes[""], p.Includes[program.Language]} {
		for _, f := range include {
			j.Files[f.Name] = job.File{Part: f.Path}
		}
	}
	if program.Language == "python3" {
		entry := program.pythonEntry()
		if entry == "" {
			return j, "", fmt.Errorf("%q has several files; name one of them main.py", program.Name)
		}
		for _, f := range program.Files {
			if _, included := j.Files[f.Name]; !included {
				j.Files[f.Name] = job.File{Part: f.Path}
			}
		}
		j.Command = []string{"python3", entry}
		return j, "", nil
	}
	file, err := program.executable()
	if err != nil {
		return j, "", err
	}
	j.Program, j.Command = job.File{Part: file}, []string{"{program}"}
	return j, path.Base(file), nil
}

// pythonEntry is the file that is run.
func (p Program) pythonEntry() string {
	if len(p.Files) == 1 {
		return p.Files[0].Name
	}
	for _, name := range []string{"main.py", "__main__.py"} {
		if slices.ContainsFunc(p.Files, func(f File) bool { return f.Name == name }) {
			return name
		}
	}
	return ""
}
