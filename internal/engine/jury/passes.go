package jury

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// DefaultPasses is how often the program of a multi-pass problem runs on a test, unless the problem says otherwise.
const DefaultPasses = 2

// nextPassName is the file in the feedback folder that asks for another pass and is its input.
const nextPassName = "nextpass.in"

// nextPass adds to what an output validator has said whether it asks for another pass. The file depends on what the
// contestant's program wrote: it has to be a regular file within the limits of the jury's programs.
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
		return said, fmt.Errorf("left %s and exited with status %d; the format allows it with %d only", nextPassName,
			code,
			icpcAccept), nil
	case !info.Mode().IsRegular():
		return said, fmt.Errorf("left %s that is not a regular file", nextPassName), nil
	case info.Size() > int64(r.limits.Output):
		return said, fmt.Errorf("left %s of more than %s, the value of limits.jury.output", nextPassName,
			r.limits.Output), nil
	}
	keep = true
	said.Verdict, said.Score, said.Ratio, said.Next = api.Accepted, nil, false, folder // points are those of the last pass
	return said, nil, nil
}

func inFolder(folder *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), nextPassName)
}

// RemoveNextPass takes the input of the next pass out of a feedback folder, which the next pass then gets.
func RemoveNextPass(folder *os.File) (*os.File, error) {
	f, err := os.OpenFile(inFolder(folder), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open input of the next pass: %w", err)
	}
	if err := os.Remove(inFolder(folder)); err != nil {
		f.Close()
		return nil, fmt.Errorf("take input of the next pass: %w", err)
	}
	return f, nil
}

// feedbackFault turns an error of loading a program of the jury into its fault, where the feedback of the pass before is
// larger as a copy: it has holes, or long paths.
func feedbackFault(what string, p api.Protocol, t Case, err error) (api.CheckReport, error) {
	if t.Feedback != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENAMETOOLONG)) {
		return failed(what, p, errors.New("left files in its feedback folder that cannot be copied for the next pass; "+
			"write fewer and smaller ones"), ending{}), nil
	}
	return api.CheckReport{}, err
}
