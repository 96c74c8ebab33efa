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

// programs returns the processes with a user ID of this test binary's daemons.
func programs() []string {
	return procs(func(field func(string) string) bool {
		uid, err := strconv.Atoi(strings.Fields(field("Uid") + " x")[0])
		return err == nil && uid >= firstUID() && uid < firstUID()+uidCount
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

// mounts returns the lines of the mount table without the number of each mount.
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

// traces detects what daemons leave behind on the host.
type traces struct {
	t      testing.TB
	mounts map[string]bool
	pids   []int
	tmp    []string // folders for temporary files
}

// watchTraces starts the detection. Every daemon must be added.
func watchTraces(t testing.TB) *traces {
	t.Helper()
	return &traces{t: t, mounts: mounts(t)}
}

func (w *traces) add(p *process) {
	w.pids = append(w.pids, p.cmd.Process.Pid)
	w.tmp = append(w.tmp, p.tmp)
}

// left returns everything that is left behind.
func (w *traces) left() []string {
	all := append(programs(), orphans(w.pids)...)
	all = append(all, cgroups(w.pids)...)
	for m := range mounts(w.t) {
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

// count returns how often each value occurs.
func count[T comparable](values []T) map[T]int {
	n := map[T]int{}
	for _, v := range values {
		n[v]++
	}
	return n
}
