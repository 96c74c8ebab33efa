package jury

import (
	"context"
	"fmt"
	"io"
	"os"

	"judged/internal/api"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// Work is one run of a program that generates files of tests.
type Work struct {
	Program               Program
	Input                 *sandbox.Input // nil is empty
	InputFile, OutputFile string         // see sandbox.Spec
	// Talks is the interactor that communicates with the program, or nil. With an interactor, the result is the
	// interactor's output file for the checker.
	Talks *Interactor
}

// Open opens a result of a program: a file of its working folder by name, or its answer (stdout or OutputFile) for "".
// It returns nil if the file does not exist.
type Open func(name string) (io.Reader, error)

// Make runs a program and calls take with its results. If the program failed, Make returns the reason as fault.
func (r *Runner) Make(ctx context.Context, w Work, take func(Open) error) (fault, err error) {
	box, err := r.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release(box)
	spec := sandbox.Spec{Args: r.command(w.Program, w.Program.Args), Files: w.Program.Files, Input: w.Input,
		InputFile: w.InputFile, OutputFile: w.OutputFile, Limits: r.limits, Explained: sandbox.WaitingExplains}
	if w.Talks != nil {
		return r.makeByTalk(ctx, box, spec, *w.Talks, take)
	}
	if err := box.Load(spec); err != nil {
		return nil, err
	}
	result, err := box.Run(ctx)
	if err != nil {
		return nil, err
	}
	if fault, err := r.workFault(ctx, box, result); fault != nil || err != nil {
		return fault, err
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	return nil, take(func(name string) (io.Reader, error) {
		if name == "" {
			if !box.HasAnswer() {
				return nil, nil
			}
			return box.Answer().Reader()
		}
		f, err := box.OpenFile(initproc.Work + "/" + name)
		if f == nil || err != nil {
			return nil, err
		}
		files = append(files, f)
		return f, nil
	})
}

func (r *Runner) makeByTalk(ctx context.Context, box *sandbox.Sandbox, spec sandbox.Spec, i Interactor,
	take func(Open) error) (fault, err error) {
	conversation, err := r.Converse(i, Case{Input: spec.Input}, r.limits.WallTime)
	if err != nil {
		return nil, err
	}
	defer conversation.Close()
	spec.Input, spec.Stdin, spec.Stdout = nil, conversation.Stdin(), conversation.Stdout()
	spec.Explained = func(p sandbox.Progress) sandbox.Allowance {
		x := sandbox.WaitingExplains(p)
		x.WallTime += conversation.Delay()
		conversation.AtLimit(p.WallTime-r.limits.WallTime, x.WallTime)
		return x
	}
	if err := box.Load(spec); err != nil {
		return nil, err
	}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	if err := conversation.Start(ctx, box, nil, stop); err != nil {
		return nil, err
	}
	result, err := box.Run(runCtx)
	if err != nil {
		return nil, err
	}
	said, err := conversation.Finish(ctx, result, false, r.limits.Output)
	if err != nil {
		return nil, err
	}
	if said.Verdict != api.Accepted {
		return fmt.Errorf("the interactor says %s: %s", said.Verdict, firstLine(said.Message)), nil
	}
	if fault, err := r.workFault(ctx, box, result); fault != nil || err != nil {
		return fault, err
	}
	output, err := conversation.openOutput()
	if err != nil {
		return nil, err
	}
	defer output.Close() // closing nil returns an error
	return nil, take(func(string) (io.Reader, error) {
		if output == nil {
			return nil, nil
		}
		return output, nil
	})
}

// workFault returns why a program did not generate its files, with the first line of its stderr, or nil.
func (r *Runner) workFault(ctx context.Context, box *sandbox.Sandbox, result sandbox.Result) (fault, err error) {
	if result.Stop == sandbox.StopCancelled {
		return nil, context.Cause(ctx)
	}
	if fault, err = r.fault(box, result); err != nil {
		return nil, err
	}
	if fault == nil && result.Code != 0 {
		fault = fmt.Errorf("exited with status %d", result.Code)
	}
	if fault == nil {
		return nil, nil
	}
	stderr, err := box.Stderr().Reader()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(stderr, most))
	if line := firstLine(message(content)); line != "" {
		fault = fmt.Errorf("%w: %s", fault, line)
	}
	return fault, err
}
