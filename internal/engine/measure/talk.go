package measure

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"judged/internal/api"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
)

// joinConversation connects a run with an interactor. While the interactor waits for a CPU, the program waits for the
// interactor, at most, so that time explains wall time.
func joinConversation(spec *sandbox.Spec, talk *jury.Conversation) {
	spec.Stdin, spec.Stdout = talk.Stdin(), talk.Stdout()
	explained, wall := spec.Explained, spec.Limits.WallTime
	spec.Explained = func(p sandbox.Progress) sandbox.Allowance {
		x := explained(p)
		x.WallTime += talk.Delay()
		talk.AtLimit(p.WallTime-wall, x.WallTime)
		return x
	}
}

// errDecided is the cause for stopping a program whose verdict is decided.
var errDecided = errors.New("the program of the jury has rejected it")

// decided reports whether the program of the jury ended first and rejected the program.
func (o outcome) decided() bool {
	return o.check != nil && o.check.FirstExit == api.ExitInteractor && o.check.Rejects()
}

// judgeTalk decides a run that communicated with an interactor.
func (o *outcome) judgeTalk(ctx context.Context, q Request, talk *jury.Conversation) error {
	if o.result.Signal == syscall.SIGPIPE && o.verdict == api.RuntimeError {
		o.verdict = "" // it wrote to an interactor that had exited
	}
	said, err := talk.Finish(ctx, o.result, o.ended(), q.Limits.Output)
	if err != nil {
		return fmt.Errorf("talk of test %q: %w", q.Name, err)
	}
	o.check, o.talked, o.transcript = &said.CheckReport, true, said.Transcript
	o.verdict = talkVerdict(o.verdict, said)
	return nil
}

// talkVerdict returns the verdict of a run from its own verdict, which may be empty, and the interactor's result. If
// an interactor rejects first, that decides, regardless of what the program does then. After it accepted, or after
// the program's end, limits and crashes count for the program. So do limits that counters show and that rank above
// the output limit, if the program wrote too much for the interactor: after the interactor's end, exceeding a limit
// can be a consequence.
func talkVerdict(own api.Verdict, said jury.Said) api.Verdict {
	counted := own == api.SecurityViolation || own == api.MemoryLimit || own == api.TimeLimit
	switch {
	case said.Starved, own == api.InternalError && !said.First:
		return own
	case counted && (said.Verdict == api.OutputLimit || said.Exhausted && !said.First):
		return own
	case said.Verdict == api.InternalError, own == "":
		return said.Verdict
	case said.First && said.Rejects():
		return said.Verdict
	}
	return own
}
