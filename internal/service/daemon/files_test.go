package daemon

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// spentQuota is the quota of a tenant that may not upload anything more.
type spentQuota struct{ charged units.Bytes }

func (*spentQuota) CheckUpload(context.Context) error {
	return &jobs.QuotaError{Quota: "blobs_per_day"}
}

func (q *spentQuota) ChargeBlobs(_ context.Context, n units.Bytes) { q.charged += n }

// TestSpentQuota checks that a tenant that has used up its quota may send what is stored: a job whose response was lost
// is submitted again.
func TestSpentQuota(t *testing.T) {
	store, err := blobs.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	stored, _, _, err := store.Put(t.Context(), "", strings.NewReader("stored"))
	if err != nil {
		t.Fatal(err)
	}
	quota := &spentQuota{}
	f := &files{blobStore: store, space: &space{dir: t.TempDir()}, failed: func(string) {}, quotas: quota}
	put := func(digest, content string) error {
		_, _, _, err := f.Put(t.Context(), digest, strings.NewReader(content))
		return err
	}
	fresh := strings.Repeat("0", len(stored))
	got := map[string]string{}
	for name, err := range map[string]error{
		"no contents":        f.PutAll(t.Context(), nil),
		"stored content":     f.PutAll(t.Context(), map[string][]byte{stored: []byte("stored")}),
		"new content":        f.PutAll(t.Context(), map[string][]byte{stored: []byte("stored"), fresh: []byte("new")}),
		"stored blob":        put(stored, "stored"),
		"damaged upload":     put(stored, "other"),
		"new blob":           put(fresh, "new"),
		"blob of any digest": put("", "stored"),
	} {
		switch {
		case err == nil:
			got[name] = "done"
		case errors.As(err, new(*jobs.QuotaError)):
			got[name] = "quota"
		case errors.As(err, new(*blobs.DigestError)):
			got[name] = "digest"
		case errors.Is(err, fs.ErrNotExist):
			got[name] = "absent"
		default:
			got[name] = err.Error()
		}
	}
	want := map[string]string{"no contents": "done", "stored content": "done", "new content": "quota",
		"stored blob": "done", "damaged upload": "digest", "new blob": "quota", "blob of any digest": "quota"}
	if diff := cmp.Diff(want, got); diff != "" || quota.charged > 0 {
		t.Errorf("%d bytes are charged (-want +got):\n%s", quota.charged, diff)
	}
}
