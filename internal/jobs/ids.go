package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"judged/internal/api"
)

// maxID is the maximum length of an ID in bytes.
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

// own is the prefix of the IDs of jobs that judged creates and of the keys of labels that it sets. Callers cannot send
// such an ID or label, so they cannot take an ID before judged needs it, and judged does not mistake their jobs for its
// own.
const own = "@"

// The labels of jobs that judged creates.
const (
	AuditLabel     = own + "audit_of"      // of an audit: ID of the audited job
	ScreeningLabel = own + "screening_of"  // of a stored screening report: ID of its job, if another pool decided
	RecheckLabel   = own + "crosscheck_of" // of a stored report of a host: ID of its job, if another host judged it, too
	RejudgeLabel   = own + "rejudge_of"    // of a job that judges another one again: ID of the original
	RejudgingLabel = own + "rejudging"     // of the same job: ID of the rejudging
	OriginLabel    = own + "origin"        // of a job that arrived through another interface: name of the interface
	// The following labels are only in the index of labels, not among those of the job.
	problemLabel  = own + "problem"  // of a job with a problem: its ID
	languageLabel = own + "language" // of a job whose program has a language: its ID
	TenantLabel   = own + "tenant"   // of a job of a tenant: its name; reports have it in Tenant instead
)

// CopyLabels returns the labels of the jobs that repeat another one, or have an earlier report of it.
func CopyLabels() []string { return []string{AuditLabel, ScreeningLabel, RecheckLabel, RejudgeLabel} }

// OwnID returns the ID of a job that judged creates for a reason. The same reason yields the same ID, so the job is
// created only once.
func OwnID(kind, reason string) string {
	sum := sha256.Sum256([]byte(reason))
	return own + kind + "-" + hex.EncodeToString(sum[:16])
}

// NamedID returns the ID of a job that judged creates under a name. All characters of the name must be allowed by
// ValidID.
func NamedID(kind, name string) string { return own + kind + "-" + name }

// NameOf is the inverse of NamedID.
func NameOf(kind, id string) string { return strings.TrimPrefix(id, NamedID(kind, "")) }

// ValidStoredID reports whether a stored job can have the ID. In addition to ValidID, it allows the IDs of jobs that
// judged creates.
func ValidStoredID(id string) bool { return ValidID(strings.TrimPrefix(id, own)) }

// ListsCopies reports whether a label selects jobs that lists omit by default.
func ListsCopies(label string) bool {
	return slices.Contains([]string{AuditLabel, ScreeningLabel, RecheckLabel}, label)
}

// JudgesAgain reports whether a rejudging has created the job.
func JudgesAgain(rep api.Report) bool {
	_, again := rep.Labels[RejudgeLabel]
	return again
}
