package judge_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// surroundings holds the state of the host that no attack may change.
type surroundings struct {
	Bounty
	Clock, Bystander                    string
	Mounts, Groups, Children, Processes []string
	Descriptors                         []string
	Settings                            map[string]string
}

// Bounty is the part that an attack may reach without a layer of the sandbox, and that is harmless then.
type Bounty struct {
	Canary                            string
	Files, IPC, Keyrings, Connections []string
}

func (h *host) look(t *testing.T) surroundings {
	t.Helper()
	children, ofUsers := processes(t)
	return surroundings{
		Bounty: Bounty{Canary: h.lookAtCanary(t), Files: filesOfRuns(t), IPC: ipcOfRuns(t), Keyrings: keyringsOfRuns(t),
			Connections: h.connections()},
		Clock: clockOffset(), Bystander: h.lookAtBystander(t),
		Mounts: linesOf(t, "/proc/self/mountinfo"), Groups: groups(t), Children: children, Processes: ofUsers,
		Descriptors: descriptors(t), Settings: settings(t),
	}
}

// changes compares two states. It retries for a while, because the kernel releases some objects after their last user
// was notified.
func (h *host) changes(t *testing.T, before, after surroundings, options ...cmp.Option) string {
	t.Helper()
	diff := cmp.Diff(before, after, options...)
	for end := time.Now().Add(time.Minute); diff != "" &&
		time.Now().Before(end); diff = cmp.Diff(before, h.look(t), options...) {
		time.Sleep(10 * time.Millisecond)
	}
	return diff
}

// clockOffset returns the offset of the wall clock from the time since boot in minutes, which a clock daemon does not
// change, but an attack would.
func clockOffset() string {
	var wall, boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &wall) // cannot fail for these clocks
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return strconv.FormatInt((wall.Nano()-boot.Nano()-hostOffset)/int64(time.Minute), 10)
}

var hostOffset = func() int64 {
	var wall, boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return wall.Nano() - boot.Nano()
}()

func settings(t *testing.T) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, name := range []string{"hostname", "domainname", "core_pattern", "randomize_va_space", "sched_rt_runtime_us",
		"modprobe", "panic"} {
		text, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err == nil {
			m[name] = string(text)
		}
	}
	self, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	m["oom_score_adj of judged"] = string(self)
	return m
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

var numbers = regexp.MustCompile(`[0-9]+`)

// groups returns the control groups of judged. Every run has a new number.
func groups(t *testing.T) []string {
	t.Helper()
	var all []string
	own := fmt.Sprintf("judged-%d-", os.Getpid())
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(path, own) {
			all = append(all, numbers.ReplaceAllString(path, "N"))
		}
		return nil // groups of others may be removed meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// processes returns the children of judged (judged-init, its processes for prepared sandboxes, and the bystander) and
// the processes of runs' users with any parent.
func processes(t *testing.T) (children, ofUsers []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil {
			continue // not a process, or it has ended
		}
		p := fields(text)
		what := p["Name"]
		if p["State"][0] == 'Z' {
			what += " zombie"
		}
		if p["PPid"] == strconv.Itoa(os.Getpid()) {
			children = append(children, what)
		}
		first, _, _ := strings.Cut(p["Uid"], "\t")
		if uid, err := strconv.Atoi(first); err == nil && ofRuns(uid) {
			ofUsers = append(ofUsers, what)
		}
	}
	slices.Sort(children)
	return children, ofUsers
}

// fields returns the lines of a status file as a map.
func fields(text []byte) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		m[key] = strings.TrimSpace(value)
	}
	return m
}

// descriptors returns the open descriptors of this process, without the copies of inputs that
// are kept for later runs (sandbox.Copies).
func descriptors(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil { // the descriptor that listed the folder
			continue
		}
		if name := numbers.ReplaceAllString(target, "N"); name != "/#N (deleted)" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func ofRuns(uid int) bool { return uid >= firstUID() && uid < firstUID()+uidsOfTest }

// filesOfRuns returns the files of runs' users in folders where everybody may write.
func filesOfRuns(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not on this host
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue // it was removed
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && ofRuns(int(st.Uid)) {
				all = append(all, filepath.Join(dir, e.Name()))
			}
		}
	}
	return all
}

// ipcOfRuns returns System V objects in the host's namespace. The first line of each file has the names of the columns.
func ipcOfRuns(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, kind := range []string{"shm", "sem", "msg"} {
		lines := linesOf(t, "/proc/sysvipc/"+kind)
		column := slices.Index(strings.Fields(lines[0]), "uid")
		for _, line := range lines[1:] {
			if uid, err := strconv.Atoi(strings.Fields(line)[column]); err == nil && ofRuns(uid) {
				all = append(all, kind+": "+line)
			}
		}
	}
	return all
}

// keyringsOfRuns returns the users that hold keys. The number of keys is omitted, because the kernel collects them
// asynchronously.
func keyringsOfRuns(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, line := range linesOf(t, "/proc/key-users") {
		before, _, _ := strings.Cut(line, ":")
		if uid, err := strconv.Atoi(strings.TrimSpace(before)); err == nil && ofRuns(uid) {
			all = append(all, fmt.Sprintf("keys of user %d", uid))
		}
	}
	return all
}
