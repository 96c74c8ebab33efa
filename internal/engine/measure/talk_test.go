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
	}{
		{"", job.Accepted, true, job.Accepted},
		{"", job.WrongAnswer, false, job.WrongAnswer},
		{"", job.Partial, true, job.Partial},
		{job.RuntimeError, job.WrongAnswer, true, job.WrongAnswer},
		{job.RuntimeError, job.WrongAnswer, false, job.RuntimeError},
		{job.RuntimeError, job.Accepted, true, job.RuntimeError},
		{job.RuntimeError, job.Partial, true, job.RuntimeError},
		{job.TimeLimit, job.PresentationError, true, job.PresentationError},
		{job.TimeLimit, job.Accepted, false, job.TimeLimit},
		{job.SecurityViolation, job.WrongAnswer, true, job.WrongAnswer},
		{job.IdlenessLimit, job.WrongAnswer, false, job.IdlenessLimit},
		{job.TimeLimit, job.InternalError, false, job.InternalError},
	} {
		got := talkVerdict(tt.own, jury.Said{CheckReport: job.CheckReport{Verdict: tt.said}, First: tt.first})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, the interactor says %s, first %t (-want +got):\n%s", tt.own, tt.said, tt.first, diff)
		}
	}
}
