package judge

import (
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/units"
)

// bound returns what the job keeps of a decided test. It drops streams that are kept only of failed tests, and cuts the
// others to the room that the job has left.
func (t Task) bound(r api.TestReport, room *units.Bytes) []api.KeptOutput {
	var kept []api.KeptOutput
	for _, k := range r.Kept {
		switch {
		case k.Stream == api.StdoutStream && !t.Keep.Stdout.Of(r.Verdict):
			continue
		case k.Stream == api.StderrStream && !t.Keep.Stderr.Of(r.Verdict):
			continue
		case t.shown(k):
			continue
		}
		k.Test = r.Name
		k.Cut(*room)
		*room -= units.Bytes(len(k.Content))
		kept = append(kept, k)
	}
	return kept
}

// shown reports whether the head of a stream in the report makes a blob of it unnecessary.
func (t Task) shown(k api.KeptOutput) bool {
	when := map[api.Stream]api.KeepWhen{api.StdoutStream: t.Keep.Stdout, api.StderrStream: t.Keep.Stderr}[k.Stream]
	return when == api.KeepCut && k.Bytes <= t.Head && utf8.Valid(k.Content)
}
