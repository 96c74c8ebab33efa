package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"judged/internal/runtimes"
	"judged/internal/testkit"
)

// TestPreread holds that the first run of an interpreter is like the ones after
// it: nobody waits for the disk, and what all runs share is not the first one's
// memory.
func TestPreread(t *testing.T) {
	tests := []struct {
		need testkit.Requirement
		own  string // pattern of what to put out of memory
		args []string
	}{
		{testkit.Python, "/usr/lib/python3.*", []string{"python3", "-c", "import decimal, heapq, json"}},
		{testkit.Node, "/usr/bin/node", []string{"node", "-e", "0"}},
		{testkit.Java, "/usr/lib/jvm", []string{"java", "-Xmx32m", "-XX:-UsePerfData", "-version"}},
	}
	for _, root := range []Root{RootHost, RootPrivate} {
		l := newLab(t, func(o *Options) { o.Root = root })
		for _, tt := range tests {
			t.Run(string(root)+"/"+string(tt.need), func(t *testing.T) {
				testkit.Need(t, tt.need)
				l.holdPreread(t, tt.own, Spec{Args: tt.args, Limits: limits()})
			})
		}
	}
}

func (l *lab) holdPreread(t *testing.T, own string, spec Spec) {
	t.Helper()
	l.run(t, spec)
	warm, _ := l.run(t, spec)
	evict(t, own)
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	l.finder, l.reader = newFinder(), runtimes.NewReader() // as after a start of judged
	l.Preread(l.slot, spec.Args, spec.Files)
	first, _ := l.run(t, spec)
	if first.Code != 0 || *first.MajorFaults > *warm.MajorFaults {
		t.Errorf("first run: exit %d, %d major faults; a warm one has %d", first.Code, *first.MajorFaults, *warm.MajorFaults)
	}
	if first.MemoryPeak == nil || warm.MemoryPeak == nil {
		return // cgroup v2 before Linux 5.19 shows none
	}
	// The Java machine's own peaks differ by a tenth.
	if *first.MemoryPeak > *warm.MemoryPeak*3/2 {
		t.Errorf("first run: peak of %d bytes; a warm one has %d", *first.MemoryPeak, *warm.MemoryPeak)
	}
}

// evict puts files out of the page cache, but for pages that a process has
// mapped.
func evict(t *testing.T, pattern string) {
	t.Helper()
	roots, err := filepath.Glob(pattern)
	if err != nil || len(roots) == 0 {
		t.Fatalf("find %s: %v", pattern, err)
	}
	for _, root := range roots {
		if err := filepath.WalkDir(root, evictFile); err != nil {
			t.Fatal(err)
		}
	}
}

func evictFile(path string, d fs.DirEntry, err error) error {
	if err != nil || !d.Type().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
