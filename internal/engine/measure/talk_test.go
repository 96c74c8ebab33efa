package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/engine/jury"
)

// TestTalkVerdict: who ended first decides between a program's own end and what its interactor says.
func TestTalkVerdict(t *testing.T) {
	for _, tt := range []struct {
		own   job.Verdict
		said  job.Verdict
		first bool // the interactor
		want  job.Verdict
		// exhausted is whether the interactor used more than it may of something.
		exhausted bool
	}{
		{"", job.Accepted, true, job.Accepted, false},
		{"", job.WrongAnswer, false, job.WrongAnswer, false},
		{"", job.Partial, true, job.Partial, false},
		{job.RuntimeError, job.WrongAnswer, true, job.WrongAnswer, false},
		{job.RuntimeError, job.WrongAnswer, false, job.RuntimeError, false},
		{job.RuntimeError, job.Accepted, true, job.RuntimeError, false},
		{job.RuntimeError, job.Partial, true, job.RuntimeError, false},
		{job.TimeLimit, job.PresentationError, true, job.PresentationError, false},
		{job.TimeLimit, job.Accepted, false, job.TimeLimit, false},
		{job.SecurityViolation, job.WrongAnswer, true, job.WrongAnswer, false},
		{job.IdlenessLimit, job.WrongAnswer, false, job.IdlenessLimit, false},
		{job.TimeLimit, job.InternalError, false, job.InternalError, false},
		{job.TimeLimit, job.InternalError, false, job.TimeLimit, true},
		{job.MemoryLimit, job.InternalError, false, job.MemoryLimit, true},
		{job.SecurityViolation, job.InternalError, false, job.SecurityViolation, true},
		{job.TimeLimit, job.InternalError, true, job.InternalError, true}, // what it did after the interactor's end
		{job.RuntimeError, job.InternalError, false, job.InternalError, true},
		{job.WallTimeLimit, job.InternalError, false, job.InternalError, true}, // it waited for the interactor
		{job.IdlenessLimit, job.InternalError, false, job.InternalError, true},
		{"", job.InternalError, false, job.InternalError, true},
		{job.TimeLimit, job.OutputLimit, true, job.TimeLimit, false}, // both are true, and this one ranks above
		{job.MemoryLimit, job.OutputLimit, true, job.MemoryLimit, false},
		{job.RuntimeError, job.OutputLimit, true, job.OutputLimit, false},
		{"", job.OutputLimit, true, job.OutputLimit, false},
	} {
		got := talkVerdict(tt.own, jury.Said{CheckReport: job.CheckReport{Verdict: tt.said, Exhausted: tt.exhausted},
			First: tt.first})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, the interactor says %s, first %t, exhausted %t (-want +got):\n%s", tt.own, tt.said, tt.first,
				tt.exhausted, diff)
		}
	}
}
