package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/jury"
)

// TestTalkVerdict checks that the one that ended first decides between a program's own end and its interactor's result.
func TestTalkVerdict(t *testing.T) {
	for _, tt := range []struct {
		own   api.Verdict
		said  api.Verdict
		first bool // the interactor ended first
		want  api.Verdict
		// exhausted means that the interactor exceeded a limit.
		exhausted bool
	}{
		{"", api.Accepted, true, api.Accepted, false},
		{"", api.WrongAnswer, false, api.WrongAnswer, false},
		{"", api.Partial, true, api.Partial, false},
		{api.RuntimeError, api.WrongAnswer, true, api.WrongAnswer, false},
		{api.RuntimeError, api.WrongAnswer, false, api.RuntimeError, false},
		{api.RuntimeError, api.Accepted, true, api.RuntimeError, false},
		{api.RuntimeError, api.Partial, true, api.RuntimeError, false},
		{api.TimeLimit, api.PresentationError, true, api.PresentationError, false},
		{api.TimeLimit, api.Accepted, false, api.TimeLimit, false},
		{api.SecurityViolation, api.WrongAnswer, true, api.WrongAnswer, false},
		{api.IdlenessLimit, api.WrongAnswer, false, api.IdlenessLimit, false},
		{api.TimeLimit, api.InternalError, false, api.InternalError, false},
		{api.TimeLimit, api.InternalError, false, api.TimeLimit, true},
		{api.MemoryLimit, api.InternalError, false, api.MemoryLimit, true},
		{api.SecurityViolation, api.InternalError, false, api.SecurityViolation, true},
		{api.TimeLimit, api.InternalError, true, api.InternalError, true}, // it happened after the interactor's end
		{api.RuntimeError, api.InternalError, false, api.InternalError, true},
		{api.WallTimeLimit, api.InternalError, false, api.InternalError, true}, // it waited for the interactor
		{api.IdlenessLimit, api.InternalError, false, api.InternalError, true},
		{"", api.InternalError, false, api.InternalError, true},
		{api.TimeLimit, api.OutputLimit, true, api.TimeLimit, false}, // both are true, and this one ranks above
		{api.MemoryLimit, api.OutputLimit, true, api.MemoryLimit, false},
		{api.RuntimeError, api.OutputLimit, true, api.OutputLimit, false},
		{"", api.OutputLimit, true, api.OutputLimit, false},
		// The host failed the program, which the interactor noticed.
		{api.InternalError, api.WrongAnswer, false, api.InternalError, false},
		{api.InternalError, api.WrongAnswer, true, api.WrongAnswer, false},
	} {
		got := talkVerdict(tt.own, jury.Said{CheckReport: api.CheckReport{Verdict: tt.said, Exhausted: tt.exhausted},
			First: tt.first})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, the interactor says %s, first %t, exhausted %t (-want +got):\n%s", tt.own, tt.said, tt.first,
				tt.exhausted, diff)
		}
	}
}
