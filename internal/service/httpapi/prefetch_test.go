package httpapi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
)

// TestPrefetchOfNothing checks that only a request without blobs ends the previous one: an empty digest is rather a
// variable that has no value in the program of the caller.
func TestPrefetchOfNothing(t *testing.T) {
	t.Parallel()
	store, files := openStore(t), openBlobs(t.TempDir(), 1<<20)
	front := frontOf(t, store, func(o *Options) { o.Blobs = files })
	_, err := client.Post[api.NodeCommands](t.Context(), front, "/v1/work/register", api.Registration{Pool: "default",
		Caller: api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}, Ready: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.PutAll(t.Context(), map[string][]byte{digestText("x"): []byte("x")}); err != nil {
		t.Fatal(err)
	}
	type result struct {
		Kind  string
		Blobs int // of the request that the nodes get
	}
	var got []result
	for _, digests := range [][]string{{digestText("x")}, {""}, {digestText("x"), ""}, {"x"}, {digestText("y")}, nil} {
		_, err := client.RequestPrefetch(t.Context(), front, "default", api.PrefetchRequest{Blobs: digests})
		r := result{}
		if p, ok := errors.AsType[*client.Problem](err); ok {
			r.Kind = p.Kind()
		}
		status, err := client.GetPrefetch(t.Context(), front, "default")
		if err != nil {
			t.Fatal(err)
		}
		r.Blobs = status.Blobs
		got = append(got, r)
	}
	want := []result{{"", 1}, {"bad-request", 1}, {"bad-request", 1}, {"missing-blob", 1}, {"missing-blob", 1}, {"", 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
