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

// drain discards what a program of the jury writes to a contestant's program that has ended. Without it, the program of
// the jury would get SIGPIPE or EPIPE and might not exit with its normal status.
type drain struct {
	bytes   atomic.Int64
	running sync.WaitGroup
}

// errUnread is the cancellation cause for a program of the jury that keeps writing after its reader has ended.
var errUnread = errors.New("keeps writing")

// from reads a pipe until its writers have closed it, and reports whether it contained data. After limit bytes it stops
// and calls full.
func (d *drain) from(pipe io.Reader, limit units.Bytes, full func()) bool {
	n, _ := io.CopyN(io.Discard, pipe, int64(limit)+1) // on an error, nothing is left to read either
	d.bytes.Add(n)
	if n > int64(limit) {
		full()
	}
	return n > 0
}

// flooded reports whether a program of the jury failed because it kept writing to a contestant's program that had
// ended: it wrote more than the pipe holds and reached a limit.
func (d *drain) flooded(said api.CheckReport, jury sandbox.Result) bool {
	return said.Verdict == api.InternalError && d.bytes.Load() > answerPipe &&
		(said.Exhausted || jury.Stop != sandbox.StopNone)
}
