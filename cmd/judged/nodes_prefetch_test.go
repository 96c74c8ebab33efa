package main

import (
	"bytes"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"
)

func TestPrintPrefetch(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	status := api.PrefetchStatus{Pool: "default", At: at, Blobs: 3, Size: 3 << 20, Nodes: []api.PrefetchedNode{
		{Node: "judge-1", Up: true, Done: true, Blobs: 3}, {Node: "judge-2", Up: true, Blobs: 1},
		{Node: "judge-3", Blobs: 2}, {Node: "judge-4", Up: true, Error: "the disk\nis full"}}}
	if err := (&app{out: &out}).printPrefetch(status, false); err != nil {
		t.Fatal(err)
	}
	want := `NODE     STATE     BLOBS
judge-1  done      3
judge-2  fetching  1
judge-3  down      2
judge-4  fetching  0
    the disk
    is full
3 blobs, 3.0 MiB, requested at 2026-07-01T12:00:00Z
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
