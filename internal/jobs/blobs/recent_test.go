package blobs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"judged/internal/base/units"
)

// TestStatOfBucket checks that a front asks a bucket once an hour for a blob of which it has no copy: jobs of a problem
// name the same tests.
func TestStatOfBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	now, asked, has := time.Now(), 0, true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		contents := ""
		if has {
			contents = fmt.Sprintf("<Contents><Key>%s%s</Key><Size>5</Size></Contents>", r.URL.Query().Get("prefix"),
				now.UTC().Format(markLayout))
		}
		fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", contents)
	}))
	defer server.Close()
	b, err := OpenBucket(BucketOptions{URL: "s3://bucket?region=r&endpoint=" + server.URL, Folder: t.TempDir(),
		Life: t.Context(), now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	hello := digest("hello")
	for name, tt := range []struct {
		later  time.Duration
		has    bool
		digest string
		want   string // size or error, and the number of requests so far
	}{
		{0, true, hello, "5 1"},
		{0, true, hello, "5 1"},
		{markEvery, true, hello, "5 1"},
		{time.Second, true, hello, "5 2"},
		{0, false, digest("other"), "no such blob 3"},
		{0, true, digest("other"), "5 4"}, // uploaded through another front
		{0, true, "invalid", "no such blob 4"},
		{markEvery + time.Second, false, hello, "no such blob 5"},
		{0, false, hello, "no such blob 6"},
	} {
		now, has = now.Add(tt.later), tt.has
		n, err := b.Stat(tt.digest)
		got := fmt.Sprintf("%d %d", int64(n), asked)
		if err != nil {
			got = fmt.Sprintf("%s %d", ErrNotFound, asked)
			if !strings.Contains(err.Error(), ErrNotFound.Error()) {
				got = err.Error()
			}
		}
		if got != tt.want {
			t.Errorf("%d: %s, want %s", name, got, tt.want)
		}
	}
	for i := range 2 * maxRecent {
		b.recent.add(fmt.Sprint(i), units.Bytes(i), now)
	}
	if n := len(b.recent.seen); n > maxRecent {
		t.Errorf("%d blobs are remembered, want at most %d", n, maxRecent)
	}
}
