package jury

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// DefaultPasses is the maximum number of passes of a multi-pass problem, unless the problem sets another.
const DefaultPasses = 2

// nextPassName is the name of a file in the feedback folder. It requests another pass and is the input of that pass.
const nextPassName = "nextpass.in"

// nextPass determines whether an output validator requests another pass, and adds that to its result. The file may
// contain output of the contestant's program, so it must be a regular file within the limits of the jury's programs.
func (r *Runner) nextPass(said api.CheckReport, code int, box *sandbox.Sandbox) (_ api.CheckReport, fault, err error) {
	folder, err := box.OpenFolder(feedbackName)
	if folder == nil || err != nil {
		return said, nil, err
	}
	keep := false
	defer func() {
		if !keep {
			folder.Close()
		}
	}()
	info, err := os.Lstat(inFolder(folder))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return said, nil, nil
	case err != nil:
		return said, nil, err
	case code != icpcAccept:
		return said, fmt.Errorf("wrote %s and exited with status %d; the format allows this only with status %d",
			nextPassName, code, icpcAccept), nil
	case !info.Mode().IsRegular():
		return said, fmt.Errorf("wrote %s, which is not a regular file", nextPassName), nil
	case info.Size() > int64(r.limits.Output):
		return said, fmt.Errorf("wrote more than %[2]s to %[1]s, the value of limits.jury.output", nextPassName,
			r.limits.Output), nil
	}
	keep = true
	said.Verdict, said.Score, said.Ratio, said.Next = api.Accepted, nil, false, folder // from the last pass
	return said, nil, nil
}

func inFolder(folder *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), nextPassName)
}

// RemoveNextPass opens and removes the input of the next pass from a feedback folder. The next pass gets the folder
// without that file.
func RemoveNextPass(folder *os.File) (*os.File, error) {
	f, err := os.OpenFile(inFolder(folder), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open input of the next pass: %w", err)
	}
	if err := os.Remove(inFolder(folder)); err != nil {
		f.Close()
		return nil, fmt.Errorf("remove input of the next pass: %w", err)
	}
	return f, nil
}

// feedbackFault converts an error of loading a program of the jury to a fault of that program if the copy of its
// feedback folder is too large, because of sparse files or long paths.
func feedbackFault(what string, p api.Protocol, t Case, err error) (api.CheckReport, error) {
	if t.Feedback != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENAMETOOLONG)) {
		return failed(what, p, errors.New("left files in its feedback folder that cannot be copied for the next pass; "+
			"write fewer and smaller ones"), ending{}), nil
	}
	return api.CheckReport{}, err
}
