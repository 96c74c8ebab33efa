package api

import (
	"fmt"
	"maps"
	"slices"

	"judged/internal/base/text"
)

// MapFiles returns a copy of the job in which every file is replaced by the result of each; field is its name in JSON.
// It visits the files in a fixed order, and stops at the first error, which it returns unchanged.
func (j Job) MapFiles(each func(field string, f File) (File, error)) (Job, error) {
	var err error
	if j.Program != (File{}) {
		if j.Program, err = each("program", j.Program); err != nil {
			return Job{}, err
		}
	}
	files, err := mapFiles("files", j.Files, each)
	if err != nil {
		return Job{}, err
	}
	tests := slices.Clone(j.Tests)
	for i := range tests {
		for _, member := range []struct {
			name string
			file **File
		}{{"input", &tests[i].Input}, {"answer", &tests[i].Answer}} {
			if *member.file == nil {
				continue
			}
			f, err := each(fmt.Sprintf("tests[%d].%s", i, member.name), **member.file)
			if err != nil {
				return Job{}, err
			}
			*member.file = &f
		}
		if tests[i].Files, err = mapFiles(fmt.Sprintf("tests[%d].files", i), tests[i].Files, each); err != nil {
			return Job{}, err
		}
	}
	if j.Checker != nil && j.Checker.Program != nil {
		c := *j.Checker
		f, err := each("checker.program", *c.Program)
		if err != nil {
			return Job{}, err
		}
		if c.Files, err = mapFiles("checker.files", c.Files, each); err != nil {
			return Job{}, err
		}
		c.Program, j.Checker = &f, &c
	}
	if j.Interactor != nil {
		i := *j.Interactor
		if i.Program, err = each("interactor.program", i.Program); err != nil {
			return Job{}, err
		}
		if i.Files, err = mapFiles("interactor.files", i.Files, each); err != nil {
			return Job{}, err
		}
		j.Interactor = &i
	}
	if j.Scheme != nil && j.Scheme.Grader != nil {
		s, g := *j.Scheme, *j.Scheme.Grader
		if g.Program, err = each("grader.program", g.Program); err != nil {
			return Job{}, err
		}
		if g.Files, err = mapFiles("grader.files", g.Files, each); err != nil {
			return Job{}, err
		}
		s.Grader, j.Scheme = &g, &s
	}
	j.Files, j.Tests = files, tests
	return j, nil
}

// mapFiles maps the files of a member in the order of their names.
func mapFiles(member string, files map[string]File, each func(string, File) (File, error)) (
	map[string]File, error) {
	mapped := maps.Clone(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := each(member+"["+text.Quoted(name)+"]", files[name])
		if err != nil {
			return nil, err
		}
		mapped[name] = f
	}
	return mapped, nil
}

// Languages returns the languages of the sources in the job, by member.
func (j Job) Languages() map[string]string {
	found := map[string]string{"language": j.Language}
	if j.Checker != nil {
		found["checker.language"] = j.Checker.Language
	}
	if j.Interactor != nil {
		found["interactor.language"] = j.Interactor.Language
	}
	if j.Scheme != nil && j.Scheme.Grader != nil {
		found["grader.language"] = j.Scheme.Grader.Language
	}
	maps.DeleteFunc(found, func(_, id string) bool { return id == "" })
	return found
}
