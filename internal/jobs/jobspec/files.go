package jobspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"judged/internal/api"
	"judged/internal/base/units"
)

// MapFiles returns a copy of j in which every file is what each made of it;
// field is its name in JSON. It goes through the files in a fixed order and ends
// at the first error, which it returns as it is.
func MapFiles(j api.Job, each func(field string, f api.File) (api.File, error)) (api.Job, error) {
	var err error
	if j.Program != (api.File{}) {
		if j.Program, err = each("program", j.Program); err != nil {
			return api.Job{}, err
		}
	}
	files, err := mapFiles("files", j.Files, each)
	if err != nil {
		return api.Job{}, err
	}
	tests := slices.Clone(j.Tests)
	for i := range tests {
		for _, member := range []struct {
			name string
			file **api.File
		}{{"input", &tests[i].Input}, {"answer", &tests[i].Answer}} {
			if *member.file == nil {
				continue
			}
			f, err := each(fmt.Sprintf("tests[%d].%s", i, member.name), **member.file)
			if err != nil {
				return api.Job{}, err
			}
			*member.file = &f
		}
	}
	if j.Checker != nil && j.Checker.Program != nil {
		c := *j.Checker
		f, err := each("checker.program", *c.Program)
		if err != nil {
			return api.Job{}, err
		}
		if c.Files, err = mapFiles("checker.files", c.Files, each); err != nil {
			return api.Job{}, err
		}
		c.Program, j.Checker = &f, &c
	}
	if j.Interactor != nil {
		i := *j.Interactor
		if i.Program, err = each("interactor.program", i.Program); err != nil {
			return api.Job{}, err
		}
		if i.Files, err = mapFiles("interactor.files", i.Files, each); err != nil {
			return api.Job{}, err
		}
		j.Interactor = &i
	}
	j.Files, j.Tests = files, tests
	return j, nil
}

// mapFiles maps the files of a member in the order of their names.
func mapFiles(member string, files map[string]api.File, each func(string, api.File) (api.File, error)) (
	map[string]api.File, error) {
	mapped := maps.Clone(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := each(member+"["+quote(name)+"]", files[name])
		if err != nil {
			return nil, err
		}
		mapped[name] = f
	}
	return mapped, nil
}

// Languages lists the languages of the sources in a job by their members.
func Languages(j api.Job) map[string]string {
	found := map[string]string{"language": j.Language}
	if j.Checker != nil {
		found["checker.language"] = j.Checker.Language
	}
	if j.Interactor != nil {
		found["interactor.language"] = j.Interactor.Language
	}
	maps.DeleteFunc(found, func(_, id string) bool { return id == "" })
	return found
}

// CheckRoom returns Errors when the program and the files of j, or its checker, do not fit into a working directory of
// room; size returns how large a file is. Its blocks are pages. A run that finds no room for them would be judged's
// failure.
func CheckRoom(j api.Job, room units.Bytes, size func(api.File) (units.Bytes, error)) error {
	files := slices.Collect(maps.Values(j.Files))
	if j.Program != (api.File{}) {
		files = append(files, j.Program)
	}
	if err := fit("files", "with the program ", files, room, size); err != nil {
		return err
	}
	if c := j.Checker; c != nil && c.Program != nil {
		if err := fitJury("checker.program", *c.Program, c.Files, room, size); err != nil {
			return err
		}
	}
	if i := j.Interactor; i != nil {
		return fitJury("interactor.program", i.Program, i.Files, room, size)
	}
	return nil
}

// fitJury checks a program of the jury, which needs room for what it writes, too.
func fitJury(field string, program api.File, files map[string]api.File, room units.Bytes,
	size func(api.File) (units.Bytes, error)) error {
	all := append(slices.Collect(maps.Values(files)), program)
	return fit(field, "with its files and as much for its feedback ", slices.Concat(all, all), room, size)
}

func fit(field, with string, files []api.File, room units.Bytes, size func(api.File) (units.Bytes, error)) error {
	const page = 4 << 10
	var sum units.Bytes
	for _, f := range files {
		n, err := size(f)
		if err != nil {
			return err
		}
		sum += (n + page - 1) / page * page
	}
	if sum > room {
		return Errors{{Field: field, Detail: fmt.Sprintf(
			"%s%s, which do not fit into a working directory of %s; send less or raise sandbox.work_size",
			with, units.Round(sum), units.Round(room))}}
	}
	return nil
}

// Digest is the SHA-256 of a job as hex: equal for bodies that ask for the same,
// whatever their spelling. Take it of a job whose files are blobs and before
// Complete: a default that changes between two attempts of a client must not
// make them different.
func Digest(j api.Job) (string, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return "", fmt.Errorf("encode job: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
