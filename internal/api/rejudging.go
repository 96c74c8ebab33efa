package api

import "time"

// RejudgingState is how far a rejudging is.
type RejudgingState string

// MaxRejudged is the most jobs of a rejudging.
const MaxRejudged = 10_000

// The states, in the order in which they follow each other. A cancelled rejudging was not applied, and one that failed
// has queued no job.
const (
	RejudgingFilling   RejudgingState = "filling" // its jobs are selected and queued
	RejudgingFailed    RejudgingState = "failed"
	RejudgingJudging   RejudgingState = "judging" // some of its jobs have not ended
	RejudgingReady     RejudgingState = "ready"
	RejudgingApplying  RejudgingState = "applying" // some originals have no new report yet
	RejudgingApplied   RejudgingState = "applied"
	RejudgingCancelled RejudgingState = "cancelled"
)

// Rejudging is a set of jobs that are judged again, and what that changes. The reports of the originals stay until it is
// applied.
type Rejudging struct {
	ID        string           `json:"id"`
	State     RejudgingState   `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	CreatedAt time.Time        `json:"created_at"`
	EndedAt   time.Time        `json:"ended_at,omitzero"` // applied, cancelled or failed
	Error     string           `json:"error,omitempty"`   // why it failed
	Jobs      int              `json:"jobs"`              // selected so far
	Queued    int              `json:"queued"`            // of them, also those that have been judged since
	Judged    int              `json:"judged"`            // of these again
	Changed   int              `json:"changed"`           // of these with another verdict
	Verdicts  []RejudgedCount  `json:"verdicts"`
	Skipped   []SkippedJob     `json:"skipped"`      // selected ones that are not judged again; the first of them
	SkippedN  int              `json:"skipped_jobs"` // all of them
	Page      []RejudgedReport `json:"page,omitempty"`
	Next      string           `json:"next,omitempty"` // cursor of the next page
}

// RejudgedCount is how many jobs of a rejudging had one verdict and have another one now.
type RejudgedCount struct {
	Old  Verdict `json:"old"`
	New  Verdict `json:"new,omitempty"` // "" before it was judged again
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
	// Again is the job that judges it again; has the old report once the new one is applied.
	Again   string  `json:"rejudged_as,omitempty"`
	Old     Verdict `json:"old,omitempty"`
	New     Verdict `json:"new,omitempty"`
	Applied bool    `json:"applied"`
	Skipped string  `json:"skipped,omitempty"` // why it is not judged again
}

// RejudgingRequest asks for jobs to be judged again: those that are named, or those of a filter.
type RejudgingRequest struct {
	ID     string           `json:"id,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Jobs   []string         `json:"jobs,omitempty"`
	Filter *RejudgingFilter `json:"filter,omitempty"`
	// SameProblem judges with the problem as it was; else with the stored one.
	SameProblem bool    `json:"same_problem,omitempty"`
	Limits      Limits  `json:"limits,omitzero"`
	Repeats     Repeats `json:"repeats,omitzero"`
	Pool        string  `json:"pool,omitempty"`
}

// RejudgingFilter selects judged jobs. Members that are zero do not restrict.
type RejudgingFilter struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Verdict     Verdict           `json:"verdict,omitempty"`
	Priority    Priority          `json:"priority,omitempty"`
	Pool        string            `json:"pool,omitempty"`
	Problem     string            `json:"problem,omitempty"`
	CreatedFrom time.Time         `json:"created_from,omitzero"`
	CreatedTo   time.Time         `json:"created_to,omitzero"`
}

// Add counts jobs with the same verdicts together.
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
