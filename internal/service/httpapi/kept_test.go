package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// TestOutputsOfANode checks that a node stores outputs only of jobs that it holds, and no more than they keep.
func TestOutputsOfANode(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	files, err := blobs.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	front := frontOf(t, store, func(o *Options) { o.Blobs = files })
	caller := api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}
	hold := map[string]api.Hold{}
	for id, keep := range map[string]api.Keep{"keeps": {Stdout: api.KeepAlways, Bytes: 4, Total: 8}, "none": {}} {
		if _, _, err := store.Put(t.Context(), jobs.Submission{ID: id, Job: api.Job{CPUs: 1, Keep: keep,
			Tests: []api.Test{{Name: "1"}}}}); err != nil {
			t.Fatal(err)
		}
		a, err := client.Post[api.TakeAnswer](t.Context(), front, "/v1/work/take",
			api.TakeRequest{Caller: caller, Width: 1, CPUs: "2", WaitMS: 10_000}, time.Minute)
		if err != nil || a.Work == nil {
			t.Fatal(a, err)
		}
		hold[id] = api.Hold{Caller: caller, ID: id, Attempt: a.Work.Attempt}
	}
	other, early := hold["keeps"], hold["keeps"]
	other.Node, early.Attempt = "m", 2
	keep := func(h api.Hold, digest, content string) string {
		_, err := client.Post[api.Nothing](t.Context(), front, "/v1/work/keep",
			api.KeepRequest{Hold: h, SHA256: digest, Content: []byte(content)}, 0)
		if p, ok := errors.AsType[*client.Problem](err); ok {
			return p.Kind()
		}
		return ""
	}
	sum := func(content string) string {
		digest := sha256.Sum256([]byte(content))
		return hex.EncodeToString(digest[:])
	}
	var got []string
	for _, tt := range []struct {
		hold            api.Hold
		digest, content string
	}{
		{hold["keeps"], sum("1234"), "1234"},
		{hold["keeps"], sum("1234"), "1234"}, // again, which costs nothing
		{hold["keeps"], sum("1"), "2"},
		{hold["keeps"], sum("12345"), "12345"},
		{hold["keeps"], "../../x", "x"},
		{other, sum("a"), "a"},
		{early, sum("a"), "a"},
		{hold["none"], sum("a"), "a"},
		{hold["keeps"], sum("abc"), "abc"},
		{hold["keeps"], sum("b"), "b"},
	} {
		got = append(got, keep(tt.hold, tt.digest, tt.content))
	}
	want := []string{"", "", "digest", "invalid-report", "bad-request", "stale", "stale", "invalid-report", "",
		"invalid-report"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of problems (-want +got):\n%s", diff)
	}
	var stored []string
	for _, content := range []string{"1234", "1", "2", "12345", "x", "a", "abc", "b"} {
		if path, err := files.Path(sum(content)); err == nil {
			text, _ := os.ReadFile(path)
			stored = append(stored, string(text))
		}
	}
	if got := strings.Join(stored, " "); got != "1234 abc" {
		t.Errorf("stored %q", got)
	}
}

// failingBlobs fails to store while fail is above 0, and counts it down.
type failingBlobs struct {
	Blobs
	fail int
}

func (f *failingBlobs) Put(ctx context.Context, digest string, r io.Reader) (string, units.Bytes, bool, error) {
	if f.fail--; f.fail >= 0 {
		return "", 0, false, blobs.ErrAway
	}
	return f.Blobs.Put(ctx, digest, r)
}

// TestOutputsAfterAnOutage checks that outputs that could not be stored do not count, and that they are not at fault: a node
// sends them again.
func TestOutputsAfterAnOutage(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	files := &failingBlobs{openBlobs(t.TempDir(), 1<<20), 5}
	front := frontOf(t, store, func(o *Options) { o.Blobs = files })
	_, _, err := store.Put(t.Context(), jobs.Submission{ID: "a", Job: api.Job{CPUs: 1, Tests: []api.Test{{Name: "1"}},
		Keep: api.Keep{Stdout: api.KeepAlways, Bytes: 4, Total: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	caller := api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}
	a, err := client.Post[api.TakeAnswer](t.Context(), front, "/v1/work/take",
		api.TakeRequest{Caller: caller, Width: 1, CPUs: "2", WaitMS: 10_000}, time.Minute)
	if err != nil || a.Work == nil {
		t.Fatal(a, err)
	}
	var got []string
	for range 7 {
		_, err := client.Post[api.Nothing](t.Context(), front, "/v1/work/keep", api.KeepRequest{
			Hold: api.Hold{Caller: caller, ID: "a", Attempt: a.Work.Attempt}, SHA256: digestText("1234"),
			Content: []byte("1234")}, 0)
		kind := ""
		if p, ok := errors.AsType[*client.Problem](err); ok {
			kind = p.Kind()
		}
		got = append(got, kind)
	}
	want := append(slices.Repeat([]string{"not-ready"}, 5), "", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of problems (-want +got):\n%s", diff)
	}
}

// TestLargeOutputOfANode checks that a front takes an output of limits.max.keep, which has a third more as base64, also
// where that is more than http.max_body.
func TestLargeOutputOfANode(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	store, files := openStore(t), openBlobs(t.TempDir(), 1<<20)
	front := frontOf(t, store, func(o *Options) {
		o.Blobs, o.Config.HTTP.MaxBody, o.Config.Limits.Max.Keep = files, 64<<10, most
	})
	_, _, err := store.Put(t.Context(), jobs.Submission{ID: "a", Job: api.Job{CPUs: 1, Tests: []api.Test{{Name: "1"}},
		Keep: api.Keep{Stdout: api.KeepAlways, Bytes: most, Total: most}}})
	if err != nil {
		t.Fatal(err)
	}
	caller := api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}
	a, err := client.Post[api.TakeAnswer](t.Context(), front, "/v1/work/take",
		api.TakeRequest{Caller: caller, Width: 1, CPUs: "2", WaitMS: 10_000}, time.Minute)
	if err != nil || a.Work == nil {
		t.Fatal(a, err)
	}
	hold := api.Hold{Caller: caller, ID: "a", Attempt: a.Work.Attempt}
	var got []string
	for _, size := range []int{most, most + 1<<12} {
		content := strings.Repeat("x", size)
		_, err := client.Post[api.Nothing](t.Context(), front, "/v1/work/keep", api.KeepRequest{Hold: hold,
			SHA256: digestText(content), Content: []byte(content)}, 0)
		kind := ""
		if p, ok := errors.AsType[*client.Problem](err); ok {
			kind = p.Kind()
		}
		got = append(got, kind)
	}
	if diff := cmp.Diff([]string{"", "too-large"}, got); diff != "" {
		t.Errorf("kinds of problems (-want +got):\n%s", diff)
	}
	_, err = client.Post[api.Nothing](t.Context(), front, "/v1/work/emit", api.EmitRequest{Hold: hold, N: 1,
		Test: api.TestReport{Name: "1", Verdict: api.Accepted, Message: strings.Repeat("x", 70<<10)}}, 0)
	if !client.TooLarge(err) {
		t.Errorf("another body beyond http.max_body: %v", err)
	}
}
