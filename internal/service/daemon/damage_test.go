package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"judged/internal/fleet/judge"
	"judged/internal/jobs/blobs"
)

// TestDamagedBlob checks that a blob that is damaged on the front is deleted when a judge finds the damage, and that
// its next upload reaches the judge.
func TestDamagedBlob(t *testing.T) {
	c := frontSettings(t)
	front := serving(t, c)
	source, err := judge.NewSource(judge.Options{Front: front.Client, Node: "judge-1", Spool: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	copies, err := blobs.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	cache := &blobs.Cache{Store: copies, Fetch: judge.Fetch(front.Client), Damaged: source.Verify, Life: t.Context()}

	digest := sendText(t, front, "input")
	stored := filepath.Join(blobFolder(c), digest[:2], digest)
	if err := os.Remove(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stored, []byte("inpur"), 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Path(digest); !errors.Is(err, blobs.ErrNotFound) {
		t.Fatalf("fetch of the damaged blob: %v", err)
	}
	if there, err := front.HasBlob(front.ctx, digest); there || err != nil {
		t.Errorf("the front still has it: %t, %v", there, err)
	}
	sendText(t, front, "input")
	path, err := cache.Path(digest)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "input" {
		t.Errorf("the judge read %q, %v", got, err)
	}
}
