package daemon

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// procs returns the processes of this host for whose /proc/PID/status keep returns true, as "pid name".
func procs(keep func(field func(name string) string) bool) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is valid
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

// programs returns the processes with a user ID of the range that begins with first.
func programs(first int) []string {
	return procs(func(field func(string) string) bool {
		uid, err := strconv.Atoi(strings.Fields(field("Uid") + " x")[0])
		return err == nil && uid >= first && uid < first+uidCount
	})
}

// orphans returns the sandboxes of the daemons in pids, which have exited. What they started is in their session; other
// daemons of this host may have orphans too.
func orphans(pids []int) []string {
	return procs(func(field func(string) string) bool {
		session, _ := strconv.Atoi(strings.Fields(field("NSsid") + " x")[0]) // 0 belongs to no daemon
		return field("Name") == "judged-init" && slices.Contains(pids, session)
	})
}

func TestOrphans(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "judged-init")
	if err := os.WriteFile(path, shell, 0o700); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("/bin/sh", "-c", `"$1" -c 'echo $$; read end' <&3 & wait`, "sh", path)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	read, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer end.Close()
	daemon.ExtraFiles = []*os.File{read}
	stdout, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := daemon.Process.Pid
	_ = daemon.Process.Kill() // it is stopped
	_ = daemon.Wait()         // it was killed
	want := []string{strings.TrimSpace(line) + " judged-init"}
	if diff := cmp.Diff(want, orphans([]int{1, pid})); diff != "" {
		t.Errorf("of that daemon (-want +got):\n%s", diff)
	}
	if got := orphans([]int{1}); got != nil {
		t.Errorf("of others: %q", got)
	}
	end.Close()
	testkit.WaitFor(t, patience, "the orphan to end", func() bool { return orphans([]int{pid}) == nil })
}

var tree = regexp.MustCompile(`^judged-([0-9]+)-`)

// cgroups returns the cgroup trees of the processes in pids.
func cgroups(pids []int) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a group that was removed meanwhile
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

// mounts returns the lines of the mount table without the number of each mount. It omits the mounts in temporary folders
// of tests, other than own: those tests may run at the same time.
func mounts(t testing.TB, own string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(line, " ")
		at := strings.Fields(line)[4]
		if !strings.HasPrefix(at, filepath.Join(os.TempDir(), "Test")) || strings.HasPrefix(at, own+"/") {
			lines[strings.TrimSpace(rest)] = true
		}
	}
	return lines
}

// traces detects what daemons leave behind on the host.
type traces struct {
	t      testing.TB
	folder string // has the temporary folders of the test
	mounts map[string]bool
	pids   []int
	uids   []int    // the first ones of their ranges
	tmp    []string // folders for temporary files
}

// watchTraces starts the detection. Every daemon must be added.
func watchTraces(t testing.TB) *traces {
	t.Helper()
	own := filepath.Dir(t.TempDir())
	return &traces{t: t, folder: own, mounts: mounts(t, own)}
}

func (w *traces) add(p *process) {
	w.pids = append(w.pids, p.cmd.Process.Pid)
	w.uids = append(w.uids, p.uid)
	w.tmp = append(w.tmp, p.tmp)
}

// left returns everything that is left behind.
func (w *traces) left() []string {
	all := orphans(w.pids)
	for _, first := range w.uids {
		all = append(all, programs(first)...)
	}
	all = append(all, cgroups(w.pids)...)
	for m := range mounts(w.t, w.folder) {
		if !w.mounts[m] {
			all = append(all, "mount "+m)
		}
	}
	for _, dir := range w.tmp {
		files, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is valid
		all = append(all, files...)
	}
	return all
}

// none checks that nothing is left once dying processes are gone.
func (w *traces) none() {
	w.t.Helper()
	var left []string
	testkit.WaitFor(traceTB{w.t, &left}, patience/3, "the daemons' traces to go", func() bool {
		left = w.left()
		return len(left) == 0
	})
}

// traceTB prints what was left if the wait fails.
type traceTB struct {
	testing.TB
	left *[]string
}

func (t traceTB) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf(format+": %q", append(args, *t.left)...)
}

// TestTraces checks that a process and a mount of a daemon are found, but not those of a test that runs at the same time.
func TestTraces(t *testing.T) {
	testkit.Need(t, testkit.Root)
	own, other := newUIDs(), newUIDs()
	w := watchTraces(t)
	w.uids = []int{own}
	var found []string
	for _, uid := range []int{own, other} {
		cmd := exec.Command("sleep", "infinity")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }() // it was killed
		defer cmd.Process.Kill()
		if uid == own {
			found = append(found, strconv.Itoa(cmd.Process.Pid)+" sleep")
		}
	}
	if diff := cmp.Diff(found, w.left()); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	w.uids = nil
	dir := smallDisk(t, 1<<20)
	if left := w.left(); len(left) != 1 || !strings.Contains(left[0], " "+dir+" ") {
		t.Errorf("left: %q, want the mount at %s", left, dir)
	}
	w.folder = filepath.Join(os.TempDir(), "TestOther1")
	if left := w.left(); left != nil {
		t.Errorf("of another test: %q", left)
	}
}

// count returns how often each value occurs.
func count[T comparable](values []T) map[T]int {
	n := map[T]int{}
	for _, v := range values {
		n[v]++
	}
	return n
}
