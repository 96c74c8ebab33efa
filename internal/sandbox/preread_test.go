package sandbox

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"judged/internal/sandbox/runtimes"
	"judged/internal/testkit"
)

// TestPreread checks that the first run of an interpreter is like the following ones: it does not wait for the
// disk, and is not charged for memory that all runs share.
func TestPreread(t *testing.T) {
	tests := []struct {
		need testkit.Requirement
		own  string // pattern of files to evict
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
				l.checkPreread(t, tt.own, Spec{Args: tt.args, Limits: limits()})
			})
		}
	}
}

// TestCold checks that a cold program starts without a search for its files, with a finder that cannot be used.
func TestCold(t *testing.T) {
	testkit.Need(t, testkit.Python)
	l := newLab(t, func(o *Options) { o.Root, o.Cold = RootHost, true })
	l.finder = nil
	if r, _ := l.run(t, Spec{Args: []string{"python3", "-c", "0"}, Limits: limits()}); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
}

// checkPreread compares first runs with warm ones. Other activity on the machine may evict pages, which can
// only add faults. It is therefore enough if one first run has no more faults than a warm one, which never
// happens if Load misses a file.
func (l *lab) checkPreread(t *testing.T, own string, spec Spec) {
	t.Helper()
	const tries = 5
	faults := int64(math.MaxInt64) // of the best warm run
	var differences []string
	for range tries {
		warm, first := l.warmAndFirst(t, own, spec)
		faults = min(faults, *warm.MajorFaults)
		switch {
		case first.Code != 0 || *first.MajorFaults > faults:
			differences = append(differences, fmt.Sprintf("first run: exit %d, %d major faults; a warm one has %d",
				first.Code, *first.MajorFaults, faults))
		// Cgroup v2 before Linux 5.19 has no peak. The peaks of the JVM vary by a tenth.
		case first.MemoryPeak != nil && warm.MemoryPeak != nil && *first.MemoryPeak > *warm.MemoryPeak*3/2:
			differences = append(differences, fmt.Sprintf("first run: peak of %d bytes; a warm one has %d",
				*first.MemoryPeak, *warm.MemoryPeak))
		default:
			return
		}
	}
	t.Errorf("%d first runs differ from warm ones:\n%s", tries, strings.Join(differences, "\n"))
}

func (l *lab) warmAndFirst(t *testing.T, own string, spec Spec) (warm, first Result) {
	t.Helper()
	l.run(t, spec)
	warm, _ = l.run(t, spec)
	evict(t, own)
	if err := l.slot.Trees.Close(); err != nil {
		t.Fatal(err)
	}
	l.finder, l.reader = newFinder(), runtimes.NewReader() // as after a restart of judged
	first, _ = l.run(t, spec)
	return warm, first
}

// evict removes files from the page cache, except pages that a process has mapped.
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
