package api

import "time"

// RejudgingState is the state of a rejudging.
type RejudgingState string

// MaxRejudged is the maximum number of jobs in a rejudging.
const MaxRejudged = 10_000

// The states in order. A cancelled rejudging was not applied, and a failed one has queued no job.
const (
	RejudgingFilling   RejudgingState = "filling" // its jobs are being selected and queued
	RejudgingFailed    RejudgingState = "failed"
	RejudgingJudging   RejudgingState = "judging" // some of its jobs have not ended
	RejudgingReady     RejudgingState = "ready"
	RejudgingApplying  RejudgingState = "applying" // some originals have no new report yet
	RejudgingApplied   RejudgingState = "applied"
	RejudgingCancelled RejudgingState = "cancelled"
)

// Rejudging is a set of jobs that are judged again, with the resulting changes. The reports of the originals stay until
// it is applied.
type Rejudging struct {
	ID        string           `json:"id"`
	Tenant    string           `json:"tenant,omitempty"` // to which its jobs belong
	State     RejudgingState   `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	CreatedAt time.Time        `json:"created_at"`
	EndedAt   time.Time        `json:"ended_at,omitzero"` // applied, cancelled or failed
	Error     string           `json:"error,omitempty"`   // reason why it failed
	Jobs      int              `json:"jobs"`              // number of jobs selected so far
	Queued    int              `json:"queued"`            // number of those that were queued, including judged ones
	Judged    int              `json:"judged"`            // number of those that have been judged
	Changed   int              `json:"changed"`           // number of those whose verdict has changed
	Verdicts  []RejudgedCount  `json:"verdicts"`
	Skipped   []SkippedJob     `json:"skipped"`      // the first of the selected jobs that are not judged again
	SkippedN  int              `json:"skipped_jobs"` // number of all skipped jobs
	Page      []RejudgedReport `json:"page,omitempty"`
	Next      string           `json:"next,omitempty"` // cursor of the next page
}

// RejudgedCount is the number of jobs of a rejudging with an old and a new verdict.
type RejudgedCount struct {
	Old  Verdict `json:"old"`
	New  Verdict `json:"new,omitempty"` // "" if not judged again yet
	Jobs int     `json:"jobs"`
}

// SkippedJob is a job that cannot be judged again.
type SkippedJob struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
}

// RejudgingList is a page of the list of rejudgings.
type RejudgingList struct {
	Rejudgings []Rejudging `json:"rejudgings"`
	Next       string      `json:"next,omitempty"`
}

// RejudgedReport is a job of a rejudging.
type RejudgedReport struct {
	Job string `json:"job"`
	// Again is the job that judges it again. It has the old report once the new one is applied.
	Again   string  `json:"rejudged_as,omitempty"`
	Old     Verdict `json:"old,omitempty"`
	New     Verdict `json:"new,omitempty"`
	Applied bool    `json:"applied"`
	Skipped string  `json:"skipped,omitempty"` // reason why it is not judged again
}

// RejudgingRequest asks for jobs to be judged again: named ones, or those of a filter.
type RejudgingRequest struct {
	ID     string           `json:"id,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Jobs   []string         `json:"jobs,omitempty"`
	Filter *RejudgingFilter `json:"filter,omitempty"`
	// SameProblem judges with the problem as it was, instead of the stored one.
	SameProblem bool    `json:"same_problem,omitempty"`
	Limits      Limits  `json:"limits,omitzero"`
	Repeats     Repeats `json:"repeats,omitzero"`
	Pool        string  `json:"pool,omitempty"`
}

// RejudgingFilter selects judged jobs. Zero members do not restrict.
type RejudgingFilter struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Verdict     Verdict           `json:"verdict,omitempty"`
	Priority    Priority          `json:"priority,omitempty"`
	Pool        string            `json:"pool,omitempty"`
	Problem     string            `json:"problem,omitempty"`
	CreatedFrom time.Time         `json:"created_from,omitzero"`
	CreatedTo   time.Time         `json:"created_to,omitzero"`
}

// Add adds jobs, grouped by their verdicts.
func (v *Rejudging) Add(c RejudgedCount) {
	v.Jobs += c.Jobs
	if c.New != "" {
		v.Judged += c.Jobs
	}
	if c.New != "" && c.New != c.Old {
		v.Changed += c.Jobs
	}
	if n := len(v.Verdicts); n > 0 && v.Verdicts[n-1].Old == c.Old && v.Verdicts[n-1].New == c.New {
		v.Verdicts[n-1].Jobs += c.Jobs
		return
	}
	v.Verdicts = append(v.Verdicts, c)
}
