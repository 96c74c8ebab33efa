package measure

import (
	"errors"
	"io"
	"os"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// maxHeld limits the content that the runs of a test hold in memory, in bytes. Of any further run only the sizes are
// kept. The run that decides is usually one of the first.
const maxHeld units.Bytes = 64 << 20

// capture copies what the job keeps of a finished run. No process of it is left, so nothing can change any more.
func (o *outcome) capture(q Request, box *sandbox.Sandbox) error {
	if o.result.ExecError != 0 {
		return nil
	}
	talks := q.Converse != nil || q.Communicate != nil // stdout is a pipe
	if q.Keep.Stdout.Asked() && !talks {
		if err := o.addStream(q, api.StdoutStream, box.Stdout()); err != nil {
			return err
		}
	}
	if q.Keep.Stderr.Asked() {
		if err := o.addStream(q, api.StderrStream, box.Stderr()); err != nil {
			return err
		}
	}
	for _, name := range q.Collect {
		if err := o.collect(q, name, box); err != nil {
			return err
		}
	}
	return nil
}

func (o *outcome) addStream(q Request, stream api.Stream, from *sandbox.Output) error {
	size, err := from.Size()
	if err != nil {
		return err
	}
	r, err := from.Reader()
	if err != nil {
		return err
	}
	return o.addOutput(api.Output{Stream: stream, Bytes: size}, r, q.Keep.Bytes)
}

// collect keeps a file of the working directory.
func (o *outcome) collect(q Request, name string, box *sandbox.Sandbox) error {
	kept := api.Output{Stream: api.FileStream, Name: name}
	if name == q.OutputFile { // empty if the program has not created it
		size, err := box.Answer().Size()
		if err != nil {
			return err
		}
		r, err := box.Answer().Reader()
		if err != nil {
			return err
		}
		kept.Bytes = size
		return o.addOutput(kept, r, q.Keep.Bytes)
	}
	f, err := box.OpenFile(initproc.Work + "/" + name)
	if err != nil {
		return err
	}
	if f == nil {
		kept.Missing = true
		o.kept = append(o.kept, api.KeptOutput{Output: kept})
		return nil
	}
	defer f.Close()
	return o.addFile(kept, f, q.Keep.Bytes)
}

func (o *outcome) addFile(kept api.Output, f *os.File, most units.Bytes) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	kept.Bytes = units.Bytes(info.Size())
	return o.addOutput(kept, f, most)
}

// addOutput adds an output with up to most bytes of its content.
func (o *outcome) addOutput(kept api.Output, r io.Reader, most units.Bytes) error {
	content := make([]byte, min(kept.Bytes, most))
	if _, err := io.ReadFull(r, content); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	kept.Truncated = kept.Bytes > most
	o.kept = append(o.kept, api.KeptOutput{Output: kept, Content: content})
	return nil
}

// hold cuts the content of the latest run if the runs of a test hold too much.
func hold(all []outcome) {
	var held units.Bytes
	for i := range all {
		for k := range all[i].kept {
			out := &all[i].kept[k]
			out.Cut(maxHeld - held)
			held += units.Bytes(len(out.Content))
		}
	}
}
