package jobs

import (
	"strings"
	"testing"

	"judged/internal/api"
)

// TestStoredID checks that judged's own IDs differ from those of callers, and are no longer than allowed.
func TestStoredID(t *testing.T) {
	long := strings.Repeat("x", 4000)
	for _, id := range []string{OwnID("audit", long), RecheckID(api.Lease{ID: long, Attempt: 1}),
		ScreeningID(api.Lease{ID: long, Attempt: 1}), RejudgeID(long, long)} {
		if ValidID(id) || !ValidStoredID(id) || len(id) > maxID {
			t.Errorf("%q of %d bytes: a caller may send it %v, a job may have it %v", id, len(id), ValidID(id),
				ValidStoredID(id))
		}
	}
	for _, id := range []string{"", "@", "@@a", "a@", "@-a", "@ a", "@\x00", "@a/b"} {
		if ValidStoredID(id) {
			t.Errorf("a job may have the ID %q", id)
		}
	}
	if OwnID("audit", "a") == OwnID("audit", "b") || OwnID("audit", "a") == OwnID("rejudge", "a") {
		t.Error("two jobs have one ID")
	}
}
