package daemon

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/testkit"
)

// streamMiB is the size of the blob of TestStreamedBlob.
var streamMiB = flag.Int64("stream-mib", 256, "size of the blob of TestStreamedBlob in MiB")

// growth runs f and returns by how much the peak memory of a daemon during f exceeded its memory before.
func (p *process) growth(f func()) (kib int) {
	p.t.Helper()
	// 5 resets the peak (proc(5), Linux 4.0).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		p.t.Fatal(err)
	}
	before := p.memoryKiB("VmRSS")
	f()
	return p.memoryKiB("VmHWM") - before
}

// TestStreamedBlob uploads a large blob to a front, from which a judge fetches it, and checks that neither holds it in
// memory.
func TestStreamedBlob(t *testing.T) {
	const most = 64 << 10 // KiB
	places := map[string]func() string{
		"data folder": func() string { return "" },
		"folder":      func() string { return "file://" + t.TempDir() },
		"bucket":      func() string { return testkit.StartS3(t).URL() },
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			size := *streamMiB << 20
			c := frontSettings(t)
			c.HTTP.MaxBlob, c.Blobs.URL = units.Bytes(size), place()
			front := serving(t, c)
			path, digest := filepath.Join(t.TempDir(), "large"), ""
			if err := os.WriteFile(path, []byte("large"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			received := front.growth(func() {
				var err error
				if digest, err = front.PutBlobFile(front.ctx, path); err != nil {
					t.Fatal(err)
				}
			})
			// A pool has a prefetch once it has a judge, and a judge learns of it when it starts.
			settingsOf := nodeSettings(t, c, "judge-1")
			judge := serving(t, settingsOf)
			testkit.WaitFor(t, patience, "the judge", func() bool { return len(front.nodes()) == 1 })
			peak := judge.memoryKiB("VmHWM")
			judge.drain()
			q := api.PrefetchRequest{Blobs: []string{digest}}
			if _, err := client.RequestPrefetch(front.ctx, front.Client, "default", q); err != nil {
				t.Fatal(err)
			}
			sent := front.growth(func() {
				judge = serving(t, settingsOf)
				copied := filepath.Join(settingsOf.DataDir, "blobs", digest[:2], digest)
				testkit.WaitFor(t, 5*patience, "the judge to have the blob", func() bool {
					info, err := os.Stat(copied)
					return err == nil && info.Size() == size
				})
			})
			fetched := judge.memoryKiB("VmHWM") - peak
			t.Logf("a blob of %d MiB: memory of the front +%d KiB and +%d, of the judge +%d KiB", *streamMiB,
				received, sent, fetched)
			for what, kib := range map[string]int{"the front that receives": received, "the front that sends": sent,
				"the judge": fetched} {
				if kib > most {
					t.Errorf("the memory of %s grew by %d KiB, want at most %d", what, kib, most)
				}
			}
			judge.drain()
			front.drain()
		})
	}
}
