package jury

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// drain reads what a program of the jury writes to a contestant's program that has ended, and discards it: whatever the
// jury's program writes, and whenever it flushes, it gets neither SIGPIPE nor EPIPE, and ends as it has decided.
type drain struct {
	bytes   atomic.Int64
	running sync.WaitGroup
}

// errUnread is the cause for stopping a program of the jury that writes too much to nobody.
var errUnread = errors.New("keeps writing")

// from drains a pipe until its writers are gone, and reports whether something was in it. If there is more than limit, it
// stops and calls full.
func (d *drain) from(pipe io.Reader, limit units.Bytes, full func()) bool {
	n, _ := io.CopyN(io.Discard, pipe, int64(limit)+1) // at the end of the pipe, too, there is nothing more to read
	d.bytes.Add(n)
	if n > int64(limit) {
		full()
	}
	return n > 0
}

// flooded reports whether a program of the jury did not come to its end because it kept writing to the contestant's, which
// had ended: it wrote more than the pipe holds, and reached a limit.
func (d *drain) flooded(said api.CheckReport, jury sandbox.Result) bool {
	return said.Verdict == api.InternalError && d.bytes.Load() > answerPipe &&
		(said.Exhausted || jury.Stop != sandbox.StopNone)
}

// unread is the result of a conversation that the contestant's program ended, which what, a program of the jury, did not
// notice.
func unread(what string) api.CheckReport {
	return api.CheckReport{Verdict: api.WrongAnswer, Message: "the program ended, and the " + what + " kept writing to it"}
}
