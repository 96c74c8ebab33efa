package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"

	"judged/internal/api"
)

// maxID is the longest id in bytes.
const maxID = 64

// ValidID reports whether id can name a job: 1 to 64 of A-Z a-z 0-9 . _ -,
// starting with a letter or digit, so that it is safe in a path and in a URL.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// own begins the IDs of the jobs that judged makes by itself, and the keys of the labels that it gives them. No caller can
// send such an ID or label, so that nobody can take one before judged needs it, nor have judged take a job for one of its
// own. Databases have jobs of earlier versions, whose IDs and labels begin without it.
const own = "@"

// The labels of the jobs that judged makes.
const (
	AuditLabel     = own + oldAudit     // of an audit: ID of the job that it judges once more
	ScreeningLabel = own + oldScreening // of a kept report of a screening pool: ID of its job, where another pool decided
	RecheckLabel   = own + oldRecheck   // of a kept report of a host: ID of its job, where another host judged it, too
	RejudgeLabel   = own + oldRejudge   // of a job that judges another one again: ID of the original
	RejudgingLabel = own + "rejudging"  // of the same: ID of the set
)

// The labels as they were before they had own.
const (
	oldAudit     = "audit_of"
	oldScreening = "screening_of"
	oldRecheck   = "crosscheck_of"
	oldRejudge   = "rejudge_of"
)

// OwnID is the ID of a job that judged makes for a reason, so that it makes no second one.
func OwnID(kind, reason string) string {
	sum := sha256.Sum256([]byte(reason))
	return own + kind + "-" + hex.EncodeToString(sum[:16])
}

// ValidStoredID reports whether a stored job can have the ID: one that ValidID allows, or one that judged makes.
func ValidStoredID(id string) bool { return ValidID(strings.TrimPrefix(id, own)) }

// ListsCopies reports whether a label selects jobs that lists leave out otherwise.
func ListsCopies(label string) bool {
	switch strings.TrimPrefix(label, own) {
	case oldAudit, oldScreening, oldRecheck:
		return true
	}
	return false
}

// JudgesAgain reports whether a job is one that a rejudging has queued.
func (s *Store) JudgesAgain(ctx context.Context, rep api.Report) (again bool, err error) {
	if _, again := rep.Labels[RejudgeLabel]; again {
		return true, nil
	}
	// Callers can send the label of before.
	if _, labelled := rep.Labels[oldRejudge]; !labelled {
		return false, nil
	}
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT id FROM rejudged WHERE id = ?1`, []any{rep.ID}},
		func(*sql.Rows) error { again = true; return nil })
	return again, err
}
