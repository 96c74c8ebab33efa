package jobspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"judged/internal/base/job"
	"judged/internal/base/units"
)

// MapFiles returns a copy of j in which every file is what each made of it;
// field is its name in JSON. It goes through the files in a fixed order and ends
// at the first error, which it returns as it is.
func MapFiles(j job.Job, each func(field string, f job.File) (job.File, error)) (job.Job, error) {
	var err error
	if j.Program != (job.File{}) {
		if j.Program, err = each("program", j.Program); err != nil {
			return job.Job{}, err
		}
	}
	files := maps.Clone(j.Files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name], err = each("files["+quote(name)+"]", files[name]); err != nil {
			return job.Job{}, err
		}
	}
	tests := slices.Clone(j.Tests)
	for i := range tests {
		for _, member := range []struct {
			name string
			file **job.File
		}{{"input", &tests[i].Input}, {"answer", &tests[i].Answer}} {
			if *member.file == nil {
				continue
			}
			f, err := each(fmt.Sprintf("tests[%d].%s", i, member.name), **member.file)
			if err != nil {
				return job.Job{}, err
			}
			*member.file = &f
		}
	}
	if j.Checker != nil && j.Checker.Program != nil {
		c := *j.Checker
		f, err := each("checker.program", *c.Program)
		if err != nil {
			return job.Job{}, err
		}
		c.Program, j.Checker = &f, &c
	}
	if j.Interactor != nil {
		i := *j.Interactor
		if i.Program, err = each("interactor.program", i.Program); err != nil {
			return job.Job{}, err
		}
		j.Interactor = &i
	}
	j.Files, j.Tests = files, tests
	return j, nil
}

// CheckRoom returns Errors when the program and the files of j, or its checker, do not fit into a working directory of
// room; size returns how large a file is. Its blocks are pages. A run that finds no room for them would be judged's
// failure.
func CheckRoom(j job.Job, room units.Bytes, size func(job.File) (units.Bytes, error)) error {
	files := slices.Collect(maps.Values(j.Files))
	if j.Program != (job.File{}) {
		files = append(files, j.Program)
	}
	if err := fit("files", "with the program ", files, room, size); err != nil {
		return err
	}
	// A program of the jury needs room for what it writes, too.
	const withRoom = "with as much for its feedback "
	if c := j.Checker; c != nil && c.Program != nil {
		if err := fit("checker.program", withRoom, []job.File{*c.Program, *c.Program}, room, size); err != nil {
			return err
		}
	}
	if i := j.Interactor; i != nil {
		return fit("interactor.program", withRoom, []job.File{i.Program, i.Program}, room, size)
	}
	return nil
}

func fit(field, with string, files []job.File, room units.Bytes, size func(job.File) (units.Bytes, error)) error {
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
func Digest(j job.Job) (string, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return "", fmt.Errorf("encode job: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
