package daemon

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/testkit"
)

// upload uploads content to a daemon.
func (i *instance) upload(content []byte) (digest string) {
	i.t.Helper()
	path := filepath.Join(i.t.TempDir(), "blob")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		i.t.Fatal(err)
	}
	digest, err := i.PutBlobFile(i.ctx, path)
	if err != nil {
		i.t.Fatal(err)
	}
	return digest
}

// TestPrefetch checks that two judges fetch blobs and the files of a problem before a job needs them, that a judge that
// starts later does so too, and that a judge whose cache is too small reports it.
func TestPrefetch(t *testing.T) {
	t.Parallel() // judges nothing
	c := frontSettings(t)
	front := serving(t, c)
	if _, err := client.GetPrefetch(front.ctx, front.Client, "default"); !client.NotFound(err) {
		t.Errorf("a pool without nodes: %v, want 404", err)
	}
	first := nodeSettings(t, c, "judge-1")
	a := serving(t, first)
	testkit.WaitFor(t, patience, "the first judge", func() bool { return len(front.nodes()) == 1 })

	large, small := front.upload(bytes.Repeat([]byte("0123456789abcdef"), 1<<17)), front.upload([]byte("small\n"))
	stored := front.ask("PUT", "/v1/problems/largest", packageArchive(t, "largest"))
	if stored.status != http.StatusCreated {
		t.Fatalf("status %d %s", stored.status, stored.body)
	}
	for name, q := range map[string]api.PrefetchRequest{
		"an unknown problem": {Problems: []string{"unknown"}},
		"an unknown blob":    {Blobs: []string{fmt.Sprintf("%x", sha256.Sum256([]byte("unknown")))}},
		"an invalid digest":  {Blobs: []string{"../x"}},
	} {
		_, err := client.RequestPrefetch(front.ctx, front.Client, "default", q)
		if p, ok := err.(*client.Problem); !ok || p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v, want 422", name, err)
		}
	}
	requested, err := client.RequestPrefetch(front.ctx, front.Client, "default",
		api.PrefetchRequest{Problems: []string{"largest"}, Blobs: []string{large, small, large}})
	if err != nil {
		t.Fatal(err)
	}
	if requested.Blobs < 4 || requested.Size < 2<<20 {
		t.Errorf("%d blobs of %d bytes, want those of the problem, too", requested.Blobs, requested.Size)
	}
	second, tiny := nodeSettings(t, c, "judge-2"), nodeSettings(t, c, "judge-3")
	tiny.Fleet.CacheSize = 1 << 20
	b, narrow := serving(t, second), serving(t, tiny)
	var status api.PrefetchStatus
	testkit.WaitFor(t, patience, "two judges to have all blobs", func() bool {
		status, err = client.GetPrefetch(front.ctx, front.Client, "default")
		return err == nil && len(status.Nodes) == 3 && status.Nodes[0].Done && status.Nodes[1].Done &&
			status.Nodes[2].Error != ""
	})
	want := []api.PrefetchedNode{{Node: "judge-1", Up: true, Done: true, Blobs: requested.Blobs},
		{Node: "judge-2", Up: true, Done: true, Blobs: requested.Blobs},
		{Node: "judge-3", Up: true, Error: units.Bytes(requested.Size).String() +
			" of blobs are to be fetched, the cache holds 1MiB; raise fleet.cache_size"}}
	if diff := cmp.Diff(want, status.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	for name, want := range map[string]int{first.DataDir: requested.Blobs, second.DataDir: requested.Blobs,
		tiny.DataDir: 0} {
		files, err := filepath.Glob(filepath.Join(name, "blobs", "??", "*"))
		if err != nil || len(files) != want {
			t.Errorf("%d blobs in %s, want %d: %v", len(files), name, want, err)
		}
	}
	for _, d := range []*instance{a, b, narrow, front} {
		d.drain()
	}
}
