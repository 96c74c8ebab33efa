package intake

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

// CheckRoom returns Errors if the program and the files of j, or those of its checker, do not fit into a working
// directory of size room. size returns the size of a file. Sizes are rounded up to pages. A run without space for them
// would be an internal error.
func CheckRoom(j api.Job, room units.Bytes, size func(api.File) (units.Bytes, error)) error {
	files := slices.Collect(maps.Values(j.Files))
	if j.Program != (api.File{}) {
		files = append(files, j.Program)
	}
	shared, err := total(files, size)
	if err == nil {
		err = fits("files", "with the program ", shared, room)
	}
	if err != nil {
		return err
	}
	for i, t := range j.Tests {
		if len(t.Files) == 0 {
			continue
		}
		own, err := total(slices.Collect(maps.Values(t.Files)), size)
		if err == nil {
			err = fits(fmt.Sprintf("tests[%d].files", i), "with those of the job ", shared+own, room)
		}
		if err != nil {
			return err
		}
	}
	if c := j.Checker; c != nil && c.Program != nil {
		if err := fitJury("checker.program", *c.Program, c.Files, room, size); err != nil {
			return err
		}
	}
	if i := j.Interactor; i != nil {
		if err := fitJury("interactor.program", i.Program, i.Files, room, size); err != nil {
			return err
		}
	}
	if j.Scheme != nil && j.Scheme.Grader != nil {
		return fitJury("grader.program", j.Scheme.Grader.Program, j.Scheme.Grader.Files, room, size)
	}
	return nil
}

// fitJury checks a program of the jury, which also needs space for its output.
func fitJury(field string, program api.File, files map[string]api.File, room units.Bytes,
	size func(api.File) (units.Bytes, error)) error {
	all := append(slices.Collect(maps.Values(files)), program)
	return fit(field, "with its files and as much for its feedback ", slices.Concat(all, all), room, size)
}

func fit(field, with string, files []api.File, room units.Bytes, size func(api.File) (units.Bytes, error)) error {
	sum, err := total(files, size)
	if err != nil {
		return err
	}
	return fits(field, with, sum, room)
}

// total returns the size of files, each rounded up to pages.
func total(files []api.File, size func(api.File) (units.Bytes, error)) (sum units.Bytes, err error) {
	const page = 4 << 10
	for _, f := range files {
		n, err := size(f)
		if err != nil {
			return 0, err
		}
		sum += (n + page - 1) / page * page
	}
	return sum, nil
}

func fits(field, with string, sum, room units.Bytes) error {
	if sum > room {
		return Errors{{Field: field, Detail: fmt.Sprintf(
			"%s%s, which do not fit into a working directory of %s; send less or raise sandbox.work_size",
			with, units.Round(sum), units.Round(room))}}
	}
	return nil
}

// digestOf returns the SHA-256 of a job as hex. It is equal for bodies that ask for the same, however they are written.
// Call it on a job whose files are blobs, before Complete: a default that changes between two attempts of a client must
// not change the digest.
func digestOf(j api.Job) (string, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return "", fmt.Errorf("encode job: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
