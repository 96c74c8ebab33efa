package intake

import (
	"fmt"
)

// MissingBlobsError reports the blobs of a job that are not stored.
type MissingBlobsError struct{ Findings Errors }

func (e *MissingBlobsError) Error() string { return e.Findings.Error() }

// MissingLanguageError reports that the pool of a job cannot judge a language of its sources.
type MissingLanguageError struct {
	Member string // of the job
	Err    error
}

func (e *MissingLanguageError) Error() string { return fmt.Sprintf("%s: %s", e.Member, e.Err) }

func (e *MissingLanguageError) Unwrap() error { return e.Err }

// MissingProblemError reports that the problem of a job is not stored, or only in another version.
type MissingProblemError struct {
	ID     string
	Stored string // its version; "" if it is not stored
}

func (e *MissingProblemError) Error() string {
	if e.Stored == "" {
		return fmt.Sprintf("no problem %.70q", e.ID)
	}
	return fmt.Sprintf("problem %.70q has the version %s", e.ID, e.Stored)
}
