package sandbox

import (
	"errors"
	"os"
	"slices"

	"judged/internal/sandbox/initproc"
)

// A named input or output is a link in the working directory to a descriptor of the program, and so the same memory
// as stdin or stdout, with the same accounting. A program may also replace the link by a file, which it does when it
// renames one to that name, or deletes the name first.

// nameStreams opens what spec names, and adds it to spec.Open. The caller closes the input, which may be nil.
func (s *Sandbox) nameStreams(spec *Spec) (input *os.File, err error) {
	spec.Open = slices.Clone(spec.Open)
	if spec.InputFile != "" {
		if input, err = spec.Input.Open(); err != nil {
			return nil, err
		}
		spec.Input = nil
		spec.Open = append(spec.Open, OpenFile{Name: workFile(spec.InputFile), File: input})
	}
	if spec.OutputFile == "" {
		return input, nil
	}
	// To open a file for writing usually truncates it: pages of judged's would be lost.
	if s.answer, err = newOutput("answer", 0, s.slot); err == nil {
		err = s.answer.read.Chmod(0o666) // the run's user opens it
	}
	if err != nil {
		input.Close()
		return nil, err
	}
	s.answerName = workFile(spec.OutputFile)
	spec.Open = append(spec.Open, OpenFile{Name: s.answerName, File: s.answer.write})
	return input, nil
}

// namePipes lets the run open its ends of pipes again by name, as /dev/stdin and /dev/stdout, and only in the direction
// that it has. The program at the other end, which does the same with its own group or owns the pipe, has the other
// direction; it is the only one of the others that has a name for the pipe.
func (s *Sandbox) namePipes(spec Spec) error {
	for _, end := range []struct {
		file *os.File
		mode os.FileMode
	}{{spec.Stdin, 0o642}, {spec.Stdout, 0o624}} {
		if end.file == nil {
			continue
		}
		info, err := end.file.Stat()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeNamedPipe == 0 {
			continue // an input, which everybody may read
		}
		if err := errors.Join(end.file.Chown(-1, s.uid), end.file.Chmod(end.mode)); err != nil {
			return err
		}
	}
	return nil
}

func workFile(name string) string { return initproc.Work + "/" + name }

// findAnswer takes the file that the program has put in the place of the link, if it did.
func (s *Sandbox) findAnswer() error {
	if s.answer == nil {
		return nil
	}
	f, err := s.OpenFile(s.answerName)
	if err != nil || f == nil {
		return err
	}
	err = s.answer.Close()
	s.answer = &Output{read: f}
	return err
}

// outputs are all that the program writes to and that counts as output.
func (s *Sandbox) outputs() []*Output {
	all := []*Output{s.stdout, s.stderr, s.answer}
	return slices.DeleteFunc(all, func(o *Output) bool { return o == nil })
}

// Answer is what the program wrote to the named output file, or to its standard output without one. It is valid until
// Close.
func (s *Sandbox) Answer() *Output {
	if s.answer != nil {
		return s.answer
	}
	return s.stdout
}
