package judge

import (
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
		}
		k.Test = r.Name
		k.Cut(*room)
		*room -= units.Bytes(len(k.Content))
		kept = append(kept, k)
	}
	return kept
}
