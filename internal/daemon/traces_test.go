package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"judged/internal/testkit"
)

// procs are the processes of this host for which keep is true of the content
// of /proc/PID/status, as "pid name".
func procs(keep func(field func(name string) string) bool) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is good
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended since
		}
		field := func(name string) string {
			_, rest, _ := strings.Cut("\n"+string(b), "\n"+name+":")
			line, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(line)
		}
		if keep(field) {
			found = append(found, filepath.Base(filepath.Dir(path))+" "+field("Name"))
		}
	}
	return found
}

// programs are the processes with a user ID of this test binary's daemons.
func programs() []string {
	return procs(func(field func(string) string) bool {
		uid, err := strconv.Atoi(strings.Fields(field("Uid") + " x")[0])
		return err == nil && uid >= firstUID() && uid < firstUID()+uidCount
	})
}

// orphans are sandboxes whose judged has gone: judged-init is always the child
// of one.
func orphans() []string {
	return procs(func(field func(string) string) bool { return field("Name") == "judged-init" && field("PPid") == "1" })
}

var tree = regexp.MustCompile(`^judged-([0-9]+)-`)

// cgroups are the trees of the processes in pids.
func cgroups(pids []int) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a group that went away while we look
		}
		if m := tree.FindStringSubmatch(d.Name()); m != nil {
			if pid, _ := strconv.Atoi(m[1]); slices.Contains(pids, pid) {
				found = append(found, path)
			}
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// mounts is the mount table, by its lines without the number that each mount
// gets.
func mounts(t testing.TB) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(line, " ")
		lines[strings.TrimSpace(rest)] = true
	}
	return lines
}

// traces watches what daemons may leave on the host.
type traces struct {
	t      testing.TB
	mounts map[string]bool
	pids   []int
	tmp    []string // folders for temporary files
}

// watchTraces begins. Every daemon is to be added.
func watchTraces(t testing.TB) *traces {
	t.Helper()
	return &traces{t: t, mounts: mounts(t)}
}

func (w *traces) add(p *process) {
	w.pids = append(w.pids, p.cmd.Process.Pid)
	w.tmp = append(w.tmp, p.tmp)
}

// left is what is there and should not be.
func (w *traces) left() []string {
	all := append(programs(), orphans()...)
	all = append(all, cgroups(w.pids)...)
	for m := range mounts(w.t) {
		if !w.mounts[m] {
			all = append(all, "mount "+m)
		}
	}
	for _, dir := range w.tmp {
		files, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is good
		all = append(all, files...)
	}
	return all
}

// none wants nothing left once what is dying is dead.
func (w *traces) none() {
	w.t.Helper()
	var left []string
	testkit.WaitFor(traceTB{w.t, &left}, patience/3, "the daemons' traces to go", func() bool {
		left = w.left()
		return len(left) == 0
	})
}

// traceTB tells what was left when the waiting fails.
type traceTB struct {
	testing.TB
	left *[]string
}

func (t traceTB) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf(format+": %q", append(args, *t.left)...)
}

// count is how often each value comes.
func count[T comparable](values []T) map[T]int {
	n := map[T]int{}
	for _, v := range values {
		n[v]++
	}
	return n
}
