package daemon

import (
	"testing"
)

// TestServe runs its parts one after the other against one daemon. The last parts check everything that was judged
// before.
func TestServe(t *testing.T) {
	w := watchTraces(t)
	c := settings(t)
	c.HTTP.MaxBody = 64 << 10
	d := serving(t, c)
	w.add(d.process)
	for _, part := range []struct {
		name string
		run  func(t *testing.T, d *instance)
	}{
		{"cancel a queued job", cancelQueued},
		{"cancel a running job", cancelRunning},
		{"cancel between two tests", cancelBetween},
		{"cancel a done job", cancelDone},
		{"same id", sameID},
		{"idempotency key", idempotencyKey},
		{"multipart", multipartJob},
		{"bad submissions", badSubmissions},
		{"blobs", uploads},
		{"events", events},
		{"long poll", longPoll},
		{"priorities", priorities},
		{"report", completeReport},
		{"hostile text", hostileText},
		{"kept outputs", keptOutputs},
		{"kept messages", keptMessages},
		{"compile options", compileOptions},
		{"verdicts", verdicts},
		{"programs of the jury", juryPrograms},
		{"interactors", interactors},
		{"passes", multiPass},
		{"problem with points", pointsProblem},
		{"problem with named files", namedFiles},
		{"limits of tests", limitsOfTests},
		{"data folder in use", dataInUse},
		{"port in use", portInUse},
		{"threads", threads},
		{"metrics", metricsAgree},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, d.in(t)) })
	}
	d.drain()
	w.none()
}

// in returns the same daemon for a part of the test.
func (i *instance) in(t *testing.T) *instance {
	p := *i.process
	p.t = t
	return &instance{process: &p, Client: i.Client, ctx: i.ctx}
}
